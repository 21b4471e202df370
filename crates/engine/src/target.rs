//! Where load may go without asking.

use std::net::{IpAddr, SocketAddr};

/// Whether `address` is this machine for certain: loopback, or the unspecified address (which the kernel connects to loopback). Load on
/// anything else needs the user's explicit word.
pub fn is_local(address: SocketAddr) -> bool {
    let ip = match address.ip() {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4),
        v4 => v4,
    };
    ip.is_loopback() || ip.is_unspecified()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_local() {
        let local = |text: &str| is_local(text.parse().unwrap());
        for yes in ["127.0.0.1:80", "127.9.9.9:1", "[::1]:80", "0.0.0.0:80", "[::]:80", "[::ffff:127.0.0.1]:80"] {
            assert!(local(yes), "{yes}");
        }
        for no in
            ["10.0.0.1:80", "192.168.1.1:80", "8.8.8.8:80", "[fe80::1]:80", "[2001:db8::1]:80", "[::ffff:8.8.8.8]:80"]
        {
            assert!(!local(no), "{no}");
        }
    }
}
