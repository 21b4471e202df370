//! Whether a host is another machine: a load test can take one down, so each must be named by the user first.

use std::net::{IpAddr, ToSocketAddrs};

/// Why requests to `host` (no brackets, no port) may leave this machine, unless it is among those `allowed`; none where they
/// do not. `$` and `%` are variables in what servers call a host.
pub fn why(host: &str, allowed: &[String]) -> Option<String> {
    if allowed.iter().any(|name| name.trim_matches(['[', ']']).eq_ignore_ascii_case(host)) {
        return None;
    }
    let variables = host.contains(['$', '%']);
    let addresses: Vec<IpAddr> = match host.parse() {
        Ok(ip) => vec![ip],
        Err(_) if variables => Vec::new(),
        Err(_) => (host, 80).to_socket_addrs().map(|all| all.map(|a| a.ip()).collect()).unwrap_or_default(),
    };
    match addresses.iter().find(|ip| is(**ip)) {
        Some(ip) => Some(format!("is not this machine ({ip})")),
        None if variables => Some("is decided by variables for each request, so it cannot be known".to_owned()),
        None if addresses.is_empty() => Some("does not resolve, so it cannot be known to be this machine".to_owned()),
        None => None,
    }
}

/// Whether an address is another machine's. A connection to the unspecified address goes to this one (ip(7)).
pub fn is(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    !ip.is_loopback() && !ip.is_unspecified()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_this_machine() {
        for here in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0", "localhost"] {
            assert_eq!(why(here, &[]), None, "{here}");
        }
        let told = |host: &str| why(host, &[]).unwrap();
        assert!(told("192.0.2.1").contains("192.0.2.1") && told("%{HTTP_HOST}").contains("variables"));
        assert!(told("no-such-host.invalid").contains("does not resolve"));
        assert_eq!(why("APP.example", &["app.example".to_owned()]), None);
    }
}
