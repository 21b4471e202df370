//! Where each site listens in the copy: a free port for each that the user's listens on.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::net::Ipv4Addr;

use crate::caddy::config::{Config, Site};
use crate::caddy::route::{Address, Ports, Upstream, host_and_port};
use crate::files::CopyError;
use genkai_place::remote;

/// Ports by what the user's sites are bound to (`bind`) and their ports.
#[derive(Debug)]
pub(super) struct Moved {
    to: BTreeMap<(String, u16), u16>,
    pub(super) ports: Ports,
    /// The address that all of them are bound to.
    pub(super) ip: Ipv4Addr,
}

/// Draws a port for each listener.
pub(super) fn moved(
    config: &Config,
    (ip, draw): (Ipv4Addr, &mut dyn FnMut() -> io::Result<u16>),
) -> Result<Moved, CopyError> {
    let ports = Ports::of(config);
    let mut to = BTreeMap::new();
    for site in config.sites().iter().filter(|site| !site.is_route()) {
        for address in site.addresses.iter().filter_map(|a| Address::parse(&a.value, ports)) {
            if let Entry::Vacant(place) = to.entry((bound(site), address.port)) {
                place.insert(draw().map_err(CopyError::Port)?);
            }
        }
    }
    Ok(Moved { to, ports, ip })
}

/// What a site is bound to.
fn bound(site: &Site) -> String {
    let lines = site.lines.iter().filter(|line| line.is("bind"));
    lines.flat_map(|line| line.args()).map(|word| word.value.as_str()).collect::<Vec<_>>().join(" ")
}

impl Moved {
    /// The port of an address of a site.
    pub(super) fn port(&self, site: &Site, address: &Address) -> Option<u16> {
        self.to.get(&(bound(site), address.port)).copied()
    }

    /// The port that stands for one of the user's, whatever it is bound to.
    pub(super) fn any(&self, port: u16) -> Option<u16> {
        self.to.iter().find(|((_, from), _)| *from == port).map(|(_, to)| *to)
    }

    /// Where an upstream leads that is a listener of the same Caddy.
    pub(super) fn own(&self, upstream: &Upstream) -> Option<String> {
        let host = upstream.host.as_deref()?;
        let plain = upstream.written.split_once("://").map_or(upstream.written.as_str(), |(_, rest)| rest);
        let port = host_and_port(plain).1.parse().ok()?;
        let here = host.is_empty() || !host.contains('{') && remote::why(host, &[]).is_none();
        let to = self.any(port).filter(|_| here)?;
        Some(upstream.written.replacen(plain, &format!("{}:{to}", self.ip), 1))
    }
}
