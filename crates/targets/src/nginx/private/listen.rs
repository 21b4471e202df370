//! Listeners go to free ports of one address (Unix sockets into the folder); what belongs together stays together.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::path::PathBuf;

use super::changes::Changes;
use crate::files::CopyError;
use crate::nginx::config::{Address, Config, Family, FileId, Found, Host, Listen};
use genkai_place::endpoint::Endpoint;
use genkai_place::port::Ports;

/// Where a listener is now.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum At {
    /// A TCP or UDP port.
    Inet(SocketAddr),
    /// A socket in the folder.
    Unix(PathBuf),
}

impl At {
    /// The same as where a server is found.
    pub fn endpoint(&self) -> Endpoint {
        match self {
            At::Inet(address) => Endpoint::Tcp(*address),
            At::Unix(path) => Endpoint::Unix(path.clone()),
        }
    }
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            At::Inet(address) => address.fmt(f),
            At::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A `listen` of the user's and where it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// `path:line` in the user's files; of the `server` where nginx makes the listener up.
    pub place: String,
    /// Address as the user wrote it.
    pub from: String,
    /// The same, read.
    pub address: Address,
    /// Where it is now.
    pub to: At,
    /// Which part of nginx it is for.
    pub family: Family,
    /// TLS.
    pub ssl: bool,
    /// HTTP/2.
    pub http2: bool,
    /// UDP.
    pub udp: bool,
    /// Left out, because another of the same server is at the same place now (an IPv6 twin).
    pub merged: bool,
}

/// Addresses that become one: a wildcard is the same in IPv4 and IPv6, loopback too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Any(u16),
    Local(u16),
    Other(Host, u16),
    Unix(String),
}

impl Key {
    fn port(&self) -> Option<u16> {
        match self {
            Key::Any(port) | Key::Local(port) | Key::Other(_, port) => Some(*port),
            Key::Unix(_) => None,
        }
    }
}

fn key(address: &Address) -> Key {
    match address {
        Address::Unix(path) => Key::Unix(path.clone()),
        Address::Inet { port, .. } if address.is_wildcard() => Key::Any(*port),
        Address::Inet { host, port } => match host {
            Host::V4(Ipv4Addr::LOCALHOST) | Host::V6(Ipv6Addr::LOCALHOST) => Key::Local(*port),
            Host::Name(name) if name == "localhost" => Key::Local(*port),
            host => Key::Other(host.clone(), *port),
        },
    }
}

/// Longest path of a Unix socket (`sun_path` less its final zero, unix(7)).
const SUN_PATH: usize = 107;

/// A `server` block in its context.
type Server = (FileId, Range<usize>);

struct Mover<'m, 'c, 'd> {
    changes: &'m mut Changes<'c>,
    ports: &'m mut Ports<'d>,
    /// The one that is loaded.
    loaded: Option<Key>,
    places: BTreeMap<(bool, Key), At>,
    /// Which servers listen where already.
    taken: BTreeSet<(FileId, usize, At, bool)>,
    /// New places that have their default server, and those that have their socket options.
    defaults: BTreeMap<(At, bool), Server>,
    options: BTreeSet<(At, bool)>,
}

/// Moves every `listen`, and gives one to each server of `http` that has none (nginx makes up `*:80`, or `*:8000` when
/// not root).
pub(super) fn move_all(
    config: &Config,
    changes: &mut Changes<'_>,
    ports: &mut Ports<'_>,
    loaded: Option<&Address>,
    root: bool,
) -> Result<Vec<Moved>, CopyError> {
    let mut mover = Mover {
        changes,
        ports,
        loaded: loaded.map(key),
        places: BTreeMap::new(),
        taken: BTreeSet::new(),
        defaults: BTreeMap::new(),
        options: BTreeSet::new(),
    };
    let mut moved = Vec::new();
    for listen in config.listens() {
        moved.push(mover.one(&listen)?);
    }
    for server in config.servers() {
        if !server.inside().iter().any(|f| f.directive.is("listen")) {
            moved.push(mover.made_up(config, &server, if root { 80 } else { 8000 })?);
        }
    }
    Ok(moved)
}

