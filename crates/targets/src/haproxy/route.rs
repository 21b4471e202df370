//! Which frontend takes the requests under test, and which backend they reach.

mod acl;

use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::config::{Config, Found, Section};
use super::proxy::{self, Server, is_off};
use crate::files::Requests;

/// Where a `bind` or a `server` is: configuration manual 11.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Host (empty or `*`: any) and ports.
    Inet {
        /// As written, without brackets.
        host: String,
        /// Ports; none where a server names none (or `+N`): the client's port.
        ports: Option<RangeInclusive<u16>>,
    },
    /// A Unix socket, or an abstract one.
    Unix(String),
    /// Inherited descriptors, QUIC, and what else there is.
    Other(String),
}

impl Address {
    /// Reads one address of a `bind` or `server`.
    pub fn parse(text: &str) -> Address {
        if let Some(path) = text.strip_prefix("unix@").or_else(|| text.starts_with('/').then_some(text)) {
            return Address::Unix(path.to_owned());
        }
        if text.starts_with("abns@") {
            return Address::Unix(text.to_owned());
        }
        let plain =
            ["ipv4@", "ipv6@", "tcp4@", "tcp6@", "tcp@"].iter().find_map(|p| text.strip_prefix(p)).unwrap_or(text);
        if plain.contains('@') {
            return Address::Other(text.to_owned());
        }
        let (host, port) = plain.rsplit_once(':').unwrap_or((plain, ""));
        let ports = port.split_once('-').map_or_else(|| Some((port, port)), Some);
        let ports = ports.and_then(|(a, b)| Some(a.parse::<u16>().ok()?..=b.parse::<u16>().ok()?));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Address::Inet { host: host.to_owned(), ports }
    }

    /// Whether it is every address of this machine.
    pub fn is_any(host: &str) -> bool {
        matches!(host, "" | "*" | "0.0.0.0" | "::")
    }

    /// Whether a host is this machine's loopback.
    pub fn is_loopback(host: &str) -> bool {
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

/// A listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind<'c> {
    /// Its line.
    pub found: &'c Found,
    /// Its addresses.
    pub addresses: Vec<Address>,
    /// It speaks TLS.
    pub tls: bool,
}

/// The listeners of a section.
pub fn binds<'c>(config: &'c Config, section: &Section) -> Vec<Bind<'c>> {
    let of = |found: &'c Found| Bind {
        found,
        addresses: found.arg(0).unwrap_or_default().split(',').map(Address::parse).collect(),
        tls: found.words.iter().skip(2).any(|w| w.value == "ssl"),
    };
    config.inside(section).iter().filter(|f| f.is("bind")).map(of).collect()
}

/// The way of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route<'c> {
    /// The section that takes it.
    pub front: &'c Section,
    /// Its listener.
    pub bind: Bind<'c>,
    /// The section with the servers; none where no backend can be told.
    pub back: Option<&'c Section>,
}

