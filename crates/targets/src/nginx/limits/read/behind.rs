//! What a configuration passes requests to.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use super::Reading;
use crate::explain::place as told;
use crate::limits::backend::Place;
use crate::nginx::config::{self, Address, Found, Host, Pass, Target, Way};
use crate::nginx::limits::{Aside, Serving, Upstream};
use crate::settings::SourcedValue;

/// Directives of a group by which its servers may get unequal shares of the requests.
const CHOOSING: [&str; 6] = ["ip_hash", "hash", "random", "least_conn", "least_time", "sticky"];

impl Reading<'_> {
    /// What a pass may name: one target, or several where a variable decides; any group where that is not known.
    pub(super) fn targets(&self, way: &Way<'_>, pass: &Pass<'_>) -> Vec<Upstream> {
        let groups = self.config.upstreams();
        let mut named: Vec<String> = Vec::new();
        let text = pass.found.arg(0).unwrap_or_default();
        if pass.target == Target::Variable {
            let value = self.known(&way.variables).value(&text);
            let any = || groups.iter().map(|group| group.name.clone()).collect();
            named = value.texts.map_or_else(any, |texts| texts.iter().map(|text| config::authority(text)).collect());
        }
        if named.is_empty() {
            return vec![self.upstream(way, pass, None)];
        }
        let why = format!("`{text}` at {} decides", pass.found.place());
        let alone = named.len() == 1 && self.known(&way.variables).value(&text).texts.is_some();
        let of =
            |name: &String| Upstream { only: (!alone).then(|| why.clone()), ..self.upstream(way, pass, Some(name)) };
        named.iter().map(of).collect()
    }

    /// The target of a pass, or the one that its variables name.
    fn upstream(&self, way: &Way<'_>, pass: &Pass<'_>, named: Option<&str>) -> Upstream {
        let written = named.unwrap_or(&pass.authority).to_owned();
        let mut upstream = Upstream {
            name: self.held(&pass.found, (), written.clone()),
            encrypted: pass.tls,
            addresses: Vec::new(),
            sockets: Vec::new(),
            each: Vec::new(),
            servers: 1,
            even: true,
            place: None,
            absent: Vec::new(),
            told: false,
            max_conns: None,
            max_fails: None,
            resolved: None,
            shared: false,
            keepalive: None,
            closed: false,
            refusal: way.refused(502),
            only: None,
        };
        let is = |u: &config::Upstream<'_>| u.family == config::Family::Http && u.name.eq_ignore_ascii_case(&written);
        match (&pass.target, self.config.upstreams().iter().find(|u| is(u))) {
            (Target::Address(address), _) => {
                upstream.addresses.extend(socket(address));
                upstream.sockets.extend(unix(address));
                upstream.place = place(address, &upstream.name);
            }
            (_, Some(group)) => self.group(group, &mut upstream),
            (_, None) => {
                let address = written.parse::<SocketAddr>().ok();
                upstream.place = address.map(|at| Place { name: upstream.name.clone(), address: at.to_string() });
                upstream.addresses.extend(address);
            }
        }
        upstream
    }

    fn group(&self, group: &config::Upstream<'_>, upstream: &mut Upstream) {
        let used: Vec<_> = group.servers.iter().filter(|s| !s.down && !s.backup).collect();
        let Some(first) = used.first() else { return };
        let backups = group.servers.iter().filter(|s| !s.down && s.backup);
        let takes: Vec<_> = used.iter().copied().chain(backups).collect();
        let absent = |s: &&config::UpstreamServer<'_>| {
            let at: Vec<SocketAddr> = s.address.iter().flat_map(sockets).collect();
            !at.is_empty() && at.into_iter().all(self.absent)
        };
        let (gone, mut there): (Vec<_>, Vec<_>) = takes.iter().copied().partition(absent);
        if there.is_empty() {
            there.clone_from(&takes);
        } else {
            let told = |s: &config::UpstreamServer<'_>| Some((s.found.arg(0)?, !s.backup));
            upstream.absent = gone.into_iter().filter_map(told).collect();
        }
        let caps: Vec<u64> = there.iter().map(|s| s.max_conns).collect();
        let mut written: Vec<String> = caps.iter().map(u64::to_string).collect();
        written.dedup();
        let capped = caps.iter().all(|&cap| cap > 0);
        upstream.max_conns = capped.then(|| self.held(&there[0].found, caps, written.join(", ")));
        let fails: Vec<u64> = takes.iter().map(|s| s.max_fails).collect();
        let mut each: Vec<String> = fails.iter().map(u64::to_string).collect();
        each.dedup();
        let leaves = fails.len() > 1 && fails.iter().all(|&fails| fails > 0);
        upstream.max_fails = leaves.then(|| self.held(&first.found, (), each.join(", ")));
        upstream.resolved = takes.iter().find_map(|s| s.address.as_ref().map_or(s.found.arg(0), name));
        upstream.addresses = used.iter().filter_map(|s| socket(s.address.as_ref()?)).collect();
        upstream.sockets = used.iter().filter_map(|s| unix(s.address.as_ref()?)).collect();
        let one = |s: &&config::UpstreamServer<'_>| {
            let held = self.held(&s.found, (), s.found.arg(0)?);
            let at = s.address.as_ref()?;
            let name = unix(at).map(|path| format!("unix:{}", path.display()));
            Some((name.or_else(|| socket(at).map(|at| at.to_string()))?, held))
        };
        upstream.each = takes.iter().map(one).collect::<Option<_>>().unwrap_or_default();
        let weighs = |s: &&config::UpstreamServer<'_>| s.found.args().iter().any(|arg| arg.starts_with("weight="));
        let chooses = |f: &Found<'_>| CHOOSING.iter().any(|name| f.directive.is(name));
        let evenly = !takes.iter().any(weighs) && !group.found.inside().iter().any(chooses);
        upstream.even = evenly && takes.len() == used.len();
        upstream.servers = used.len() as u32;
        upstream.place = match takes[..] {
            [only] => only.address.as_ref().and_then(|at| place(at, &self.held(&only.found, (), only.found.arg(0)?))),
            _ => None,
        };
        upstream.shared = group.zone;
        // CHANGES of 1.29.7: 32 connections by default in an explicit group.
        let by_default = (self.version >= config::KEPT_SINCE).then_some(32);
        upstream.keepalive = group.keepalive.as_ref().map(|(n, _)| *n).or(by_default).filter(|&n| n > 0);
        upstream.closed = self.route.closes(self.version);
    }

    /// What nginx asks besides.
    pub(super) fn asides(&self) -> Vec<Aside> {
        self.config.asides(&self.route).into_iter().map(|one| self.aside(one)).collect()
    }

    fn aside(&self, one: config::Aside<'_>) -> Aside {
        let at = told(&(self.origin)(&one.found)).map(|at| format!(" ({at})")).unwrap_or_default();
        let by = format!("`{}`{at}", one.found.written());
        let Some(route) = one.route else {
            return Aside { by, meanwhile: one.meanwhile, passed: true, upstream: None };
        };
        let inner = Reading { route, ..*self };
        let passed = inner.serving() == Serving::Upstream || inner.is_mixed();
        Aside { by, meanwhile: one.meanwhile, passed, upstream: inner.upstreams().0 }
    }
}

