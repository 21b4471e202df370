//! Listeners go to free ports of one address, and virtual hosts follow them.

use std::net::{IpAddr, SocketAddr};

use super::changes::Changes;
use crate::apache::config::Config;
use crate::apache::route::{Listen, address, listens};
use crate::files::CopyError;
use genkai_place::port::Ports;

/// A `Listen` and where it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Address; none: any.
    pub ip: Option<String>,
    /// Port as the user wrote it.
    pub port: u16,
    /// Where it is now.
    pub to: SocketAddr,
}

/// An address that names this machine's own interfaces.
fn local(ip: &str) -> bool {
    ip == "localhost" || ip.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Moves every listener. Those that differ only in their address family become one.
pub(super) fn move_all(
    config: &Config,
    changes: &mut Changes<'_>,
    loaded: &Listen<'_>,
    ports: &mut Ports<'_>,
) -> Result<Vec<Moved>, CopyError> {
    let mut moved: Vec<Moved> = Vec::new();
    for listen in listens(config) {
        let twin = moved.iter().any(|m| m.port == listen.port && is_twin(m.ip.as_deref(), listen.ip.as_deref()));
        if twin {
            changes.drop(listen.found);
            continue;
        }
        // The port of the one that is loaded is not another's to keep.
        let theirs = listen.port == loaded.port && !is_twin(listen.ip.as_deref(), loaded.ip.as_deref());
        let port = if theirs { ports.free() } else { ports.instead_of(listen.port) };
        let to = SocketAddr::from((ports.ip(), port.map_err(CopyError::Port)?));
        let mut args = listen.found.args.clone();
        args[0] = to.to_string();
        changes.set(listen.found, &args);
        moved.push(Moved { ip: listen.ip, port: listen.port, to });
    }
    hosts(config, changes, &moved);
    for found in config.named("namevirtualhost") {
        changes.drop(found);
    }
    Ok(moved)
}

/// Whether two addresses are the same, or those of this machine's own interface in both families.
fn is_twin(a: Option<&str>, b: Option<&str>) -> bool {
    a == b || a.is_some_and(loopback) && b.is_some_and(loopback)
}

fn loopback(ip: &str) -> bool {
    matches!(ip, "localhost" | "127.0.0.1" | "::1")
}

/// The addresses of every `VirtualHost`, at the ports where its listeners are now.
fn hosts(config: &Config, changes: &mut Changes<'_>, moved: &[Moved]) {
    for found in config.named("virtualhost").filter(|f| f.section) {
        let mut args = Vec::new();
        for wanted in &found.args {
            match address(wanted) {
                Some((ip, port)) if wanted.contains(':') => {
                    let mine = moved.iter().filter(|m| m.port == port);
                    let mine = mine.filter(|m| {
                        let is_it = is_twin(m.ip.as_deref(), ip.as_deref());
                        ip.is_none() || m.ip.is_none() || is_it || ip.as_deref() == Some("_default_")
                    });
                    let any = ip.is_none() || ip.as_deref() == Some("_default_");
                    let new: Vec<String> =
                        mine.map(|m| if any { format!("*:{}", m.to.port()) } else { m.to.to_string() }).collect();
                    // One without a listener never answers; it stays so.
                    args.extend(if new.is_empty() { vec![wanted.clone()] } else { new });
                }
                _ => args.push(wanted.clone()),
            }
        }
        args.dedup();
        changes.set(found, &args);
    }
}

/// Where a connection to `host:port` of the user's arrives, if it leads back into the same httpd.
pub(super) fn own(moved: &[Moved], host: &str, port: u16) -> Option<SocketAddr> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let leads = |m: &&Moved| {
        m.port == port
            && match &m.ip {
                None => local(host),
                Some(ip) => is_twin(Some(ip), Some(host)),
            }
    };
    moved.iter().find(leads).map(|m| m.to)
}
