//! [`Facts`] out of a configuration: which values are in force for the path under load, and where each is written.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use genkai_model::limit::Origin;
use genkai_model::units::Span;

use super::{ConnZone, Facts, Held, Machine, ReqZone, Serving, Upstream};
use crate::nginx::config::{self, Address, Config, Found, Host, Listen, Pass, Protocol, Route, Target, sockets};
use crate::nginx::settings::{all, value};

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
}

/// A setting's default, with the place where nginx says so.
fn default<T>(setting: &str, parse: impl Fn(&str) -> Option<T>) -> Held<T> {
    let setting = all().iter().find(|s| s.name == setting).expect("asked for by names of the registry");
    let value = parse(setting.default).expect("defaults are well formed");
    let origin = Origin::Default(setting.source.to_owned());
    Held { value, written: setting.default.to_owned(), origin }
}

fn number(text: &str) -> Option<u32> {
    value::count(text).and_then(|n| u32::try_from(n).ok())
}

fn span(text: &str) -> Option<Span> {
    value::time(text).map(Span::from_millis)
}

impl Reading<'_> {
    /// Everything the limits are computed from.
    pub fn facts(&self) -> Facts {
        let machine = self.machine;
        let workers = self.workers();
        let listens = self.config.listens();
        let listeners = sockets(&listens) as u32;
        let own = listens.iter().filter(|l| l.reuseport).count() as u32;
        let pass = self.route.pass();
        Facts {
            worker_connections: self.simple(&["events"], "worker_connections", value::count),
            nofile: self.nofile(),
            nofile_ceiling: machine.descriptors_ceiling.clone(),
            listeners,
            sockets: listeners + own * workers.value.saturating_sub(1),
            logs: self.logs(),
            helpers: self.helpers(),
            serving: self.serving(pass.as_ref()),
            backlog: self.backlog(&listens),
            somaxconn: machine.somaxconn,
            body: self.inherited("client_max_body_size", "client_max_body_size", value::offset),
            limit_conn: self.limit_conn(),
            limit_req: self.limit_req(),
            connect_timeout: self.timeout(pass.as_ref(), "connect_timeout"),
            read_timeout: self.timeout(pass.as_ref(), "read_timeout"),
            upgrades: self.upgrades(),
            upstream: pass.as_ref().map(|pass| self.upstream(pass)),
            cores: machine.cores,
            ports: machine.ports,
            workers,
        }
    }

    /// Whether the client's wish for another protocol is passed on.
    fn upgrades(&self) -> bool {
        let headers = self.route.inherited("proxy_set_header");
        headers.iter().any(|f| f.arg(0).is_some_and(|name| name.eq_ignore_ascii_case("upgrade")))
    }

    fn held<T>(&self, found: &Found<'_>, value: T, written: String) -> Held<T> {
        Held { value, written, origin: (self.origin)(found) }
    }

    /// The first argument of a directive of this context; the last one given counts. What nginx would refuse is taken as
    /// the default.
    fn simple<T>(&self, context: &[&str], name: &str, parse: impl Fn(&str) -> Option<T>) -> Held<T> {
        let found = self.config.find(context, name).into_iter().next_back();
        found
            .and_then(|f| Some((f.arg(0)?, f)))
            .and_then(|(text, f)| Some(self.held(&f, parse(&text)?, text)))
            .unwrap_or_else(|| default(name, parse))
    }

    /// The same for a directive in force for the path under load. `key`: the setting whose default it has.
    fn inherited<T>(&self, name: &str, key: &str, parse: impl Fn(&str) -> Option<T>) -> Held<T> {
        let found = self.route.inherited(name).into_iter().next_back();
        found
            .and_then(|f| Some((f.arg(0)?, f)))
            .and_then(|(text, f)| Some(self.held(&f, parse(&text)?, text)))
            .unwrap_or_else(|| default(key, parse))
    }

    /// The first argument of a status or the like that has no place of its own among the limits.
    fn word(&self, name: &str) -> Option<String> {
        self.route.inherited(name).last().and_then(|f| f.arg(0))
    }

    fn workers(&self) -> Held<u32> {
        let online = self.machine.online;
        self.simple(&[], "worker_processes", |text| if text == "auto" { Some(online) } else { number(text) })
    }

    fn nofile(&self) -> Held<u64> {
        let inherited = self.machine.descriptors;
        let found = self.config.find(&[], "worker_rlimit_nofile").into_iter().next_back();
        let asked = found.and_then(|f| Some((f.arg(0)?, f)));
        match asked.and_then(|(text, f)| Some((value::count(&text)?, text, f))) {
            // More than may be had: setrlimit(2) fails, an alert is logged, and the worker keeps what it inherited.
            Some((value, text, f)) => {
                let granted = value as f64 <= self.machine.descriptors_ceiling.value;
                self.held(&f, if granted { value } else { inherited }, text)
            }
            None => Held {
                value: inherited,
                written: inherited.to_string(),
                origin: Origin::Machine("inherited: `ulimit -n` (RLIMIT_NOFILE)".to_owned()),
            },
        }
    }

    fn backlog(&self, listens: &[Listen<'_>]) -> Held<u32> {
        let address = self.route.listen.as_ref().map(|l| &l.address);
        let given = listens.iter().filter(|l| Some(&l.address) == address).find_map(|l| Some((l.backlog?, l)));
        match given.and_then(|(n, l)| Some((u32::try_from(n).ok()?, l))) {
            Some((n, listen)) => self.held(&listen.found, n, n.to_string()),
            None => default("listen.backlog", number),
        }
    }

    /// Log files: each is open once in a worker, however often it is named. Paths with variables are opened when needed.
    fn logs(&self) -> u32 {
        let file = |f: &Found<'_>| {
            let log = !f.is_entry() && (f.directive.is("error_log") || f.directive.is("access_log"));
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

    fn serving(&self, pass: Option<&Pass<'_>>) -> Serving {
        const ITSELF: [&str; 6] =
            ["return", "stub_status", "empty_gif", "content_by_lua_block", "content_by_lua_file", "js_content"];
        let inside = self.route.handler.last().unwrap_or(&self.route.server).inside();
        let answers = inside.iter().any(|f| ITSELF.iter().any(|name| f.directive.is(name)));
        match pass {
            Some(_) => Serving::Upstream,
            None if answers => Serving::Nothing,
            None => Serving::File,
        }
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

    fn status(&self, name: &str) -> u16 {
        self.word(name).and_then(|text| text.parse().ok()).unwrap_or(503)
    }

    fn limit_conn(&self) -> Vec<ConnZone> {
        if self.word("limit_conn_dry_run").as_deref() == Some("on") {
            return Vec::new();
        }
        let status = self.status("limit_conn_status");
        let read = |f: &Found<'_>| {
            let (zone, text) = (f.arg(0)?, f.arg(1)?);
            let (_, key) = self.zone("limit_conn_zone", &zone)?;
            Some(ConnZone { key, number: self.held(f, value::count(&text)?, text), zone, status })
        };
        self.route.inherited("limit_conn").iter().filter_map(read).collect()
    }

    fn limit_req(&self) -> Vec<ReqZone> {
        if self.word("limit_req_dry_run").as_deref() == Some("on") {
            return Vec::new();
        }
        let status = self.status("limit_req_status");
        let read = |f: &Found<'_>| {
            let zone = Self::named(f, "zone")?;
            let (definition, key) = self.zone("limit_req_zone", &zone)?;
            let rate = Self::named(&definition, "rate").unwrap_or_else(|| "1r/s".to_owned());
            let rate = self.held(&definition, value::rate(&rate)? as f64 / 60.0, rate);
            let burst = Self::named(f, "burst").and_then(|n| n.parse().ok()).unwrap_or(0);
            let nodelay = f.args().iter().any(|a| a == "nodelay");
            Some(ReqZone { zone, key, rate, burst, nodelay, status })
        };
        self.route.inherited("limit_req").iter().filter_map(read).collect()
    }

    fn timeout(&self, pass: Option<&Pass<'_>>, which: &str) -> Held<Span> {
        let prefix = match pass.map(|p| p.protocol) {
            Some(Protocol::FastCgi) => "fastcgi",
            Some(Protocol::Uwsgi) => "uwsgi",
            Some(Protocol::Scgi) => "scgi",
            Some(Protocol::Grpc) => "grpc",
            Some(Protocol::Memcached) => "memcached",
            Some(Protocol::Http | Protocol::Stream) | None => "proxy",
        };
        self.inherited(&format!("{prefix}_{which}"), &format!("proxy_{which}"), span)
    }

    fn upstream(&self, pass: &Pass<'_>) -> Upstream {
        let mut upstream = Upstream {
            name: self.held(&pass.found, (), pass.authority.clone()),
            addresses: Vec::new(),
            servers: 1,
            max_conns: None,
            shared: false,
            keepalive: None,
        };
        match &pass.target {
            Target::Address(address) => upstream.addresses.extend(socket(address)),
            Target::Upstream(name) => {
                let named =
                    |u: &config::Upstream<'_>| u.family == config::Family::Http && u.name.eq_ignore_ascii_case(name);
                if let Some(group) = self.config.upstreams().iter().find(|u| named(u)) {
                    self.group(group, &mut upstream);
                }
            }
            Target::Variable => {}
        }
        upstream
    }

    fn group(&self, group: &config::Upstream<'_>, upstream: &mut Upstream) {
        let used: Vec<_> = group.servers.iter().filter(|s| !s.down && !s.backup).collect();
        let Some(first) = used.first() else { return };
        let sum: u64 = used.iter().map(|s| s.max_conns).sum();
        let mean = sum as f64 / used.len() as f64;
        let capped = used.iter().all(|s| s.max_conns > 0);
        upstream.max_conns = capped.then(|| self.held(&first.found, mean, first.max_conns.to_string()));
        upstream.addresses = used.iter().filter_map(|s| socket(s.address.as_ref()?)).collect();
        upstream.servers = used.len() as u32;
        upstream.shared = group.zone;
        // CHANGES of 1.29.7: 32 connections by default in an explicit group.
        let by_default = (self.version >= (1, 29, 7)).then_some(32);
        upstream.keepalive = group.keepalive.as_ref().map(|(n, _)| *n).or(by_default).filter(|&n| n > 0);
    }
}

/// A TCP address that needs no resolver.
fn socket(address: &Address) -> Option<SocketAddr> {
    let Address::Inet { host, port } = address else { return None };
    let ip = match host {
        Host::V4(ip) => IpAddr::V4(*ip),
        Host::V6(ip) => IpAddr::V6(*ip),
        Host::Name(name) if name == "localhost" => IpAddr::from([127, 0, 0, 1]),
        Host::Name(_) => return None,
    };
    Some(SocketAddr::new(ip, *port))
}

#[cfg(test)]
mod tests;
