//! The listeners of a configuration.

use super::Address;
use crate::haproxy::config::{Config, Found, Section};

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

impl Bind<'_> {
    /// Whether a connection is accepted when its first data is there (configuration manual 5.1, `defer-accept`).
    pub(in crate::haproxy) fn defers(&self) -> bool {
        self.found.words.iter().skip(2).any(|word| word.value == "defer-accept")
    }

    /// Whether it listens on this port of TCP.
    pub(in crate::haproxy) fn is_on(&self, port: u16) -> bool {
        self.addresses.iter().any(|address| on(address, port).is_some())
    }

    /// The same with this port first.
    pub(super) fn led(mut self, port: u16) -> Self {
        let first = self.addresses.iter().find_map(|address| on(address, port));
        self.addresses.splice(0..0, first);
        self
    }
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

/// The one port of an address that has it.
fn on(address: &Address, port: u16) -> Option<Address> {
    match address {
        Address::Inet { host, ports: Some(ports) } if ports.contains(&port) => {
            Some(Address::Inet { host: host.clone(), ports: Some(port..=port) })
        }
        _ => None,
    }
}
