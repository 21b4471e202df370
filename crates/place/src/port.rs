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

/// Ports as `draw` gives them, none of them twice: one that was free may be given again, as nobody holds it, and no server
/// takes two listeners at one place. Fails when [`DRAWS`] in a row are no new ones.
pub fn distinct(draw: &mut dyn FnMut() -> io::Result<u16>) -> impl FnMut() -> io::Result<u16> {
    let mut drawn = BTreeSet::new();
    move || {
        for _ in 0..DRAWS {
            let port = draw()?;
            if drawn.insert(port) {
                return Ok(port);
            }
        }
        Err(io::ErrorKind::AddrInUse.into())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_port_is_given_twice() {
        let mut given = [7, 7, 7, 8, 7, 9].into_iter().chain(std::iter::repeat(9));
        let mut draw = || Ok(given.next().unwrap());
        let mut ports = super::distinct(&mut draw);
        assert_eq!([(); 3].map(|()| ports().unwrap()), [7, 8, 9]);
        assert!(ports().is_err(), "it ends where there is no other");
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
