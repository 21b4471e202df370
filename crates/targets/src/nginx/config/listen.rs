//! `listen` directives (`ngx_http_core_listen`, `ngx_parse_url` with `listen` set).

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Config, Found};

/// Host part of an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// IPv4, `0.0.0.0` and `*` included.
    V4(Ipv4Addr),
    /// IPv6, `::` included.
    V6(Ipv6Addr),
    /// To be resolved.
    Name(String),
}

/// Where a server listens, or where one is reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// TCP or UDP.
    Inet {
        /// The host.
        host: Host,
        /// The port; the first one of a range.
        port: u16,
    },
    /// Path of a Unix socket.
    Unix(String),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Inet { host: Host::V4(ip), port } => write!(f, "{ip}:{port}"),
            Address::Inet { host: Host::V6(ip), port } => write!(f, "[{ip}]:{port}"),
            Address::Inet { host: Host::Name(name), port } => write!(f, "{name}:{port}"),
            Address::Unix(path) => write!(f, "unix:{path}"),
        }
    }
}

impl Address {
    /// Where who listens at it is reached from this machine.
    pub fn reached(&self) -> Address {
        match self {
            Address::Inet { port, .. } if self.is_wildcard() => {
                Address::Inet { host: Host::V4(Ipv4Addr::LOCALHOST), port: *port }
            }
            other => other.clone(),
        }
    }

    /// Reads `host:port`, `[v6]:port`, `host`, `port` (only where `listen`), `*:port`, `unix:path`, and the last port of a
    /// range. None for what nginx would refuse, and for variables.
    pub fn parse(text: &str, listen: bool, default_port: u16) -> Option<(Address, Option<u16>)> {
        if text.contains('$') {
            return None;
        }
        if let Some(path) = text.strip_prefix("unix:") {
            return (!path.is_empty()).then(|| (Address::Unix(path.to_owned()), None));
        }
        let (host, port) = split(text, listen);
        let (port, last) = match port {
            None => (default_port, None),
            Some(p) => range(p, listen)?,
        };
        Some((Address::Inet { host: Host::parse(host)?, port }, last))
    }

    /// Whether it is every address of the machine.
    pub fn is_wildcard(&self) -> bool {
        match self {
            Address::Inet { host: Host::V4(ip), .. } => ip.is_unspecified(),
            Address::Inet { host: Host::V6(ip), .. } => ip.is_unspecified(),
            _ => false,
        }
    }
}

impl Host {
    fn parse(text: &str) -> Option<Host> {
        if let Some(v6) = text.strip_prefix('[') {
            return v6.strip_suffix(']')?.parse().ok().map(Host::V6);
        }
        match text {
            "" => None,
            "*" => Some(Host::V4(Ipv4Addr::UNSPECIFIED)),
            _ => Some(text.parse().map_or_else(|_| Host::Name(text.to_ascii_lowercase()), Host::V4)),
        }
    }
}

/// Host and port as written. A lone number is a port only where `listen`.
fn split(text: &str, listen: bool) -> (&str, Option<&str>) {
    let numeric = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    if let Some(end) = text.strip_prefix('[').and_then(|_| text.find(']')) {
        return (&text[..=end], text[end + 1..].strip_prefix(':'));
    }
    match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None if listen && numeric(text) => ("*", Some(text)),
        None => (text, None),
    }
}

fn range(text: &str, listen: bool) -> Option<(u16, Option<u16>)> {
    let number = |s: &str| s.parse::<u16>().ok().filter(|&n| n > 0);
    match text.split_once('-') {
        Some((first, last)) if listen => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some((first, Some(last)))
        }
        _ => number(text).map(|n| (n, None)),
    }
}

/// Which part of nginx a server belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// `http`.
    Http,
    /// `stream`.
    Stream,
    /// `mail`.
    Mail,
}

/// One `listen` directive.
#[derive(Clone, Debug)]
pub struct Listen<'a> {
    /// Where it is.
    pub found: Found<'a>,
    /// Which part of nginx it is for.
    pub family: Family,
    /// Where it listens.
    pub address: Address,
    /// Last port when a range was given.
    pub last_port: Option<u16>,
    /// UDP: `udp` in `stream`, `quic` in `http`.
    pub udp: bool,
    /// TLS.
    pub ssl: bool,
    /// HTTP/2 by the parameter (newer versions have a directive).
    pub http2: bool,
    /// A socket of its own in each worker.
    pub reuseport: bool,
    /// Chosen for requests that name no server.
    pub default_server: bool,
    /// Each connection must begin with a PROXY protocol header.
    pub proxy_protocol: bool,
    /// A connection is accepted when its first data is there (TCP_DEFER_ACCEPT). What one `listen` of an address says counts for all of them.
    pub deferred: bool,
    /// Length of the accept queue, as given.
    pub backlog: Option<i32>,
    /// A socket of its own although a wildcard listens on the same port.
    pub bind: bool,
}

/// Parameters that belong to the socket: they may be given once for an address.
pub(in crate::nginx) fn is_socket_option(param: &str) -> bool {
    const VALUED: [&str; 8] =
        ["setfib=", "fastopen=", "backlog=", "rcvbuf=", "sndbuf=", "accept_filter=", "ipv6only=", "so_keepalive="];
    matches!(param, "bind" | "deferred" | "reuseport" | "multipath") || VALUED.iter().any(|v| param.starts_with(v))
}