impl Mover<'_, '_, '_> {
    fn place(&mut self, address: &Address, udp: bool) -> Result<At, CopyError> {
        let key = (udp, key(address));
        if let Some(at) = self.places.get(&key) {
            return Ok(at.clone());
        }
        let at = match address {
            Address::Inet { port, .. } => {
                // The port of the one that is loaded is not another's to keep.
                let theirs =
                    self.loaded.as_ref().is_some_and(|loaded| loaded.port() == Some(*port) && *loaded != key.1);
                let port = if udp || theirs { self.ports.free() } else { self.ports.instead_of(*port) };
                let port = port.map_err(CopyError::Port)?;
                At::Inet(SocketAddr::from((self.ports.ip(), port)))
            }
            Address::Unix(_) => {
                let path = self.changes.dir.join(format!("sockets/{}.sock", self.places.len()));
                if path.as_os_str().len() > SUN_PATH {
                    return Err(CopyError::long_socket(path, SUN_PATH));
                }
                At::Unix(path)
            }
        };
        self.places.insert(key, at.clone());
        Ok(at)
    }

    fn one(&mut self, listen: &Listen<'_>) -> Result<Moved, CopyError> {
        let found = &listen.found;
        let to = self.place(&listen.address, listen.udp)?;
        let args = found.args();
        let server = found.blocks.last().map_or((found.file, 0..0), |b| (b.file, b.directive.span.clone()));
        let merged = !self.taken.insert((server.0, server.1.start, to.clone(), listen.udp));
        if merged {
            self.changes.drop(found);
        } else {
            let kept = self.params(&args[1..], &(to.clone(), listen.udp), server);
            let mut new = vec![to.to_string()];
            new.extend(kept);
            self.changes.set(found, &new);
        }
        Ok(Moved {
            place: found.place(),
            from: args[0].clone(),
            address: listen.address.clone(),
            to,
            family: listen.family,
            ssl: listen.ssl,
            http2: listen.http2,
            udp: listen.udp,
            merged,
        })
    }

    /// The parameters that stay. Where two addresses became one, what nginx takes once for an address is kept from the
    /// first; `ipv6only` has no meaning on IPv4; the load does not begin with a PROXY protocol header.
    fn params(&mut self, args: &[String], at: &(At, bool), server: Server) -> Vec<String> {
        let is_default = |arg: &str| matches!(arg, "default_server" | "default");
        let claims = args.iter().any(|a| is_default(a));
        let mine = !claims || *self.defaults.entry(at.clone()).or_insert_with(|| server.clone()) == server;
        let is_option = |arg: &str| crate::nginx::config::is_socket_option(arg);
        let first = !args.iter().any(|a| is_option(a)) || self.options.insert(at.clone());
        args.iter()
            .filter(|a| !a.starts_with("ipv6only=") && *a != "proxy_protocol")
            .filter(|a| mine || !is_default(a))
            .filter(|a| first || !is_option(a))
            .cloned()
            .collect()
    }

    fn made_up(&mut self, config: &Config, server: &Found<'_>, port: u16) -> Result<Moved, CopyError> {
        let address = Address::Inet { host: Host::V4(Ipv4Addr::UNSPECIFIED), port };
        let to = self.place(&address, false)?;
        let text = format!("listen {to};");
        let edit = config.insert_at_start(server, &text)?;
        self.changes.add(server, String::new(), text, edit);
        Ok(Moved {
            place: server.place(),
            from: format!("*:{port}"),
            address,
            to,
            family: Family::Http,
            ssl: false,
            http2: false,
            udp: false,
            merged: false,
        })
    }
}

/// Where the configuration itself now listens, by what used to lead there.
pub(super) struct Own<'m>(BTreeMap<Key, &'m Moved>);

impl<'m> Own<'m> {
    pub(super) fn new(moved: &'m [Moved]) -> Self {
        Own(moved.iter().filter(|m| !m.udp).map(|m| (key(&m.address), m)).collect())
    }

    /// The listener that is reached at `address`: the exact one before the wildcard, as in the kernel.
    pub(super) fn at(&self, address: &Address) -> Option<&'m Moved> {
        let key = key(address);
        let wildcard = if let Key::Local(port) = key { Some(Key::Any(port)) } else { None };
        self.0.get(&key).or_else(|| self.0.get(&wildcard?)).copied()
    }
}
