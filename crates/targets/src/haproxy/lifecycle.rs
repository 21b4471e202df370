//! From a configuration file to a server that answers: the HAProxy that is installed, and what it says of a configuration.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::CALLED;
use crate::error::TargetError;
use crate::product::{Lookup, Program, after, tested};

/// How HAProxy is found. (`-vv`: with what it was built.)
pub(crate) const LOOKUP: Lookup = Lookup {
    product: CALLED,
    flag: "haproxy",
    names: &["haproxy"],
    built: &[],
    ask: &["-vv"],
    package: "haproxy",
    version,
};

/// The HAProxy given, or the one installed. `dir` takes what it prints.
///
/// # Errors
/// When there is none, or it does not tell its version.
pub(super) fn find(given: Option<&Path>, dir: &Path) -> Result<Program, TargetError> {
    Program::find(&LOOKUP, given, dir)
}

/// `2.6.12` of `HAProxy version 2.6.12-1+deb12u4 2026/10/17 - ...`.
fn version(said: &str) -> Option<&str> {
    after(said, "HAProxy version ").or_else(|| after(said, "HA-Proxy version "))
}

/// What it was built with, e.g. `OPENSSL`: `Feature list : +EPOLL -KQUEUE ...`.
pub(super) fn features(said: &str) -> BTreeSet<String> {
    let list = said.lines().find_map(|l| l.strip_prefix("Feature list : ")).unwrap_or_default();
    list.split(' ').filter_map(|f| f.strip_prefix('+')).map(str::to_owned).collect()
}

/// Has HAProxy test `config`, what it says in `dir`. `translate` turns a place of the private copy into the user's. Gives the
/// warnings of a test that passed.
///
/// # Errors
/// [`crate::error::ErrorKind::Rejected`] with HAProxy's messages when it says no.
pub(super) fn check(
    program: &Program,
    dir: &Path,
    folder: &Path,
    config: &Path,
    translate: impl Fn(&str) -> String,
) -> Result<Vec<String>, TargetError> {
    let mut command = Command::new(program.path());
    command.arg("-c").arg("-f").arg(config).current_dir(folder);
    let finished = tested(command, "haproxy -c", dir)?;
    let lines = |level: &'static str| {
        let text = finished.text.lines().filter(move |l| l.starts_with(level)).take(20);
        text.map(|line| translate(message(line))).collect::<Vec<_>>()
    };
    if finished.status.success() {
        return Ok(lines("[WARNING]"));
    }
    let reasons = lines("[ALERT]");
    let reasons = if reasons.is_empty() { vec![finished.text.trim().to_owned()] } else { reasons };
    Err(TargetError::rejected(CALLED, reasons.join("\n")))
}

/// `[ALERT]    (123) : config : what` to `what`.
fn message(line: &str) -> &str {
    let rest = line.split_once(") : ").map_or(line, |(_, rest)| rest);
    rest.strip_prefix("config : ").unwrap_or(rest)
}

/// Whether a line of its last words says that somebody else has a port (src/proto_tcp.c: `tcp_bind_listener`).
pub(crate) fn port_taken(line: &str) -> bool {
    line.contains("cannot bind socket")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_features_are_read() {
        let debian = "HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/\nStatus: x\nFeature list : +EPOLL -KQUEUE +OPENSSL\n";
        assert_eq!(version(debian), Some("2.6.12"));
        assert!(features(debian).contains("OPENSSL") && !features(debian).contains("KQUEUE"));
        assert_eq!(version("HA-Proxy version 1.8.19-1 2019\n"), Some("1.8.19"));
        assert_eq!(version("nginx version: nginx/1.22.1\n"), None);
    }

    #[test]
    fn messages_are_told_without_what_haproxy_puts_before_them() {
        let said = "[ALERT]    (84) : config : parsing [q.cfg:3] : unknown keyword 'name' in 'frontend' section";
        assert_eq!(message(said), "parsing [q.cfg:3] : unknown keyword 'name' in 'frontend' section");
        assert!(port_taken(
            "[ALERT]    (8) : Starting frontend f: cannot bind socket (Address already in use) [127.0.0.1:1]"
        ));
    }
}