impl<'a> Listen<'a> {
    fn read(found: Found<'a>) -> Option<Listen<'a>> {
        let families = [("http", Family::Http), ("stream", Family::Stream), ("mail", Family::Mail)];
        let family = families.into_iter().find(|(name, _)| found.is_in(&[name, "server"]))?.1;
        let args = found.args();
        let (address, last_port) = Address::parse(args.first()?, true, 80)?;
        let has = |name: &str| args[1..].iter().any(|a| a == name);
        Some(Listen {
            family,
            address,
            last_port,
            udp: has("udp") || has("quic"),
            ssl: has("ssl"),
            http2: has("http2"),
            reuseport: has("reuseport"),
            default_server: has("default_server") || has("default"),
            proxy_protocol: has("proxy_protocol"),
            deferred: has("deferred"),
            backlog: args[1..].iter().find_map(|a| a.strip_prefix("backlog=")?.parse().ok()),
            bind: args[1..].iter().any(|a| is_socket_option(a)),
            found,
        })
    }

    /// With what others of its address say of their one socket: whether it takes TLS, HTTP/2 and a PROXY protocol header is so for all of them
    /// (ngx_http.c: ngx_http_add_addresses).
    fn shared(mut self, all: &[Listen<'_>]) -> Listen<'a> {
        let place = |one: &Listen<'_>| (one.family, one.udp, one.last_port);
        let same = |one: &&Listen<'_>| place(one) == place(&self) && one.address == self.address;
        let (mut ssl, mut http2, mut proxy) = (self.ssl, self.http2, self.proxy_protocol);
        for one in all.iter().filter(same) {
            (ssl, http2, proxy) = (ssl || one.ssl, http2 || one.http2, proxy || one.proxy_protocol);
        }
        (self.ssl, self.http2, self.proxy_protocol) = (ssl, http2, proxy);
        self
    }
}

impl Config {
    /// Every `listen`, in order, with what another one says of its address. Those whose address nginx itself would refuse are left out.
    pub fn listens(&self) -> Vec<Listen<'_>> {
        let all = self.written();
        all.iter().map(|one| one.clone().shared(&all)).collect()
    }

    /// Every `listen` as it is written.
    fn written(&self) -> Vec<Listen<'_>> {
        self.walk().into_iter().filter(|f| f.directive.is("listen")).filter_map(Listen::read).collect()
    }

    /// Every `server` block of `http`, in order.
    pub fn servers(&self) -> Vec<Found<'_>> {
        self.find(&["http"], "server").into_iter().filter(|f| f.directive.is_block()).collect()
    }

    /// The `listen`s of one `server` block.
    pub fn listens_of<'a>(&self, server: &Found<'a>) -> Vec<Listen<'a>> {
        let all = self.written();
        let own = server.inside().into_iter().filter(|f| f.directive.is("listen")).filter_map(Listen::read);
        own.map(|one| one.shared(&all)).collect()
    }
}

/// Sockets nginx opens for these: one for each address; a wildcard takes the others of its port in, unless they ask for a
/// socket of their own (`ngx_http_init_listening`). With `reuseport`, each worker has one of its own besides.
pub fn sockets(listens: &[Listen<'_>]) -> usize {
    let mut addresses: BTreeMap<(Family, bool, &Address, u16), bool> = BTreeMap::new();
    for listen in listens {
        let first = if let Address::Inet { port, .. } = listen.address { port } else { 0 };
        for port in first..=listen.last_port.unwrap_or(first) {
            *addresses.entry((listen.family, listen.udp, &listen.address, port)).or_default() |= listen.bind;
        }
    }
    let covered = |key: &(Family, bool, &Address, u16)| {
        addresses.keys().any(|other| {
            (other.0, other.1, other.3) == (key.0, key.1, key.3) && other.2.is_wildcard() && same_ip(other.2, key.2)
        })
    };
    let own = |(key, bind): &(&(Family, bool, &Address, u16), &bool)| {
        **bind || key.2.is_wildcard() || matches!(key.2, Address::Unix(_)) || !covered(key)
    };
    addresses.iter().filter(own).count()
}

/// Whether both are IPv4, or both IPv6. (A name counts as IPv4.)
fn same_ip(a: &Address, b: &Address) -> bool {
    let v6 = |a: &Address| matches!(a, Address::Inet { host: Host::V6(_), .. });
    v6(a) == v6(b)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_one_listen_says_of_an_address_is_so_for_all_of_it() {
        let text = "http { server { listen 443 ssl http2; } server { listen 443; listen 80; } server { listen 127.0.0.1:443; listen [::]:443; } }";
        let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/usr")).unwrap();
        let of = |one: &Listen<'_>| (one.address.to_string(), one.ssl, one.http2);
        let all: Vec<_> = config.listens().iter().map(of).collect();
        let told = |address: &str, tls: bool| (address.to_owned(), tls, tls);
        let second = [told("0.0.0.0:443", true), told("0.0.0.0:80", false)];
        assert_eq!(all[..3], [&[told("0.0.0.0:443", true)], &second[..]].concat());
        assert_eq!(all[3..], [told("127.0.0.1:443", false), told("[::]:443", false)]);
        let server = &config.servers()[1];
        assert_eq!(config.listens_of(server).iter().map(of).collect::<Vec<_>>(), second);
    }
}
