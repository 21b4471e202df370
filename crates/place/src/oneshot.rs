//! Programs that end by themselves: a configuration test, a version.

use std::fs;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::PlaceError;
use crate::process::{Child, Signal, Spawn};

/// What a program that ends by itself left.
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed, at most 64 KiB of it.
    pub text: String,
}

/// Most of a program's output that is read.
const OUTPUT_MAX: usize = 64 * 1024;

/// Runs a program that ends by itself, with its output in `spawn.log`; one that takes longer than `within` is killed and
/// counts as failed.
pub fn finish(command: Command, mut spawn: Spawn, within: Duration) -> Result<Finished, PlaceError> {
    let log = spawn.log.take();
    if let Some(log) = &log {
        // The log is appended to; what an earlier run printed must not be taken for this one's.
        let _ = fs::remove_file(log);
    }
    let mut child = Child::spawn(command, Spawn { log: log.clone(), ..spawn })?;
    let deadline = Instant::now() + within;
    while child.try_exited().is_none() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
    let status = child.stop(Signal::SIGKILL, Duration::ZERO);
    let bytes = log.and_then(|log| fs::read(log).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(OUTPUT_MAX)]).into_owned();
    Ok(Finished { status, text })
}
