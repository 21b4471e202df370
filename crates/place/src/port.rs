//! Free ports on loopback.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// A TCP port of 127.0.0.1 that was free a moment ago. It is not kept: a caller whose server finds it taken asks again.
///
/// # Errors
/// When no port can be bound at all.
pub fn free() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Draws until a port comes that was not drawn before, so often.
const DRAWS: u32 = 1000;

/// Ports for listeners at one address, none of them twice.
pub struct Ports<'d> {
    ip: Ipv4Addr,
    kept: bool,
    draw: &'d mut dyn FnMut() -> io::Result<u16>,
    given: BTreeSet<u16>,
}

impl<'d> Ports<'d> {
    /// As `draw` gives them: one that was free may be given again, as nobody holds it, and no server takes two listeners at one place. `kept`: the
    /// ports that listeners have elsewhere, where those can be had at `ip`.
    pub fn new((ip, kept): (Ipv4Addr, bool), draw: &'d mut dyn FnMut() -> io::Result<u16>) -> Ports<'d> {
        Ports { ip, kept, draw, given: BTreeSet::new() }
    }

    /// Where the listeners are.
    pub fn ip(&self) -> Ipv4Addr {
        self.ip
    }

    /// For what has no port elsewhere.
    ///
    /// # Errors
    /// When none can be had, or [`DRAWS`] in a row are no new ones.
    pub fn free(&mut self) -> io::Result<u16> {
        for _ in 0..DRAWS {
            let port = (self.draw)()?;
            if self.given.insert(port) {
                return Ok(port);
            }
        }
        Err(io::ErrorKind::AddrInUse.into())
    }

    /// For the listener that has this one elsewhere.
    ///
    /// # Errors
    /// As [`Ports::free`].
    pub fn instead_of(&mut self, port: u16) -> io::Result<u16> {
        let same = self.kept && port > 0 && is_free(self.ip, port) && self.given.insert(port);
        if same { Ok(port) } else { self.free() }
    }
}

/// Whether nobody listens there, and whoever asks may.
fn is_free(ip: Ipv4Addr, port: u16) -> bool {
    TcpListener::bind((ip, port)).is_ok()
}

/// So many addresses are looked at.
const LOOKS: u8 = 8;

/// A loopback address other than 127.0.0.1 at which all these ports are free; none found: who listens at every address of the machine has one.
pub fn apart(ports: &[u16]) -> Option<Ipv4Addr> {
    // Another one for each process: what two runs ask for at one moment is not the same place.
    let [.., high, low] = std::process::id().to_be_bytes();
    let mut all = (1..=LOOKS).map(|last| Ipv4Addr::new(127, 1 + high % 254, low, last));
    all.find(|ip| ports.iter().all(|port| is_free(*ip, *port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_twice() {
        let mut given = [7, 7, 7, 8, 7, 9].into_iter().chain(std::iter::repeat(9));
        let mut draw = || Ok(given.next().unwrap());
        let mut ports = Ports::new((Ipv4Addr::LOCALHOST, false), &mut draw);
        assert_eq!([ports.free().unwrap(), ports.instead_of(80).unwrap(), ports.free().unwrap()], [7, 8, 9]);
        assert!(ports.free().is_err(), "it ends where there is no other");
    }

    #[test]
    fn a_port_is_kept_at_another_address_where_it_is_free_there() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let ip = apart(&[port]).unwrap();
        assert_ne!(ip, Ipv4Addr::LOCALHOST);
        let mut draw = || Ok(7);
        let mut ports = Ports::new((ip, true), &mut draw);
        assert_eq!([ports.instead_of(port).unwrap(), ports.instead_of(port).unwrap()], [port, 7], "and only once");
        assert_eq!(Ports::new((Ipv4Addr::LOCALHOST, true), &mut || Ok(8)).instead_of(port).unwrap(), 8, "it is taken");
        let everywhere = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        assert_eq!(apart(&[everywhere.local_addr().unwrap().port()]), None);
    }

    #[test]
    fn a_free_port_can_be_bound() {
        // Somebody else may be given it first, but not every time.
        let bound = (0..50).any(|_| {
            let port = super::free().unwrap();
            port > 0 && std::net::TcpListener::bind(("127.0.0.1", port)).is_ok()
        });
        assert!(bound);
    }
}
