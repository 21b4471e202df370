//! From a Caddyfile to a server that answers: the Caddy that is installed, and what it says of a configuration.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::CALLED;
use crate::error::TargetError;
use crate::product::{Lookup, Program, tested};

/// What it warns of in every private copy.
const CHATTER: [&str; 4] = [
    "Caddyfile input is not formatted",
    "automatic HTTPS is completely disabled",
    "server is listening only on the HTTP port",
    "admin endpoint on open interface",
];
/// Variables by which a program is told to talk to another one (a proxy, a collector of traces, the system's manager).
const ELSEWHERE: [&str; 9] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "NOTIFY_SOCKET",
];

/// How Caddy is found.
pub(super) const LOOKUP: Lookup = Lookup {
    product: CALLED,
    flag: "caddy",
    names: &["caddy"],
    built: &[],
    ask: &["version"],
    package: "caddy",
    version,
};

/// Caddy with this configuration, relative paths from `folder` on. It keeps its files in the storage of `dir` and talks to nobody.
pub(super) fn command(program: &Program, config: &Path, folder: &Path, dir: &Path, verb: &str) -> Command {
    let mut command = Command::new(program.path());
    command.arg(verb).args(["--adapter", "caddyfile", "--config"]).arg(config).current_dir(folder);
    command.envs(["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"].map(|name| (name, dir.join("storage"))));
    for name in ELSEWHERE {
        command.env_remove(name);
    }
    command
}

/// `2.6.2` of Debian's, `v2.6.2 h1:...` of others.
fn version(said: &str) -> Option<&str> {
    let text = said.trim().trim_start_matches('v');
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some(&text[..end]).filter(|version| version.matches('.').count() == 2)
}

/// Has Caddy test a configuration (relative paths from `folder` on), what it says in `dir`. `translate` turns a place of the copy
/// into the user's. Gives the warnings of a test that passed.
///
/// # Errors
/// [`crate::error::ErrorKind::Rejected`] with Caddy's message when it says no.
pub(super) fn check(
    program: &Program,
    config: &Path,
    folder: &Path,
    dir: &Path,
    translate: &dyn Fn(&str) -> String,
) -> Result<Vec<String>, TargetError> {
    let finished = tested(command(program, config, folder, dir, "validate"), "caddy validate", dir)?;
    if finished.status.success() {
        return Ok(finished.text.lines().filter_map(warning).map(|line| translate(&line)).collect());
    }
    let reason = finished.text.lines().find_map(|line| line.strip_prefix("Error: "));
    let reason = reason.map_or(finished.text.trim(), message);
    Err(TargetError::rejected(CALLED, translate(reason)))
}

/// What a line of its log warns of.
fn warning(line: &str) -> Option<String> {
    let fields: Value = serde_json::from_str(line).ok()?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let said = text("msg");
    (text("level") == "warn" && !CHATTER.iter().any(|known| said.contains(known))).then(|| said.to_owned())
}

/// A message without what Caddy says of where in itself it was.
fn message(line: &str) -> &str {
    let line = line.strip_prefix("adapting config using caddyfile: ").unwrap_or(line);
    line.strip_prefix("adapting config using caddyfile adapter: ").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_messages_are_read() {
        assert_eq!(version("2.6.2\n"), Some("2.6.2"));
        assert_eq!(version("v2.11.4 h1:abc=\n"), Some("2.11.4"));
        assert_eq!(version("nginx version: nginx/1.22.1\n"), None);
        let said = "adapting config using caddyfile: /x:2: unrecognized directive: reverse_prxy";
        assert_eq!(message(said), "/x:2: unrecognized directive: reverse_prxy");
        let line = |msg: &str| format!("{{\"level\":\"warn\",\"logger\":\"http\",\"msg\":\"{msg}\"}}");
        assert_eq!(warning(&line("DEPRECATED: x")).as_deref(), Some("DEPRECATED: x"));
        assert_eq!(warning(&line("automatic HTTPS is completely disabled for server")), None);
    }
}
