//! What is wrong with a configuration, or is not what it seems.

use std::collections::BTreeMap;

use genkai_model::explain::{Remark, RemarkKind};
use genkai_model::limit::Origin;

use super::values;
use crate::explain::{place, remark};
use crate::files::Requests;
use crate::files::names::{nearest, table};
use crate::nginx::config::{Config, Family, Found, Protocol, Route, Target, Upstream};
use crate::nginx::limits::{Facts, Keyed, Machine};
use crate::nginx::settings::{
    ACCEPT_MUTEX, ACCEPT_MUTEX_DELAY, LIMIT_CONN, LIMIT_CONN_ZONE, LIMIT_REQ, LIMIT_REQ_ZONE, LISTEN_BACKLOG,
    WORKER_CONNECTIONS, WORKER_PROCESSES, WORKER_RLIMIT_NOFILE,
};

/// Every directive of nginx 1.31 with the blocks it may be in (the command tables of its source).
static DIRECTIVES: &str = include_str!("directives.txt");

/// Blocks whose content is no directives.
const DATA: &[&str] = &["map", "geo", "types", "split_clients", "charset_map", "match", "otel_exporter"];

/// Beginnings of directives that modules from elsewhere bring.
const ELSEWHERE: &[&str] = &[
    "lua_",
    "js_",
    "more_",
    "brotli",
    "zstd",
    "vhost_traffic_status",
    "modsecurity",
    "passenger",
    "rtmp",
    "push_stream",
    "nchan",
    "geoip2",
    "headers_more",
    "echo",
    "set_by_lua",
    "otel_",
    "image_filter",
    "opentracing",
    "sticky",
    "fancyindex",
];

pub(super) fn of(
    config: &Config,
    facts: &Facts,
    route: &Route<'_>,
    requests: &Requests,
    machine: &Machine,
) -> Vec<Remark> {
    let mut all = names(config);
    all.extend(unopened(route, requests));
    all.extend(values::of(config));
    all.extend(lost(route));
    all.extend(clamps(config, facts, machine));
    all.extend(contradictions(config, facts, route, machine));
    all.extend(without_effect(config));
    all.extend(all_down(config));
    all.extend(uncounted(config, facts));
    all.sort();
    all.dedup();
    all
}

/// Directives that nginx does not have, and those in a block where it does not take them. Either keeps it from starting.
fn names(config: &Config) -> Vec<Remark> {
    let known: BTreeMap<&str, &str> = table(DIRECTIVES).collect();
    let mut all = Vec::new();
    for found in config.walk() {
        // What is in a block of a module from elsewhere is that module's to know.
        let foreign = |name: &[u8]| !known.contains_key(&*String::from_utf8_lossy(name));
        if found.blocks.iter().any(|b| foreign(b.directive.name()) || DATA.iter().any(|name| b.directive.is(name))) {
            continue;
        }
        let name = String::from_utf8_lossy(found.directive.name()).into_owned();
        let say = |text: String, hint| remark(RemarkKind::Unknown, Some(found.place()), &name, text, hint);
        match known.get(name.as_str()) {
            None if name.contains("_by_lua") || ELSEWHERE.iter().any(|start| name.starts_with(start)) => {}
            None => {
                let near = nearest(&name, table(DIRECTIVES).map(|(n, _)| n));
                let text = "there is no such directive in nginx's own modules: it does not start, unless a module from elsewhere \
                            brings it";
                all.push(say(text.to_owned(), near.map(|n| format!("did you mean {n}?"))));
            }
            Some(contexts) if !fits(contexts, &found) => {
                let where_to = contexts.replace(',', ", ");
                all.push(say(
                    "is not allowed here: nginx does not start".to_owned(),
                    Some(format!("it belongs into {where_to}")),
                ));
            }
            Some(_) => {}
        }
    }
    all
}

fn fits(contexts: &str, found: &Found<'_>) -> bool {
    let parent = found.blocks.last().map(|b| String::from_utf8_lossy(b.directive.name()).into_owned());
    let parent = parent.as_deref().unwrap_or("main");
    // Blocks of modules from elsewhere take what they like.
    let ours = ["main", "events", "http", "server", "location", "upstream", "if", "limit_except", "stream", "mail"];
    !ours.contains(&parent) || contexts.split(',').any(|c| c == parent || c == "any")
}

