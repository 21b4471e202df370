//! Lines that HAProxy refuses although it knows their keywords: arguments that are missing, too many or of the wrong form, names that
//! are nobody's or two's. Each reason is that of its source (2.6; file named), and tests hold them against `haproxy -c`.

use std::collections::BTreeSet;

use genkai_model::explain::{Remark, RemarkKind};

use crate::explain::remark;
use crate::files::names::nearest;
use crate::files::number::leading;
use crate::haproxy::config::{Config, Found, Section, from};
use crate::haproxy::proxy::{self, PARAMETERS, first_parameter, is_off, mode};
use crate::haproxy::settings::value;

/// Keywords that are followed by exactly one number (`alertif_too_many_args(1, ...)`, "expects an integer argument"), with the
/// kind of section; `proxy` is all of them.
const NUMBERS: &[(&str, &str)] = &[
    ("maxconn", "global"),
    ("maxconnrate", "global"),
    ("maxsessrate", "global"),
    ("maxsslrate", "global"),
    ("maxpipes", "global"),
    ("fd-hard-limit", "global"),
    ("ulimit-n", "global"),
    ("tune.bufsize", "global"),
    ("tune.maxaccept", "global"),
    ("nbthread", "global"),
    ("maxconn", "proxy"),
    ("backlog", "proxy"),
    ("fullconn", "proxy"),
    ("retries", "proxy"),
];
/// The largest `nbthread` (include/haproxy/defaults.h: MAX_THREADS).
const MAX_THREADS: i64 = 64;
/// The largest weight of a server (SRV_UWGHT_MAX).
const MAX_WEIGHT: i64 = 256;

/// Every line that makes HAProxy refuse the configuration.
pub(super) fn refused(config: &Config) -> Vec<Remark> {
    let mut out = Vec::new();
    for section in config.sections() {
        let head = &config.found()[section.lines.start];
        out.extend(headed(config, section).map(|why| refusal(config, head, &why, None)));
        let lines = config.inside(section).iter().filter(|f| f.prefix.is_none());
        out.extend(lines.filter_map(|found| Some(refusal(config, found, &line(config, section, found)?, None))));
        if matches!(section.kind.as_str(), "frontend" | "backend" | "listen") {
            out.extend(default_backend(config, section).map(|(found, why)| refusal(config, &found, &why, None)));
        }
        out.extend(servers(config, section));
    }
    out.extend(silent(config));
    out
}

/// Nobody listens (src/haproxy.c: `listeners == 0`). The socket of `stats socket` is a listener, and a master process has one of its own:
/// Debian's file has no frontend and starts.
fn silent(config: &Config) -> Option<Remark> {
    let fronts = || config.sections().iter().filter(|s| s.is_front());
    let listens = fronts().any(|s| !is_off(config, s) && config.inside(s).iter().any(|f| f.is("bind")));
    let others = config.sections().iter().any(|s| matches!(s.kind.as_str(), "peers" | "log-forward" | "program"));
    let global = |f: &Found| f.is("master-worker") || f.is("stats") && f.arg(0).is_some_and(|word| word == "socket");
    let globals = || config.sections().iter().filter(|s| s.kind == "global");
    if listens || others || globals().any(|s| config.inside(s).iter().any(|f| f.prefix.is_none() && global(f))) {
        return None;
    }
    let text = "no frontend has a bind, and nothing else listens: without a master process (-W) HAProxy does not start"
        .to_owned();
    Some(remark(RemarkKind::Unknown, None, "bind", text, Some("frontend ... bind :80".to_owned())))
}

fn refusal(config: &Config, found: &Found, why: &str, hint: Option<String>) -> Remark {
    remark(RemarkKind::Unknown, Some(config.place(found)), &key(found), format!("{why}: HAProxy does not start"), hint)
}

/// `timeout client`, `maxconn`.
pub(super) fn key(found: &Found) -> String {
    match (found.name(), found.arg(0)) {
        (name @ ("timeout" | "option" | "stats" | "rate-limit"), Some(second)) => format!("{name} {second}"),
        (name, _) => name.to_owned(),
    }
}

/// What is wrong with a section as a whole.
fn headed(config: &Config, section: &Section) -> Option<String> {
    let kind = section.kind.as_str();
    if !matches!(kind, "defaults" | "frontend" | "backend" | "listen") {
        return None;
    }
    let head = &config.found()[section.lines.start];
    let before = || config.sections().iter().take_while(|s| s.lines.start < section.lines.start);
    if kind != "defaults" && section.name.is_empty() {
        return Some("has no name".to_owned());
    }
    if let Some(name) = from(head) {
        match before().filter(|s| s.kind == "defaults" && !s.name.is_empty() && s.name == name).count() {
            0 => return Some(format!("there is no `defaults {name}` before it")),
            1 => {}
            _ => return Some(format!("there are several `defaults {name}` before it")),
        }
    }
    let twin = |s: &Section| {
        s.name == section.name && (s.is_front() && section.is_front() || s.is_back() && section.is_back())
    };
    before().any(twin).then(|| format!("there is another `{}` already", section.name))
}

