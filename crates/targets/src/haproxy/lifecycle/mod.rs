//! From a configuration file to a server that answers, and to nothing left of it.
//!
//! Order: [`Binary::find`], [`check`] (`haproxy -c`), [`start`], [`Running::observe`] again and again, [`Running::stop`].

mod binary;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use binary::ANSWER;
pub use binary::Binary;

use super::CALLED;
use super::evidence::{Names, SUBJECT, Watch};
use crate::error::TargetError;
use genkai_place::oneshot::finish;
use genkai_place::process::{Child, Spawn};
use genkai_place::tail::Tail;
use genkai_place::{PlaceError, ready, running};

/// It binds sockets and answers; anything near this long is a fault.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// The file in its folder that it prints to.
pub(crate) const LOG: &str = "haproxy.log";

/// Where a private copy's parts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// Its configuration.
    pub(crate) config: PathBuf,
    /// Where relative paths of it start.
    pub(crate) folder: PathBuf,
    /// What it prints: messages and sessions.
    pub(crate) log: PathBuf,
    /// Statistics socket.
    pub(crate) socket: PathBuf,
    /// Listener that the load goes to.
    pub(crate) address: SocketAddr,
    /// Soft limit on descriptors that it inherits.
    pub(crate) nofile: u64,
    /// The sections that are looked at.
    pub(crate) names: Names,
}

/// A running HAProxy. Dropping it ends it.
pub type Running = running::Running<Watch>;

/// Has HAProxy test `config`, what it says in `dir`. `translate` turns a place of the private copy into the user's. Gives the
/// warnings of a test that passed.
///
/// # Errors
/// [`crate::error::ErrorKind::Rejected`] with HAProxy's messages when it says no.
pub(crate) fn check(
    binary: &Binary,
    dir: &Path,
    folder: &Path,
    config: &Path,
    translate: impl Fn(&str) -> String,
) -> Result<Vec<String>, TargetError> {
    let mut command = Command::new(binary.path());
    command.arg("-c").arg("-f").arg(config).current_dir(folder);
    let log = Some(dir.join("check.txt"));
    let finished = finish(command, Spawn { name: "haproxy -c".to_owned(), log, ..Spawn::default() }, ANSWER)?;
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

/// Starts HAProxy in the foreground on the cores given and waits until it accepts.
///
/// # Errors
/// [`PlaceError::Exited`] with its last words (a port that is taken among them), [`PlaceError::Silent`] when it does not answer.
pub(crate) fn start(binary: &Binary, site: &Site, cpus: Option<&[usize]>) -> Result<Running, PlaceError> {
    let spawn = Spawn {
        name: SUBJECT.to_owned(),
        cpus: cpus.map(<[usize]>::to_vec),
        log: Some(site.log.clone()),
        nofile: Some(site.nofile),
        user: None,
    };
    // Output of an earlier start must not be mistaken for this one's last words.
    let _ = std::fs::remove_file(&site.log);
    let tail = Tail::open(&site.log);
    let mut command = Command::new(binary.path());
    // In the foreground: the guard's child is the process that serves.
    command.arg("-db").arg("-f").arg(&site.config).current_dir(&site.folder);
    let mut child = Child::spawn(command, spawn)?;
    ready::connectable(site.address, READY_WITHIN, &mut child)?;
    let watch = Watch::new(child.pid(), site.address, site.socket.clone(), site.names.clone(), tail);
    Ok(Running::new(child, site.address, watch))
}

/// Whether a line of its last words says that somebody else has a port (src/proto_tcp.c: `tcp_bind_listener`).
pub(crate) fn port_taken(line: &str) -> bool {
    line.contains("cannot bind socket")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_without_what_haproxy_puts_before_them() {
        let said = "[ALERT]    (84) : config : parsing [q.cfg:3] : unknown keyword 'name' in 'frontend' section";
        assert_eq!(message(said), "parsing [q.cfg:3] : unknown keyword 'name' in 'frontend' section");
        assert!(port_taken(
            "[ALERT]    (8) : Starting frontend f: cannot bind socket (Address already in use) [127.0.0.1:1]"
        ));
    }
}