/// Groups none of whose servers gets requests: nginx takes them (ngx_http_upstream_round_robin.c: ngx_http_upstream_get_peer; measured on 1.22.1).
fn all_down(config: &Config) -> Vec<Remark> {
    let groups = config.upstreams();
    let none = groups.iter().filter(|group| group.family == Family::Http && !group.servers.is_empty());
    let none = none.filter(|group| group.servers.iter().all(|server| server.down));
    let say = |group: &Upstream<'_>| {
        let text = format!(
            "{}: all its servers are marked down, so that each request to it is answered with 502 (\"no live upstreams\" in the log)",
            group.name
        );
        remark(RemarkKind::Contradiction, Some(group.found.place()), "upstream", text, None)
    };
    none.map(say).collect()
}

/// Where it is not known where requests go.
fn lost(route: &Route<'_>) -> Option<Remark> {
    let text = format!(
        "where these requests go: {}; limits of every location are told as such that may count them, and what else a location says as if these \
         requests came by none",
        route.lost()?
    );
    Some(remark(RemarkKind::Unsure, Some(route.server.place()), "location", text, None))
}

/// Values that are not what is written.
fn clamps(config: &Config, facts: &Facts, machine: &Machine) -> Vec<Remark> {
    let mut all = Vec::new();
    if facts.backlog.value > facts.somaxconn {
        let text =
            format!("{} is taken as {}: net.core.somaxconn of this machine", facts.backlog.value, facts.somaxconn);
        let hint = format!("sysctl net.core.somaxconn={}", facts.backlog.value);
        all.push(remark(RemarkKind::Clamped, place(&facts.backlog.origin), LISTEN_BACKLOG.name, text, Some(hint)));
    }
    let asked = config.find(&[], WORKER_RLIMIT_NOFILE.directive).into_iter().next_back();
    let asked = asked.and_then(|f| Some((f.arg(0)?.parse::<u64>().ok()?, f)));
    if let Some((asked, found)) = asked.filter(|(n, _)| *n as f64 > machine.descriptors_ceiling.value) {
        let (most, by) = (machine.descriptors_ceiling.value, &machine.descriptors_ceiling.by);
        let text = format!(
            "{asked} cannot be had ({by}): nginx logs an alert and keeps the {} it inherits",
            facts.nofile.value
        );
        all.push(remark(
            RemarkKind::Clamped,
            Some(found.place()),
            WORKER_RLIMIT_NOFILE.name,
            text,
            Some(format!("write at most {most}")),
        ));
    }
    all
}

fn contradictions(config: &Config, facts: &Facts, route: &Route<'_>, machine: &Machine) -> Vec<Remark> {
    let mut all = Vec::new();
    let slots = facts.worker_connections.value;
    let needed = slots + facts.base_descriptors().saturating_sub(facts.base_slots());
    if needed > facts.nofile.value {
        let text = format!(
            "{slots} connections of a worker need {needed} descriptors, and it has {} here",
            facts.nofile.value
        );
        let hint = Some(format!("worker_rlimit_nofile {needed};"));
        all.push(remark(
            RemarkKind::Contradiction,
            place(&facts.worker_connections.origin),
            WORKER_CONNECTIONS.name,
            text,
            hint,
        ));
    }
    if facts.workers.value > machine.online {
        let text = format!(
            "{} workers share {} cores: more than one a core makes them wait for each other",
            facts.workers.value, machine.online
        );
        all.push(remark(
            RemarkKind::Contradiction,
            place(&facts.workers.origin),
            WORKER_PROCESSES.name,
            text,
            Some("worker_processes auto;".to_owned()),
        ));
    }
    all.extend(unused_keepalive(config, route));
    all
}

/// Any version before 1.29.7.
const BEFORE: (u32, u32, u32) = (1, 0, 0);

/// Kept connections to the upstream need HTTP/1.1 and no `Connection: close` (the default of nginx before 1.29.7 is 1.0 with
/// `close`).
fn unused_keepalive(config: &Config, route: &Route<'_>) -> Option<Remark> {
    let pass = route.pass().filter(|p| p.protocol == Protocol::Http)?;
    let Target::Upstream(name) = &pass.target else { return None };
    let group = config.upstreams().into_iter().find(|u| u.name.eq_ignore_ascii_case(name))?;
    let (_, keepalive) = group.keepalive.as_ref()?;
    route.closes(BEFORE).then(|| {
        let text = "has no effect before nginx 1.29.7: requests go upstream as HTTP/1.0 or with `Connection: close`, after which a server closes (one that \
                    does not is kept)"
            .to_owned();
        let hint = "proxy_http_version 1.1; proxy_set_header Connection \"\";".to_owned();
        remark(RemarkKind::Ignored, Some(keepalive.place()), "keepalive", text, Some(hint))
    })
}