/// What is wrong with one line.
fn line(config: &Config, section: &Section, found: &Found) -> Option<String> {
    let proxy = matches!(section.kind.as_str(), "defaults" | "frontend" | "backend" | "listen");
    let group = if proxy { "proxy" } else { section.kind.as_str() };
    if NUMBERS.contains(&(found.name(), group)) {
        return number(config, group, found);
    }
    match found.name() {
        "timeout" if proxy => timeout(found),
        "rate-limit" if proxy => rate(found),
        "mode" if proxy => match (found.arg(0), found.words.len()) {
            (Some("http" | "tcp"), 2) => None,
            (Some("http" | "tcp"), _) => Some("takes one word".to_owned()),
            _ => Some("is http or tcp".to_owned()),
        },
        "use_backend" if section.is_front() => target(config, section, found),
        "default_backend" if proxy && found.words.len() > 2 => Some("takes one name, and no condition".to_owned()),
        "bind" if found.words.len() < 2 && section.is_front() => Some("needs an address".to_owned()),
        _ => None,
    }
}

fn number(config: &Config, group: &str, found: &Found) -> Option<String> {
    if found.words.len() > 2 {
        return Some("takes one number".to_owned());
    }
    // One that is passed over because an earlier one counts is not looked at.
    if group == "global"
        && config
            .global(found.name())
            .is_some_and(|first| first != found && first.arg(0).is_some() && is_before(config, first, found))
    {
        return None;
    }
    let Some(text) = found.arg(0).filter(|text| !text.is_empty()) else {
        return Some("needs a number".to_owned());
    };
    let refused = match found.name() {
        "nbthread" => !text.parse::<i64>().is_ok_and(|n| (1..=MAX_THREADS).contains(&n)),
        "tune.bufsize" => value::buffer(text, config.reading().version).is_none_or(|n| n == 0),
        _ => false,
    };
    refused.then(|| format!("cannot be {text}"))
}

/// Whether a line stands before another one.
fn is_before(config: &Config, one: &Found, other: &Found) -> bool {
    config.found().iter().find(|f| *f == one || *f == other) == Some(one)
}

/// src/proxy.c: `proxy_parse_timeout`.
fn timeout(found: &Found) -> Option<String> {
    let text = found.arg(1).unwrap_or_default();
    if found.words.len() > 3 {
        return Some("takes one time".to_owned());
    }
    match value::lenient_time(text) {
        _ if text.is_empty() => Some("needs a time".to_owned()),
        None => Some(format!("cannot be {text}: a time such as 500ms, 30s or 1h, at most 24 days")),
        Some(_) => None,
    }
}

/// src/proxy.c: `proxy_parse_rate_limit`.
fn rate(found: &Found) -> Option<String> {
    match (found.arg(0), found.arg(1)) {
        (Some("sessions"), Some(text)) if value::unsigned(text).is_some() => None,
        (Some("sessions"), Some(text)) => Some(format!("cannot be {text}")),
        (Some("sessions"), None) => Some("needs a number".to_owned()),
        _ => Some("counts sessions only".to_owned()),
    }
}

/// The `default_backend` of a section that counts: frontends inherit it, and a backend may have one, too.
fn default_backend(config: &Config, section: &Section) -> Option<(Found, String)> {
    let found = config.value(section, "default_backend")?;
    let own = section.is_front() || config.inside(section).contains(found);
    Some((found.clone(), target(config, section, found).filter(|_| own)?))
}

/// src/cfgparse.c: `check_config_validity`.
fn target(config: &Config, section: &Section, found: &Found) -> Option<String> {
    let Some(name) = found.arg(0) else { return Some("needs the name of a backend".to_owned()) };
    // A name that is computed for each request is not looked up before.
    if is_off(config, section) || name.contains('%') {
        return None;
    }
    match config.sections().iter().find(|s| s.is_back() && s.name == name) {
        None => Some(format!("there is no backend {name}")),
        Some(back) if back == section => Some("leads back to itself".to_owned()),
        Some(back) => {
            let (mine, other) = (mode(config, section), mode(config, back));
            let fits = mine == other || mine == proxy::Mode::Tcp;
            (!fits).then(|| format!("cannot lead to {name}: that is in TCP mode"))
        }
    }
}

/// Servers: src/server.c, `_srv_parse_init` and `_srv_parse_kw`.
fn servers(config: &Config, section: &Section) -> Vec<Remark> {
    let mut names = BTreeSet::new();
    let mut out = Vec::new();
    let lines = config.inside(section).iter().filter(|f| f.prefix.is_none());
    for found in lines.filter(|f| matches!(f.name(), "server" | "server-template" | "default-server")) {
        let mut say = |why: String, hint: Option<String>| out.push(refusal(config, found, &why, hint));
        if section.kind == "frontend" {
            say("a frontend has no servers".to_owned(), Some("it belongs into a backend".to_owned()));
            continue;
        }
        if found.words.len() <= first_parameter(found) {
            say("needs a name and an address".to_owned(), None);
            continue;
        }
        if found.name() == "server" && !is_off(config, section) && !names.insert(found.arg(0).unwrap_or_default()) {
            say(format!("there is another server {} already", found.arg(0).unwrap_or_default()), None);
        }
        for (name, given) in proxy::parameters(found) {
            if !PARAMETERS.contains_key(name) {
                let near = nearest(name, PARAMETERS.keys().copied()).map(|near| format!("did you mean {near}?"));
                say(format!("servers have no {name}"), near);
                break;
            }
            if name == "weight" && !(0..=MAX_WEIGHT).contains(&leading(given)) {
                say(format!("weight cannot be {given}: at most {MAX_WEIGHT}"), None);
            }
        }
    }
    out
}
