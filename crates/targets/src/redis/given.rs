//! Settings that a user gives a private Redis: what could take it off loopback, off its folder, or away from genkai is refused.

use crate::error::TargetError;

/// Names that are the run's own business: where Redis listens and writes, who may ask it what, whom it follows, what it loads.
const OWN: [&str; 28] = [
    "aclfile",
    "bind",
    "bind-source-addr",
    "daemonize",
    "dir",
    "enable-debug-command",
    "enable-module-command",
    "enable-protected-configs",
    "include",
    "loadmodule",
    "logfile",
    "masterauth",
    "masteruser",
    "pidfile",
    "port",
    "protected-mode",
    "rename-command",
    "replicaof",
    "requirepass",
    "sentinel",
    "slaveof",
    "supervised",
    "syslog-enabled",
    "syslog-facility",
    "syslog-ident",
    "unixsocket",
    "unixsocketperm",
    "user",
];
/// Beginnings of such names: listeners with TLS, and those of a cluster.
const OWN_PREFIXES: [&str; 2] = ["tls-", "cluster-"];

/// Whether lines of a private Redis's configuration change only what a user may change.
///
/// # Errors
/// With the name, never with the value: it may be a password.
pub fn check(lines: &[String]) -> Result<(), TargetError> {
    let Some(line) = lines.iter().find(|line| is_refused(line)) else { return Ok(()) };
    let name = line.split(' ').next().unwrap_or_default().escape_debug();
    let what = "where the private Redis listens and writes, and who may use it, is the run's own business";
    let hint = "leave it out; e.g. maxclients=N or maxmemory=SIZE can be set";
    Err(TargetError::machine(super::CALLED, format!("--redis-set {name}: {what}\n  hint: {hint}")))
}

/// On its command line a word that begins with `--` is the next setting (src/server.c: `main`), and names are not quoted.
fn is_refused(line: &str) -> bool {
    let mut words = line.split(' ');
    let name = words.next().unwrap_or_default().to_ascii_lowercase();
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let own = OWN.contains(&&*name) || OWN_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    !plain
        || name.starts_with('-')
        || own
        || words.any(|word| word.starts_with("--"))
        || line.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_opens_or_moves_a_private_redis_is_refused_without_its_value() {
        let told = |line: &str| check(&[line.to_owned()]).map_err(|e| e.to_string());
        for line in ["maxclients 5", "client-output-buffer-limit pubsub 32k 0 0", "maxmemory-policy allkeys-lru"] {
            assert_eq!(told(line), Ok(()), "{line}");
        }
        let refused = ["bind 0.0.0.0", "PORT 6379", "dir /tmp", "include /x", "requirepass secret", "tls-port 1"];
        let hidden = ["maxclients 5 --bind secret", "--bind x", "max\nbind 0.0.0.0", "maxclients 5\nbind x", ""];
        for line in refused.iter().chain(&hidden) {
            let said = told(line).unwrap_err();
            assert!(said.contains("--redis-set") && !said.contains("secret"), "{line}: {said}");
        }
        let out = check(&["maxclients 5".to_owned(), "port 1".to_owned()]).unwrap_err();
        assert!(out.to_string().starts_with("--redis-set port: where"), "{out}");
    }
}