/// A wish for a WebSocket is of one connection, and goes no further unless it is written (RFC 9110, 7.6.1 and 7.8;
/// ngx_http_proxy_module.c: ngx_http_proxy_headers sends `Upgrade` and the client's `Connection` to nobody).
fn unopened(route: &Route<'_>, requests: &Requests) -> Option<Remark> {
    let pass = route.pass().filter(|pass| pass.protocol == Protocol::Http && route.ways.len() == 1)?;
    let headers = route.inherited("proxy_set_header");
    let passed = |name: &str, gone: &[&str]| {
        let named = headers.iter().rfind(|f| f.arg(0).is_some_and(|arg| arg.eq_ignore_ascii_case(name)));
        let value = named.and_then(|f| f.arg(1)).unwrap_or_default();
        !gone.iter().any(|none| value.eq_ignore_ascii_case(none))
    };
    (requests.websocket && !(passed("upgrade", &[""]) && passed("connection", &["", "close"]))).then(|| {
        let text = "no WebSocket is opened through it: of a client's `Upgrade` and `Connection` headers not both are passed on, so the server behind \
                    takes its request for a plain one";
        let hint = "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;";
        let place = Some(pass.found.place());
        remark(RemarkKind::Ignored, place, "proxy_pass", text.to_owned(), Some(hint.to_owned()))
    })
}

/// Limits whose key is empty for every request that they are for. One of `http` is for the requests of other servers too, which may have
/// names.
fn uncounted(config: &Config, facts: &Facts) -> Vec<Remark> {
    let conns = facts.limit_conn.iter().map(|z| (LIMIT_CONN.name, &z.zone, &z.key, z.keyed, &z.number.origin));
    let reqs = facts.limit_req.iter().map(|z| (LIMIT_REQ.name, &z.zone, &z.key, z.keyed, &z.rate.origin));
    let alone = config.servers().len() == 1;
    let in_server = |setting: &str, zone: &str| {
        let named = |arg: &String| arg == zone || arg.strip_prefix("zone=") == Some(zone);
        config.walk().iter().any(|f| f.directive.is(setting) && f.args().iter().any(named) && f.blocks.len() > 1)
    };
    let empty = conns.chain(reqs).filter(|(.., keyed, _)| *keyed == Keyed::Nothing);
    let told = empty.filter(|(setting, zone, ..)| alone || in_server(setting, zone));
    let remark = |(setting, zone, key, _, origin): (&str, &String, &String, Keyed, &Origin)| {
        let hint = (key == "$server_name").then(|| "give the server a server_name".to_owned());
        let text = format!(
            "zone {zone} limits nothing here: its key {key} is empty, and requests with an empty key are not counted"
        );
        remark(RemarkKind::Ignored, place(origin), setting, text, hint)
    };
    told.map(remark).collect()
}

/// What another setting makes pointless.
fn without_effect(config: &Config) -> Vec<Remark> {
    let mut all = Vec::new();
    let first = |found: &Found<'_>| found.arg(0).unwrap_or_default();
    let off = config.find(&["events"], ACCEPT_MUTEX.directive).iter().next_back().is_none_or(|f| first(f) == "off");
    for found in config.find(&["events"], ACCEPT_MUTEX_DELAY.name).iter().filter(|_| off) {
        let text = "has no effect: accept_mutex is off".to_owned();
        all.push(remark(RemarkKind::Ignored, Some(found.place()), ACCEPT_MUTEX_DELAY.name, text, None));
    }
    for zone in config
        .find(&["http"], LIMIT_REQ_ZONE.directive)
        .iter()
        .chain(&config.find(&["http"], LIMIT_CONN_ZONE.directive))
    {
        let Some(name) = zone.args().iter().find_map(|a| a.strip_prefix("zone=")?.split(':').next().map(str::to_owned))
        else {
            continue;
        };
        let user = if zone.directive.is(LIMIT_REQ_ZONE.directive) { LIMIT_REQ.directive } else { LIMIT_CONN.directive };
        let used = config
            .walk()
            .iter()
            .any(|f| f.directive.is(user) && f.args().iter().any(|a| *a == name || *a == format!("zone={name}")));
        if !used {
            let text = format!("zone {name} limits nothing: no {user} uses it");
            let setting = String::from_utf8_lossy(zone.directive.name()).into_owned();
            all.push(remark(RemarkKind::Ignored, Some(zone.place()), &setting, text, None));
        }
    }
    all
}
