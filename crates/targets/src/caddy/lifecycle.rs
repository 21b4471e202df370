//! From a Caddyfile to a server that answers, and to nothing left of it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::CALLED;
use super::evidence::{SUBJECT, Watch};
use crate::error::TargetError;
use genkai_place::oneshot::finish;
use genkai_place::process::{Child, Spawn};
use genkai_place::tail::Tail;
use genkai_place::{PlaceError, program, ready, running};

/// A version and a check answer at once; a check may resolve names, and each may take its time.
const ANSWER: Duration = Duration::from_secs(30);
/// It makes certificates of its own, binds sockets and answers; anything near this long is a fault.
const READY_WITHIN: Duration = Duration::from_secs(10);
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

/// An installed Caddy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binary {
    path: PathBuf,
    version: String,
}

/// Where a private copy's parts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Site {
    /// Its Caddyfile.
    pub(crate) config: PathBuf,
    /// Where relative paths of it start.
    pub(crate) folder: PathBuf,
    /// Where it keeps what it keeps: certificates, its last configuration.
    pub(crate) storage: PathBuf,
    /// What it prints.
    pub(crate) log: PathBuf,
    /// Administration endpoint.
    pub(crate) socket: PathBuf,
    /// Listener that the load goes to.
    pub(crate) address: SocketAddr,
    /// Soft limit on descriptors that it inherits.
    pub(crate) nofile: u64,
}

/// A running Caddy. Dropping it ends it.
pub type Running = running::Running<Watch>;

impl Binary {
    /// Takes the program given, or finds one, and asks for its version. `dir` takes what it prints.
    ///
    /// # Errors
    /// When there is none, or it does not say its version.
    pub(super) fn find(given: Option<&Path>, dir: &Path) -> Result<Binary, TargetError> {
        let path = match given {
            Some(path) if path.is_file() => path.to_owned(),
            Some(path) => {
                let hint = "apt-get install caddy, or leave --caddy out to use the installed one";
                let text = format!("there is no caddy at {}\n  hint: {hint}", path.display());
                return Err(TargetError::missing(CALLED, text));
            }
            None => program::find("caddy").ok_or_else(|| TargetError::not_installed("caddy", "caddy"))?,
        };
        let mut command = Command::new(&path);
        command.arg("version");
        let log = Some(dir.join("caddy-version.txt"));
        let said = finish(command, Spawn { name: "caddy version".to_owned(), log, ..Spawn::default() }, ANSWER)?.text;
        match version(&said) {
            Some(version) => Ok(Binary { path, version }),
            None => Err(TargetError::not_it(CALLED, &path, "caddy version", &said)),
        }
    }

    /// Its version, e.g. `2.6.2`.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// A command that keeps its files in `storage` and talks to nobody.
    fn command(&self, config: &Path, folder: &Path, storage: &Path, verb: &str) -> Command {
        let mut command = Command::new(&self.path);
        command.arg(verb).args(["--adapter", "caddyfile", "--config"]).arg(config).current_dir(folder);
        command.envs(["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"].map(|name| (name, storage)));
        for name in ELSEWHERE {
            command.env_remove(name);
        }
        command
    }
}

/// `2.6.2` of Debian's, `v2.6.2 h1:...` of others.
fn version(said: &str) -> Option<String> {
    let text = said.trim().trim_start_matches('v');
    let version: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    (version.matches('.').count() == 2).then_some(version)
}

/// Has Caddy test its copy, or another file `instead`. `translate` turns a place of the copy into the user's. Gives the warnings
/// of a test that passed.
///
/// # Errors
/// [`crate::error::ErrorKind::Rejected`] with Caddy's message when it says no.
pub(super) fn check(
    binary: &Binary,
    site: &Site,
    instead: Option<&Path>,
    translate: &dyn Fn(&str) -> String,
) -> Result<Vec<String>, TargetError> {
    let config = instead.unwrap_or(&site.config);
    let command = binary.command(config, &site.folder, &site.storage, "validate");
    let log = Some(site.log.with_file_name("check.txt"));
    let finished = finish(command, Spawn { name: "caddy validate".to_owned(), log, ..Spawn::default() }, ANSWER)?;
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

/// Starts Caddy on the cores given and waits until it accepts.
///
/// # Errors
/// [`PlaceError::Exited`] with its last words (a port that is taken among them), [`PlaceError::Silent`] when it does not answer.
pub(super) fn start(binary: &Binary, site: &Site, cpus: Option<&[usize]>) -> Result<Running, PlaceError> {
    let spawn = Spawn {
        name: SUBJECT.to_owned(),
        cpus: cpus.map(<[usize]>::to_vec),
        log: Some(site.log.clone()),
        nofile: Some(site.nofile),
        user: None,
    };
    // Output of an earlier start must not be mistaken for this one's last words, nor its socket for this one's.
    let _ = std::fs::remove_file(&site.log);
    let _ = std::fs::remove_file(&site.socket);
    let tail = Tail::open(&site.log);
    let mut child = Child::spawn(binary.command(&site.config, &site.folder, &site.storage, "run"), spawn)?;
    ready::connectable(site.address, READY_WITHIN, &mut child)?;
    let watch = Watch::new(child.pid(), site.address, site.socket.clone(), tail);
    Ok(Running::new(child, site.address, watch))
}

/// Whether a line of its last words says that somebody else has a port.
pub(super) fn port_taken(line: &str) -> bool {
    line.contains("bind: address already in use")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_messages_are_read() {
        assert_eq!(version("2.6.2\n").as_deref(), Some("2.6.2"));
        assert_eq!(version("v2.11.4 h1:abc=\n").as_deref(), Some("2.11.4"));
        assert_eq!(version("nginx version: nginx/1.22.1\n"), None);
        let said = "adapting config using caddyfile: /x:2: unrecognized directive: reverse_prxy";
        assert_eq!(message(said), "/x:2: unrecognized directive: reverse_prxy");
        let line = |msg: &str| format!("{{\"level\":\"warn\",\"logger\":\"http\",\"msg\":\"{msg}\"}}");
        assert_eq!(warning(&line("DEPRECATED: x")).as_deref(), Some("DEPRECATED: x"));
        assert_eq!(warning(&line("automatic HTTPS is completely disabled for server")), None);
    }
}