/// The name of an address that needs a resolver.
fn name(address: &Address) -> Option<String> {
    match address {
        Address::Inet { host: Host::Name(name), .. } => Some(name.clone()),
        _ => None,
    }
}

/// The path of a Unix socket.
fn unix(address: &Address) -> Option<PathBuf> {
    match address {
        Address::Unix(path) => Some(path.into()),
        Address::Inet { .. } => None,
    }
}

/// All addresses of a server; of `localhost` both of the loopback, as a resolver gives them.
fn sockets(address: &Address) -> impl Iterator<Item = SocketAddr> {
    let six = match address {
        Address::Inet { host: Host::Name(name), port } if name == "localhost" => {
            Some(SocketAddr::new(Ipv6Addr::LOCALHOST.into(), *port))
        }
        _ => None,
    };
    socket(address).into_iter().chain(six)
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

/// Where a server is, if nothing has to be resolved to know it; `name` is how it is written, and where.
fn place(address: &Address, name: &SourcedValue<()>) -> Option<Place> {
    let at = match address {
        Address::Unix(path) => path.clone(),
        Address::Inet { host: Host::V4(ip), port } => SocketAddr::new(IpAddr::V4(*ip), *port).to_string(),
        Address::Inet { host: Host::V6(ip), port } => SocketAddr::new(IpAddr::V6(*ip), *port).to_string(),
        Address::Inet { host: Host::Name(_), .. } => return None,
    };
    Some(Place { name: name.clone(), address: at })
}
