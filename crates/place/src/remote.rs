//! Whether a host is another machine: a load test can take one down, so each must be named by the user first.

use std::net::{IpAddr, ToSocketAddrs};

/// Among the hosts that are allowed: every host is. For a copy of which nothing is started; no argument of a command can be this.
pub const ANYWHERE: &str = "\0";

/// A host that requests would reach though it is another machine and the user has not named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Where the host is written: `path:line`, with the directive behind it where that is known; a URL.
    pub place: String,
    /// The host as written; the variables, where they decide.
    pub host: String,
    /// Why it is taken for another machine ([`why`]).
    pub why: String,
    /// Whether a server of genkai's own can take its place.
    pub replaceable: bool,
}

impl std::fmt::Display for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Remote { place, host, why, replaceable } = self;
        write!(f, "{place}: `{host}` {why}, and a load test can take a host down\n  hint: ")?;
        if *replaceable {
            f.write_str("--backend embedded puts a server of genkai's own in its place; ")?;
        }
        write!(f, "if it is yours to load, say so with --allow-remote '{host}'")
    }
}

impl std::error::Error for Remote {}

/// Refuses `host` where requests to it may leave this machine, unless it is among those `allowed`. `place` says where it is written.
///
/// # Errors
/// [`Remote`], in whose place a server of genkai's own can be put.
pub fn check(host: &str, allowed: &[String], place: impl FnOnce() -> String) -> Result<(), Remote> {
    let refused = |why| Remote { place: place(), host: host.to_owned(), why, replaceable: true };
    why(host, allowed).map_or(Ok(()), |why| Err(refused(why)))
}

/// Why requests to `host` (no brackets, no port) may leave this machine, unless it is among those `allowed`; none where they
/// do not. `$` and `%` are variables in what servers call a host.
pub fn why(host: &str, allowed: &[String]) -> Option<String> {
    if allowed.iter().any(|name| name == ANYWHERE || name.trim_matches(['[', ']']).eq_ignore_ascii_case(host)) {
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
        assert_eq!(why("192.0.2.1", &[ANYWHERE.to_owned()]), None);
    }
}
