//! Free ports on loopback.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// A TCP port of 127.0.0.1 that was free a moment ago. It is not kept: a caller whose server finds it taken asks again.
///
/// # Errors
/// When no port can be bound at all.
pub fn free() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_free_port_can_be_bound() {
        let port = super::free().unwrap();
        assert!(port > 0);
        std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    }
}
