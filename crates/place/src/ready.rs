//! Waiting until a server answers.

use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::PlaceError;
use crate::process::Child;

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(5);
/// For one attempt (a full accept queue answers nothing at all).
const ATTEMPT: Duration = Duration::from_millis(500);

/// Waits until something accepts connections on `address`.
///
/// # Errors
/// [`PlaceError::Exited`] as soon as the child has ended, [`PlaceError::Silent`] after `within`; both carry the end of
/// the child's log.
pub fn connectable(address: SocketAddr, within: Duration, child: &mut Child) -> Result<(), PlaceError> {
    let deadline = Instant::now() + within;
    loop {
        if child.try_exited().is_some() {
            return Err(child.exited());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(PlaceError::Silent {
                name: child.name().to_owned(),
                address,
                within,
                tail: child.last_words(),
            });
        }
        if accepts(address, left.min(ATTEMPT)) {
            return Ok(());
        }
        thread::sleep(PAUSE.min(left));
    }
}

/// Waits until `own` says that the process that answers is the child. Another may have taken its port, and answers until the child
/// finds out and ends.
///
/// # Errors
/// As [`connectable`].
pub fn own(
    address: SocketAddr,
    within: Duration,
    child: &mut Child,
    own: impl Fn(u32) -> bool,
) -> Result<(), PlaceError> {
    let deadline = Instant::now() + within;
    loop {
        connectable(address, deadline.saturating_duration_since(Instant::now()), child)?;
        if own(child.pid()) {
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
}

/// Whether a connection can be made. A connection to itself does not count: connecting to an unused port of the local
/// range can pick that very port as its source, and TCP's simultaneous open (RFC 9293, 3.5) then succeeds with nobody
/// listening.
fn accepts(address: SocketAddr, within: Duration) -> bool {
    let Ok(stream) = TcpStream::connect_timeout(&address, within) else { return false };
    match (stream.local_addr(), stream.peer_addr()) {
        (Ok(local), Ok(peer)) => local != peer,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::Command;

    use super::*;
    use crate::port;
    use crate::process::{Signal, Spawn};

    fn sleeper(script: &str, log: Option<std::path::PathBuf>) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Child::spawn(command, Spawn { name: "server".into(), log, ..Spawn::default() }).unwrap()
    }

    #[test]
    fn a_listener_is_ready() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut child = sleeper("sleep 60", None);
        connectable(listener.local_addr().unwrap(), Duration::from_secs(10), &mut child).unwrap();
        child.stop(Signal::SIGTERM, Duration::from_secs(5));
    }

    #[test]
    fn a_dead_child_is_told_at_once_with_its_last_words() {
        let dir = tempfile::tempdir().unwrap();
        let mut child = sleeper("echo cannot bind >&2; exit 3", Some(dir.path().join("log")));
        let address = SocketAddr::from(([127, 0, 0, 1], port::free().unwrap()));
        // A deadline so long that the test would be seen to hang if the exit were not noticed.
        let error = connectable(address, Duration::from_secs(3600), &mut child).unwrap_err().to_string();
        assert!(error.contains("cannot bind") && error.contains("exit status: 3"), "{error}");
    }

    #[test]
    fn somebody_elses_answer_is_not_the_childs() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut child = sleeper("echo in use; exit 1", Some(dir.path().join("log")));
        let error = own(address, Duration::from_secs(3600), &mut child, |_| false).unwrap_err();
        assert!(matches!(error, PlaceError::Exited { .. }), "{error}");
        let mut child = sleeper("sleep 60", None);
        own(address, Duration::from_secs(10), &mut child, |pid| pid > 0).unwrap();
        let error = own(address, Duration::from_millis(30), &mut child, |_| false).unwrap_err();
        assert!(matches!(error, PlaceError::Silent { .. }), "{error}");
        child.stop(Signal::SIGTERM, Duration::from_secs(5));
    }

    #[test]
    fn silence_ends_at_the_deadline() {
        let mut child = sleeper("sleep 60", None);
        let address = SocketAddr::from(([127, 0, 0, 1], port::free().unwrap()));
        let error = connectable(address, Duration::from_millis(30), &mut child).unwrap_err();
        assert!(matches!(error, PlaceError::Silent { .. }), "{error}");
    }
}
