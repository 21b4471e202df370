//! A server made for genkai (`genkai serve ...`, apps/): a process that says on the first line of its standard output where it
//! listens (`{"listening":"127.0.0.1:PORT"}`), and on later ones how it is.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{ChildStdout, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use genkai_model::evidence::Sample;
use serde_json::Value;

use crate::observation::Observation;
use crate::process::{Child, Spawn};
use crate::usage::{Tree, Usage};
use crate::{PlaceError, machine};

/// It binds a socket and prints a line; anything near this long is a fault.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// Between two looks whether it has ended.
const PAUSE: Duration = Duration::from_millis(20);
/// Longest line that is read; a line of counts has a few hundred bytes.
const LINE: u64 = 4096;
/// Longest line that is quoted, characters.
const QUOTED: usize = 400;

/// A running server. Dropping it ends it.
#[derive(Debug)]
pub struct Announced {
    /// Its process.
    pub child: Child,
    tree: Tree,
    address: SocketAddr,
    first: String,
    last: Last,
}

/// The last line.
type Last = Arc<Mutex<String>>;

impl Announced {
    /// Starts `program` with `args` and waits until it says where it listens. It gets all the descriptors that may be given
    /// without privilege, and logs to `log`.
    ///
    /// # Errors
    /// When it cannot be started, ends at once, or does not say where it listens within ten seconds.
    pub fn start(
        program: &Path,
        args: impl IntoIterator<Item = String>,
        name: &str,
        cpus: Option<&[usize]>,
        log: &Path,
    ) -> Result<Announced, PlaceError> {
        let mut command = Command::new(program);
        command.args(args);
        let spawn = Spawn {
            name: name.to_owned(),
            cpus: cpus.map(<[usize]>::to_vec),
            log: Some(log.to_owned()),
            nofile: Some(machine::hard_descriptors()),
            user: None,
        };
        Announced::launch(command, spawn, READY_WITHIN)
    }

    /// As [`Announced::start`], with a command and a patience of the caller's.
    ///
    /// # Errors
    /// As there.
    pub fn launch(command: Command, spawn: Spawn, within: Duration) -> Result<Announced, PlaceError> {
        let mut child = Child::piped(command, spawn)?;
        let Some(out) = child.take_stdout() else { return Err(child.exited()) };
        let (first, last) = listen(out);
        let (address, said) = ready(&mut child, &first, within)?;
        let tree = Tree::new(child.pid());
        Ok(Announced { child, tree, address, first: said, last })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The line in which it said where it listens.
    pub fn first_line(&self) -> &str {
        &self.first
    }

    /// The last line it said; empty before the second.
    pub fn last_line(&self) -> String {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks at it: a sample of its last line and of what its process uses, or its end, as [`Observation::of`].
    pub fn observe(&mut self, subject: &str, called: &str, sample: impl FnOnce(&str, &Usage) -> Sample) -> Observation {
        let (line, tree) = (self.last_line(), &mut self.tree);
        Observation::of(&mut self.child, subject, called, || sample(&line, &tree.sample()))
    }
}

/// Reads a server's output until it ends. The first line comes through the channel, whatever it is (a closed channel: there
/// was none); of the others the last one is kept.
fn listen(out: ChildStdout) -> (Receiver<String>, Last) {
    let (first, received) = channel();
    let last = Last::default();
    let kept = Arc::clone(&last);
    let read = move || {
        let mut out = BufReader::new(out);
        let Some(line) = line(&mut out) else { return };
        let _ = first.send(line);
        while let Some(line) = self::line(&mut out) {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = line;
        }
    };
    // Without the thread the channel is closed, and the server counts as one that said nothing.
    let _ = thread::Builder::new().name("server-out".into()).spawn(read);
    (received, last)
}

/// The next line, cut where it is too long; none at the end.
fn line(out: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    match out.by_ref().take(LINE).read_until(b'\n', &mut bytes) {
        Ok(n) if n > 0 => Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()),
        _ => None,
    }
}

/// The address in the first line.
fn address(line: &str) -> Option<SocketAddr> {
    serde_json::from_str::<Value>(line).ok()?.get("listening")?.as_str()?.parse().ok()
}

/// Waits for the line that tells the address: both.
fn ready(child: &mut Child, first: &Receiver<String>, within: Duration) -> Result<(SocketAddr, String), PlaceError> {
    let deadline = Instant::now() + within;
    let mut said = String::new();
    while Instant::now() < deadline {
        match first.recv_timeout(PAUSE) {
            Ok(line) => match address(&line) {
                Some(address) => return Ok((address, line)),
                None => said = line,
            },
            Err(RecvTimeoutError::Timeout) => {}
            // Its output has ended: so will it, most likely, in a moment.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(PAUSE),
        }
        if child.try_exited().is_some() {
            return Err(child.exited());
        }
        if !said.is_empty() {
            break;
        }
    }
    said = said.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(QUOTED).collect();
    let name = child.name().to_owned();
    Err(PlaceError::Mute { name, within, said, tail: child.last_words() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_the_address() {
        assert_eq!(address(r#"{"listening":"127.0.0.1:8080"}"#), Some("127.0.0.1:8080".parse().unwrap()));
        for text in ["", "listening", r#"{"listening":"somewhere"}"#, r#"{"listening":5}"#] {
            assert_eq!(address(text), None, "{text}");
        }
    }
}