impl<'c> Route<'c> {
    /// The first frontend with a plain TCP listener (a status page of HAProxy's own only where there is no other), and the
    /// backend its requests reach; where all listeners speak TLS, the first of those in the same way. None when there is no listener
    /// on TCP at all.
    pub fn find(config: &'c Config, requests: &Requests) -> Option<Route<'c>> {
        let inet = |bind: &Bind<'_>| bind.addresses.iter().any(|a| matches!(a, Address::Inet { .. }));
        let fronts = || config.sections().iter().filter(|s| s.is_front() && !is_off(config, s));
        let all = || fronts().flat_map(|s| binds(config, s).into_iter().filter(inet).map(move |b| (s, b)));
        let best = |tls: bool| {
            let these = || all().filter(move |(_, bind)| bind.tls == tls);
            let with_servers = these().find(|(front, _)| backend(config, front, requests).is_some());
            with_servers.or_else(|| these().next())
        };
        let (front, bind) = best(false).or_else(|| best(true))?;
        Some(Route { front, bind, back: backend(config, front, requests) })
    }

    /// Its servers that take requests as long as all live.
    pub fn servers(&self, config: &'c Config) -> Vec<Server<'c>> {
        let all = self.back.map(|back| proxy::servers(config, back)).unwrap_or_default();
        all.into_iter().filter(Server::is_used).collect()
    }
}

/// The backend of a frontend's requests: by the first `use_backend` whose condition holds, else `default_backend`, else itself.
/// A condition that cannot be told from host and path alone is taken not to hold.
fn backend<'c>(config: &'c Config, front: &'c Section, requests: &Requests) -> Option<&'c Section> {
    let named = |name: &str| config.sections().iter().find(|s| s.is_back() && s.name == name);
    for rule in config.inside(front).iter().filter(|f| f.is("use_backend")) {
        if acl::applies(config, front, rule, requests) == Some(true) {
            return named(rule.arg(0)?);
        }
    }
    let default = config.value(front, "default_backend").and_then(|f| named(f.arg(0)?));
    default.or_else(|| (front.is_back() && config.inside(front).iter().any(|f| f.is("server"))).then_some(front))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    #[test]
    fn addresses_are_read() {
        let inet = |host: &str, ports| Address::Inet { host: host.to_owned(), ports };
        assert_eq!(Address::parse("*:80"), inet("*", Some(80..=80)));
        assert_eq!(Address::parse(":8000-8003"), inet("", Some(8000..=8003)));
        assert_eq!(Address::parse("[::1]:443"), inet("::1", Some(443..=443)));
        assert_eq!(Address::parse(":::443"), inet("::", Some(443..=443)));
        assert_eq!(Address::parse("ipv4@app:+1"), inet("app", Some(1..=1)));
        assert_eq!(Address::parse("app"), inet("app", None));
        assert_eq!(Address::parse("/run/x.sock"), Address::Unix("/run/x.sock".to_owned()));
        assert_eq!(Address::parse("fd@3"), Address::Other("fd@3".to_owned()));
    }

    #[test]
    fn requests_find_their_backend() {
        let text = "listen stats\n bind :9\n stats enable\nfrontend tls\n bind :443 ssl crt x\nfrontend www\n bind :80\n \
            acl api path_beg /api\n acl shop hdr(host) -i shop.example\n use_backend api if api !shop\n use_backend shop if shop\n \
            default_backend web\nbackend web\n server a 127.0.0.1:1\nbackend api\n server b 127.0.0.1:2\n server c \
            127.0.0.1:3 backup\nbackend shop\n server d 127.0.0.1:4\n";
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let back = |host: &str, path: &str| {
            let route = Route::find(&config, &Requests::to(host, path)).unwrap();
            assert_eq!(route.front.name, "www");
            (route.back.unwrap().name.clone(), route.servers(&config).len())
        };
        assert_eq!(back("x", "/"), ("web".to_owned(), 1));
        assert_eq!(back("x", "/api/1"), ("api".to_owned(), 1));
        assert_eq!(back("SHOP.example", "/api"), ("shop".to_owned(), 1));
    }

    #[test]
    fn a_listener_with_tls_serves_where_there_is_no_other() {
        let text = "frontend admin\n bind :8443 ssl crt x\nfrontend www\n bind /run/x.sock\n bind :443 ssl crt x alpn h2\n \
            default_backend web\nbackend web\n server a 127.0.0.1:1\n";
        let find = |text: &str| {
            let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
            Route::find(&config, &Requests::default()).map(|route| (route.front.name.clone(), route.bind.tls))
        };
        assert_eq!(find(text), Some(("www".to_owned(), true)), "the one with servers");
        assert_eq!(find(&text.replace("bind /run/x.sock", "bind :80")), Some(("www".to_owned(), false)));
        assert_eq!(find("frontend f\n bind /run/x.sock\n"), None);
    }
}
