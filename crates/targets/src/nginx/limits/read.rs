//! [`Facts`] out of a configuration: which values are in force for the path under load, and where each is written.

mod behind;
mod body;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use genkai_model::limit::Origin;
use genkai_model::units::Span;

use super::{Besides, ConnZone, Facts, Keyed, Machine, ReqZone, Serving, Upstream};
use crate::limits::slots::Takes;
use crate::nginx::config::{
    Address, Config, Found, Host, ITSELF, Listen, Pass, Protocol, Refusal, Route, Stage, Variables, Way, sockets,
};
use crate::nginx::settings::{
    ACCEPT_MUTEX, ACCESS_LOG, CLIENT_MAX_BODY_SIZE, ERROR_LOG, KEEPALIVE_TIMEOUT, LIMIT_CONN, LIMIT_CONN_ZONE,
    LIMIT_REQ, LIMIT_REQ_ZONE, LISTEN_BACKLOG, MULTI_ACCEPT, Named, PROXY_BUFFER_SIZE, PROXY_CONNECT_TIMEOUT,
    PROXY_READ_TIMEOUT, Setting, WORKER_CONNECTIONS, WORKER_PROCESSES, WORKER_RLIMIT_NOFILE, in_force, value,
};
use crate::settings::SourcedValue;

/// A configuration with what is needed to read it.
pub struct Reading<'a> {
    /// The configuration as it runs.
    pub config: &'a Config,
    /// What serves the path under load.
    pub route: Route<'a>,
    /// Where a directive was written.
    pub origin: &'a dyn Fn(&Found<'_>) -> Origin,
    /// Version of nginx; defaults differ.
    pub version: (u32, u32, u32),
    /// The machine.
    pub machine: &'a Machine,
    /// Where genkai's status page listens; none where it added none.
    pub status: Option<SocketAddr>,
    /// Who sends the requests; none: anybody.
    pub visitor: Option<Ipv4Addr>,
    /// All headers of the requests but Host; none: not known.
    pub headers: Option<&'a [(String, String)]>,
    /// The fewest and the most bytes that their bodies have.
    pub body: (u64, u64),
    /// Whether nobody listens at an address of a server, so that connections are refused.
    pub absent: &'a dyn Fn(SocketAddr) -> bool,
}

/// A setting's default, with the place where nginx says so.
fn default<T>(setting: &Setting, parse: impl Fn(&str) -> Option<T>) -> SourcedValue<T> {
    setting.default_value().parsed(parse).expect("defaults are well formed")
}

fn number(text: &str) -> Option<u32> {
    value::count(text).and_then(|n| u32::try_from(n).ok())
}

fn span(text: &str) -> Option<Span> {
    value::time(text).map(Span::from_millis)
}

/// The first of two times: the second is what clients are told.
fn first_span(text: &str) -> Option<Span> {
    span(text.split_ascii_whitespace().next()?)
}

