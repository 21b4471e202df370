//! Listeners go to free ports of one address.

use std::net::SocketAddr;
use std::path::Path;

use super::changes::{Changes, without};
use crate::files::{CopyError, save};
use crate::haproxy::config::{Config, Found};
use crate::haproxy::route::{Address, Bind, binds};
use crate::haproxy::sni;
use genkai_place::authority::TlsMaterial;
use genkai_place::port::Ports;

/// Parameters of `bind` that belong to the user's network, each with its number of values.
const DROPPED: &[(&str, usize)] = &[
    ("accept-netscaler-cip", 1),
    ("interface", 1),
    ("transparent", 0),
    ("namespace", 1),
    ("user", 1),
    ("group", 1),
    ("uid", 1),
    ("gid", 1),
    ("mode", 1),
    ("expose-fd", 1),
    ("v4v6", 0),
    ("v6only", 0),
    ("process", 1),
];

/// What clients of the load do not send. HAProxy's own servers send it to its other listeners.
const HEADER: &[(&str, usize)] = &[("accept-proxy", 0)];

/// Parameters of `bind` that name certificates, each with its number of values.
const CERTIFICATES: &[(&str, usize)] = &[("crt", 1), ("crt-list", 1), ("default-crt", 1)];

/// An address of a listener and where it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moved {
    /// As the user wrote it, one port.
    from: Address,
    /// Where it is now.
    pub(super) to: String,
    /// Whether it shows another certificate than the user's.
    pub(super) recertified: bool,
}

impl Moved {
    /// Whether a server at `address` is this listener.
    pub(super) fn is(&self, address: &Address) -> bool {
        self.from.takes(address)
    }
}

/// Moves every listener of every frontend. Those with TLS show `papers` instead of the user's certificates, whose keys are neither read nor
/// copied; to that of `loaded` clients come themselves.
pub(super) fn move_all(
    config: &Config,
    changes: &mut Changes<'_>,
    loaded: &Bind<'_>,
    ports: &mut Ports<'_>,
    sockets: &Path,
    papers: Option<&TlsMaterial>,
) -> Result<Vec<Moved>, CopyError> {
    let mut moved = Vec::new();
    let fronts = config.sections().iter().filter(|s| s.is_front());
    for bind in fronts.flat_map(|s| binds(config, s)) {
        let first = moved.len();
        let papers = papers.filter(|_| bind.tls);
        let recertified = papers.is_some();
        for address in &bind.addresses {
            match address {
                Address::Inet { host, ports: Some(range) } => {
                    for port in range.clone().take(usize::from(u16::MAX)) {
                        // The port of the one that is loaded is not another's to keep.
                        let theirs = !std::ptr::eq(bind.found, loaded.found) && loaded.is_on(port);
                        let to = if theirs { ports.free() } else { ports.instead_of(port) };
                        let to = format!("{}:{}", ports.ip(), to.map_err(CopyError::Port)?);
                        moved.push(Moved {
                            from: Address::Inet { host: host.clone(), ports: Some(port..=port) },
                            to,
                            recertified,
                        });
                    }
                }
                Address::Unix(_) => {
                    let to = format!("unix@{}", sockets.join(format!("bind-{}", moved.len())).display());
                    moved.push(Moved { from: address.clone(), to, recertified });
                }
                _ => {}
            }
        }
        let all: Vec<&str> = moved[first..].iter().map(|m| m.to.as_str()).collect();
        if all.is_empty() {
            changes.drop(bind.found);
            continue;
        }
        let mut words: Vec<String> = bind.found.words.iter().map(|w| w.value.clone()).collect();
        words[1] = all.join(",");
        let mut words = without(&words, 2, DROPPED);
        if std::ptr::eq(bind.found, loaded.found) {
            words = without(&words, 2, HEADER);
        }
        if let Some(papers) = papers {
            words = without(&words, 2, CERTIFICATES);
            words.extend(shown(config, bind.found, papers, &changes.dir.join(format!("names-{}.list", moved.len())))?);
        }
        changes.set(bind.found, &words);
    }
    Ok(moved)
}

/// What a listener shows instead of the user's certificates: where it takes handshakes only under names of these, a list of them, which is written to `list`.
fn shown(config: &Config, bind: &Found, papers: &TlsMaterial, list: &Path) -> Result<[String; 2], CopyError> {
    let word = |path: &Path| path.to_string_lossy().into_owned();
    match sni::strict(config, bind) {
        Some(Ok(lines)) => {
            save(list, sni::list(&papers.both, &lines).as_bytes())?;
            Ok(["crt-list".to_owned(), word(list)])
        }
        _ => Ok(["crt".to_owned(), word(&papers.both)]),
    }
}

/// Where a listener is now: its first TCP port.
pub(super) fn address(moved: &[Moved], bind: &Bind<'_>) -> SocketAddr {
    let inet = bind.addresses.iter().find_map(|a| match a {
        Address::Inet { host, ports: Some(ports) } => {
            Some(Address::Inet { host: host.clone(), ports: Some(*ports.start()..=*ports.start()) })
        }
        _ => None,
    });
    let to = inet.and_then(|from| moved.iter().find(|m| m.from == from)?.to.parse().ok());
    to.unwrap_or_else(|| ([127, 0, 0, 1], 0).into())
}
