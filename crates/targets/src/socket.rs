//! Asking a server a line over a Unix socket, as HAProxy's statistics socket takes it (management manual 9.3).

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest answer that is read: a row of `show stat` has some hundred bytes.
const ANSWER_MAX: u64 = 4 << 20;

/// Sends a command and gives the answer; none when there is none in time.
pub(crate) fn ask(socket: &Path, command: &str) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    writeln!(stream, "{command}").ok()?;
    let mut answer = String::new();
    stream.take(ANSWER_MAX).read_to_string(&mut answer).ok()?;
    Some(answer)
}