impl Reading<'_> {
    /// Everything the limits are computed from.
    pub fn facts(&self) -> Facts {
        let machine = self.machine;
        let workers = self.workers();
        let listens = self.config.listens();
        let own_listeners = listens.iter().filter(|l| self.is_status(l)).count() as u32;
        let listeners = sockets(&listens) as u32 - own_listeners;
        let own = listens.iter().filter(|l| l.reuseport).count() as u32;
        let pass = self.route.pass();
        let (upstream, others) = self.upstreams();
        let facts = Facts {
            uneven: workers.value > 1 && [&ACCEPT_MUTEX, &MULTI_ACCEPT].iter().any(|setting| self.is_on(setting)),
            worker_connections: self.value(&WORKER_CONNECTIONS, value::count),
            nofile: self.nofile(),
            nofile_ceiling: machine.descriptors_ceiling.clone(),
            listeners,
            own_listeners,
            sockets: listeners + own * workers.value.saturating_sub(1),
            logs: self.logs(),
            helpers: self.helpers(),
            serving: self.serving(),
            cached: self.cached(pass.as_ref()),
            mixed: self.is_mixed(),
            takes: self.takes(),
            again: Vec::new(),
            asides: self.asides(),
            lost: None,
            relayed: false,
            limit_rate: self.limit_rate(),
            keepalive_timeout: self.value(&KEEPALIVE_TIMEOUT, first_span),
            head_buffer: self.head_buffer(pass.as_ref()),
            protocol: prefix(pass.as_ref()),
            backlog: self.value(&LISTEN_BACKLOG, number),
            somaxconn: machine.somaxconn,
            body: self.value(&CLIENT_MAX_BODY_SIZE, value::offset),
            limit_conn: self.limit_conn(),
            limit_req: self.limit_req(),
            besides: Vec::new(),
            connect_timeout: self.of_protocol(pass.as_ref(), &PROXY_CONNECT_TIMEOUT, span),
            read_timeout: self.of_protocol(pass.as_ref(), &PROXY_READ_TIMEOUT, span),
            upgrades: self.upgrades(),
            upstream,
            between: Vec::new(),
            others,
            cores: machine.cores,
            ports: machine.ports,
            workers,
        };
        let facts = self.through(facts);
        Facts { besides: self.besides(&facts), ..facts }
    }

    /// Zones that are counted somewhere, and not where `facts` have these requests.
    fn besides(&self, facts: &Facts) -> Vec<Besides> {
        let conns = facts.limit_conn.iter().map(|zone| (LIMIT_CONN.name, zone.zone.as_str()));
        let known: Vec<_> =
            conns.chain(facts.limit_req.iter().map(|zone| (LIMIT_REQ.name, zone.zone.as_str()))).collect();
        let mut all: Vec<Besides> = Vec::new();
        for found in self.config.walk() {
            let (setting, zone) = match found.directive.name() {
                b"limit_conn" => (LIMIT_CONN.name, found.arg(0)),
                b"limit_req" => (LIMIT_REQ.name, Self::named(&found, "zone")),
                _ => continue,
            };
            let Some(zone) = zone else { continue };
            let told = known.contains(&(setting, zone.as_str()))
                || all.iter().any(|one| (one.setting, &one.zone) == (setting, &zone));
            let of_stream = found.is_under("stream");
            if !told && (of_stream || found.is_under("http")) {
                let written = self.held(&found, (), found.args().join(" "));
                all.push(Besides { setting, zone, written, of_stream });
            }
        }
        all
    }

    /// Whether the client's wish for another protocol is passed on.
    fn upgrades(&self) -> bool {
        let headers = self.route.inherited("proxy_set_header");
        headers.iter().any(|f| f.arg(0).is_some_and(|name| name.eq_ignore_ascii_case("upgrade")))
    }

    fn held<T>(&self, found: &Found<'_>, value: T, written: String) -> SourcedValue<T> {
        SourcedValue { value, written, origin: (self.origin)(found) }
    }

    /// A setting in force for the path under load. What nginx would refuse is taken as the default.
    fn value<T>(&self, setting: &Setting, parse: impl Fn(&str) -> Option<T>) -> SourcedValue<T> {
        self.written(setting, &parse).unwrap_or_else(|| default(setting, parse))
    }

    /// The same where it is written, and nginx would take it.
    fn written<T>(&self, setting: &Setting, parse: impl Fn(&str) -> Option<T>) -> Option<SourcedValue<T>> {
        let named = Named { setting, zone: None };
        let (found, text) = in_force(self.config, &named, Some(&self.route)).ok().flatten()?;
        Some(self.held(&found, parse(&text)?, text))
    }

    fn is_on(&self, setting: &Setting) -> bool {
        self.written(setting, |text| text.eq_ignore_ascii_case("on").then_some(())).is_some()
    }

    /// The first argument of a status or the like that has no place of its own among the limits.
    fn word(&self, name: &str) -> Option<String> {
        self.route.inherited(name).last().and_then(|f| f.arg(0))
    }

    fn workers(&self) -> SourcedValue<u32> {
        let online = self.machine.online;
        self.value(&WORKER_PROCESSES, |text| if text == "auto" { Some(online) } else { number(text) })
    }

    fn nofile(&self) -> SourcedValue<u64> {
        let inherited = self.machine.descriptors;
        match self.written(&WORKER_RLIMIT_NOFILE, value::count) {
            // More than may be had: setrlimit(2) fails, an alert is logged, and the worker keeps what it inherited.
            Some(asked) if asked.value as f64 > self.machine.descriptors_ceiling.value => asked.map(|_| inherited),
            Some(asked) => asked,
            None => {
                SourcedValue::plain(inherited, Origin::Machine("inherited: `ulimit -n` (RLIMIT_NOFILE)".to_owned()))
            }
        }
    }

    /// Log files: each is open once in a worker, however often it is named. Paths with variables are opened when needed.
    fn logs(&self) -> u32 {
        let file = |f: &Found<'_>| {
            let log = !f.is_entry() && (f.directive.is(ERROR_LOG.directive) || f.directive.is(ACCESS_LOG.directive));
            let path = log.then(|| f.arg(0)).flatten()?;
            let elsewhere = ["syslog:", "memory:"].iter().any(|p| path.starts_with(p));
            (path != "off" && path != "stderr" && !path.contains('$') && !elsewhere).then_some(path)
        };
        let paths: BTreeSet<String> = self.config.walk().iter().filter_map(file).collect();
        paths.len().max(1) as u32
    }

    /// A cache has a manager, and a loader that ends once it has read what is there (`ngx_start_cache_manager_processes`).
    fn helpers(&self) -> u32 {
        let cached = |f: &Found<'_>| !f.is_entry() && f.directive.name().ends_with(b"_cache_path");
        if self.config.walk().iter().any(cached) { 2 } else { 0 }
    }

    pub(super) fn serving(&self) -> Serving {
        self.served(&self.route.ways[0])
    }

    /// What answers a request that takes this way.
    fn served(&self, way: &Way<'_>) -> Serving {
        let inside = way.handler.last().unwrap_or(&self.route.server).inside();
        let itself = inside.iter().any(|f| ITSELF.iter().any(|name| f.directive.is(name)));
        match way.pass() {
            Some(_) => Serving::Upstream,
            None if itself || way.status.is_some() => Serving::Nothing,
            None => Serving::File,
        }
    }

    /// Descriptors that a request takes.
    pub(super) fn takes(&self) -> Takes {
        let of = |way: &Way<'_>| match self.served(way) {
            _ if way.lost.is_some() => Takes { fewest: 1, most: 2 },
            Serving::Upstream => {
                let body = way.pass().map_or(Takes::always(0), |pass| self.in_files(&pass));
                Takes { fewest: 2 + body.fewest, most: 2 + body.most }
            }
            Serving::File => Takes::always(2),
            Serving::Nothing => Takes::always(1),
        };
        Takes::of(self.route.ways.iter().map(of)).unwrap_or(Takes::always(2))
    }

    pub(super) fn is_mixed(&self) -> bool {
        let mut passed = self.route.ways.iter().map(|way| way.pass().is_some());
        let first = passed.next();
        self.route.lost().is_some() || passed.any(|one| Some(one) != first)
    }

    /// The argument with this name before its `=`.
    fn named(found: &Found<'_>, name: &str) -> Option<String> {
        found.args().into_iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
    }

    /// The definition of a zone, and its key.
    fn zone(&self, directive: &str, zone: &str) -> Option<(Found<'_>, String)> {
        let is = |f: &Found<'_>| Self::named(f, "zone").is_some_and(|z| z.split(':').next() == Some(zone));
        let found = self.config.find(&["http"], directive).into_iter().find(is)?;
        let key = found.arg(0)?;
        Some((found, key))
    }

    /// The zones that count requests: of each way those of the first location that counts them, as nginx counts a request once. Those
    /// that not all ways come by say so.
    fn zones<Z: Zone>(&self, at: impl Fn(&Stage<'_>) -> Vec<Z>) -> Vec<Z> {
        let mut asked = self.asked_before(&at);
        if self.route.ways.len() > 1 {
            // Who is asked is known of the first way alone.
            let why = self.doubts();
            asked = asked.into_iter().map(|zone| zone.only(why.clone())).collect();
        }
        let of = |way: &Way<'_>| {
            let mut stages: Vec<Vec<Z>> = way.looked.iter().map(&at).collect();
            stages.retain(|zones| !zones.is_empty());
            let counting = stages.iter().position(|zones| zones.iter().any(|zone| zone.keyed() != Keyed::Nothing));
            let mut all = if stages.is_empty() { Vec::new() } else { stages.swap_remove(counting.unwrap_or(0)) };
            all.extend(asked.iter().filter(|_| counting.is_none() && way.status.is_none()).cloned());
            all
        };
        let ways: Vec<Vec<Z>> = self.route.ways.iter().map(of).collect();
        let mut all: Vec<Z> = Vec::new();
        for zone in ways.iter().cloned().chain(self.route.anywhere().iter().map(of)).flatten() {
            if !all.contains(&zone) {
                all.push(zone);
            }
        }
        let why = self.doubts();
        let everywhere = |zone: &Z| ways.iter().all(|zones| zones.contains(zone));
        all.into_iter()
            .map(|zone| if everywhere(&zone) && self.route.lost().is_none() { zone } else { zone.only(why.clone()) })
            .collect()
    }

    /// Zones that count what `auth_request` asks before: the count is the client's request's, for as long as that lasts, where nothing has counted
    /// that yet (ngx_http_limit_conn_handler: `r->main->limit_conn_status`).
    fn asked_before<Z: Zone>(&self, at: &impl Fn(&Stage<'_>) -> Vec<Z>) -> Vec<Z> {
        let before = self.config.asides(&self.route).into_iter().filter(|one| !one.meanwhile);
        let routes = before.filter_map(|one| Some((one.found.place(), one.route?)));
        let of = |(place, route): (String, Route<'_>)| {
            let unsure = (route.ways.len() > 1 || route.lost().is_some())
                .then(|| format!("what is asked by auth_request at {place} may go several ways"));
            let stages = route.ways.iter().flat_map(|way| &way.looked);
            let told = |zone: Z| match &unsure {
                Some(why) => zone.asked().only(why.clone()),
                None => zone.asked(),
            };
            stages.flat_map(at).map(told).collect::<Vec<Z>>()
        };
        routes.flat_map(of).collect()
    }

    /// What is not decided, in words.
    fn doubts(&self) -> String {
        let lost = self.route.ways.iter().filter_map(|way| way.lost.as_ref());
        let all: Vec<&str> = self.route.doubts.iter().chain(lost).map(String::as_str).collect();
        all.join(", ")
    }

    pub(super) fn limit_conn(&self) -> Vec<ConnZone> {
        self.zones(|stage| {
            let word = |name: &str| self.route.inherited_at(&stage.chain, name).last().and_then(|f| f.arg(0));
            let status = word("limit_conn_status").and_then(|text| text.parse().ok()).unwrap_or(503);
            let read = |f: &Found<'_>| {
                let (zone, text) = (f.arg(0)?, f.arg(1)?);
                let (_, key) = self.zone(LIMIT_CONN_ZONE.directive, &zone)?;
                let keyed = self.keyed(stage, &key);
                let number = self.held(f, value::count(&text)?, text);
                Some(ConnZone { key, keyed, number, zone, refusal: stage.refused(status), only: None })
            };
            let dry = word("limit_conn_dry_run").as_deref() == Some("on");
            let found = self.route.inherited_at(&stage.chain, LIMIT_CONN.directive);
            found.iter().filter(|_| !dry).filter_map(read).collect()
        })
    }

    pub(super) fn limit_req(&self) -> Vec<ReqZone> {
        self.zones(|stage| {
            let word = |name: &str| self.route.inherited_at(&stage.chain, name).last().and_then(|f| f.arg(0));
            let status = word("limit_req_status").and_then(|text| text.parse().ok()).unwrap_or(503);
            let read = |f: &Found<'_>| {
                let zone = Self::named(f, "zone")?;
                let (definition, key) = self.zone(LIMIT_REQ_ZONE.directive, &zone)?;
                let rate = Self::named(&definition, "rate").unwrap_or_else(|| "1r/s".to_owned());
                let rate = self.held(&definition, value::rate(&rate)? as f64 / 60.0, rate);
                let burst = Self::named(f, "burst").and_then(|n| n.parse().ok()).unwrap_or(0);
                let delay = Self::named(f, "delay").and_then(|n| n.parse().ok()).unwrap_or(0);
                let at_once = if f.args().iter().any(|a| a == "nodelay") { burst } else { burst.min(delay) };
                let keyed = self.keyed(stage, &key);
                let refusal = stage.refused(status);
                Some(ReqZone { zone, key, keyed, rate, burst, at_once, refusal, only: None })
            };
            let dry = word("limit_req_dry_run").as_deref() == Some("on");
            let found = self.route.inherited_at(&stage.chain, LIMIT_REQ.directive);
            found.iter().filter(|_| !dry).filter_map(read).collect()
        })
    }

    /// A setting that each way to an upstream has by a name of its own.
    fn of_protocol<T>(
        &self,
        pass: Option<&Pass<'_>>,
        setting: &Setting,
        parse: impl Fn(&str) -> Option<T>,
    ) -> SourcedValue<T> {
        let name = named(setting, prefix(pass));
        let found = self.route.inherited(&name).into_iter().next();
        let written = found.and_then(|f| Some((parse(&f.arg(0)?)?, f.arg(0)?, f)));
        written.map_or_else(|| default(setting, parse), |(value, text, f)| self.held(&f, value, text))
    }

    fn head_buffer(&self, pass: Option<&Pass<'_>>) -> SourcedValue<u64> {
        self.of_protocol(pass, &PROXY_BUFFER_SIZE, value::size)
    }

    /// Whether a cache may answer for the upstream (`proxy_cache` and its like).
    pub(super) fn cached(&self, pass: Option<&Pass<'_>>) -> bool {
        let zone = self.word(&format!("{}_cache", prefix(pass)));
        pass.is_some() && zone.is_some_and(|zone| zone != "off")
    }

    /// A number that is not 0; one that variables make is not known.
    fn limit_rate(&self) -> Option<SourcedValue<(u64, u64)>> {
        let found = self.route.inherited("limit_rate").into_iter().next()?;
        let text = found.arg(0)?;
        let rate = value::size(&text).filter(|&rate| rate > 0)?;
        let after = self.word("limit_rate_after").and_then(|text| value::size(&text)).unwrap_or(0);
        Some(self.held(&found, (rate, after), text))
    }

    /// Whether a `listen` is the one of genkai's status page.
    fn is_status(&self, listen: &Listen<'_>) -> bool {
        let Address::Inet { host: Host::V4(ip), port } = listen.address else { return false };
        self.status == Some(SocketAddr::from((ip, port)))
    }

    /// What a zone with this key does with requests that come by.
    fn keyed(&self, stage: &Stage<'_>, key: &str) -> Keyed {
        Keyed::by(&self.known(&stage.variables).value(key))
    }

    /// Variables of the requests under load. Where a header says who the visitor is, it is not known.
    fn known<'v>(&self, variables: &Variables<'v>) -> Variables<'v> {
        let real = self.config.walk().iter().any(|f| f.directive.is("set_real_ip_from"));
        variables.clone().of_visitor(self.visitor.filter(|_| !real)).sending(self.headers)
    }

    /// The upstream that requests go to, and others that they may go to where something else decides.
    pub(super) fn upstreams(&self) -> (Option<Upstream>, Vec<Upstream>) {
        let of = |way: &Way<'_>| way.pass().map(|pass| self.targets(way, &pass)).unwrap_or_default();
        let ways: Vec<Vec<Upstream>> = self.route.ways.iter().map(of).collect();
        let mut all: Vec<Upstream> = Vec::new();
        for one in ways.iter().cloned().chain(self.route.anywhere().iter().map(of)).flatten() {
            if !all.contains(&one) {
                all.push(one);
            }
        }
        let sure = self.route.lost().is_none() && ways.iter().all(|targets| *targets == ways[0]) && all.len() <= 1;
        let why = self.doubts();
        for one in all.iter_mut().filter(|one| !sure && one.only.is_none()) {
            one.only = Some(why.clone());
        }
        let passed = self.route.pass().is_some() && !all.is_empty();
        let first = passed.then(|| all.remove(0));
        (first, all)
    }
}

/// A zone that counts requests.
trait Zone: Clone + PartialEq {
    fn keyed(&self) -> Keyed;
    /// The same where only some requests come by it.
    fn only(self, why: String) -> Self;
    /// The same where it is asked before: clients get 500 for what is refused there, but for 401 and 403
    /// (ngx_http_auth_request_module.c: ngx_http_auth_request_handler).
    fn asked(self) -> Self;
}

fn asked(refusal: Refusal) -> Refusal {
    if matches!(refusal, Refusal::Status(401 | 403)) { refusal } else { Refusal::Status(500) }
}

impl Zone for ConnZone {
    fn keyed(&self) -> Keyed {
        self.keyed
    }

    fn only(self, why: String) -> Self {
        ConnZone { only: Some(why), ..self }
    }

    fn asked(self) -> Self {
        ConnZone { refusal: asked(self.refusal), ..self }
    }
}

impl Zone for ReqZone {
    fn keyed(&self) -> Keyed {
        self.keyed
    }

    fn only(self, why: String) -> Self {
        ReqZone { only: Some(why), ..self }
    }

    fn asked(self) -> Self {
        ReqZone { refusal: asked(self.refusal), ..self }
    }
}

/// A directive that each way to an upstream has, as the way whose directives begin with `protocol` calls it.
pub(in crate::nginx) fn named(setting: &Setting, protocol: &str) -> String {
    setting.directive.replacen("proxy", protocol, 1)
}

/// How the directives for this way to an upstream begin.
pub(in crate::nginx) fn prefix(pass: Option<&Pass<'_>>) -> &'static str {
    match pass.map(|p| p.protocol) {
        Some(Protocol::FastCgi) => "fastcgi",
        Some(Protocol::Uwsgi) => "uwsgi",
        Some(Protocol::Scgi) => "scgi",
        Some(Protocol::Grpc) => "grpc",
        Some(Protocol::Memcached) => "memcached",
        Some(Protocol::Http | Protocol::Stream) | None => "proxy",
    }
}

#[cfg(test)]
mod expressions;
#[cfg(test)]
mod tests;
