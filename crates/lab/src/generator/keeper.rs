//! The first process of a pod: starts a worker for each load, as standard input says, so that every load has a new one while its place
//! stays. What is none of these words is the worker's, unread; what the worker says goes where ours would.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::LabError;

/// A worker is to be started.
pub(super) const BEGIN: &str = "\"begin\"";
/// The worker's input ends.
pub(super) const OVER: &str = "\"over\"";
/// The worker is to end, soon.
pub(super) const END: &str = "\"end\"";

/// Whoever attached is there still.
pub(super) const BEAT: &str = "\"beat\"";

/// How often it is looked whether the worker lives.
const LOOK: Duration = Duration::from_millis(50);
/// How long a worker has to end once its input has.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// A worker of ours.
struct Kept {
    child: Child,
    /// None: it is expected to end.
    orders: Option<ChildStdin>,
}

impl Kept {
    fn start(program: &Path) -> io::Result<Kept> {
        let mut child = Command::new(program).arg("worker").stdin(Stdio::piped()).spawn()?;
        let orders = child.stdin.take();
        Ok(Kept { child, orders })
    }

    /// Waits for its end, and makes it.
    fn end(mut self) {
        drop(self.orders.take());
        let latest = Instant::now() + ENDS_WITHIN;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < latest {
            thread::sleep(Duration::from_millis(2));
        }
        // One that has ended is no error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// How it ended, though nobody told it to.
    fn lost(&mut self) -> Option<String> {
        self.orders.as_ref()?;
        self.child.try_wait().map_or_else(|e| Some(e.to_string()), |status| status.map(|status| status.to_string()))
    }
}

/// Starts workers of `program` as `input` says, until it ends. Whoever says nothing for longer than `patience` is gone without its end having
/// got here, or never came.
///
/// # Errors
/// When a worker cannot be started, or ends by itself; when nothing was heard for too long.
pub fn keep(program: &Path, input: impl BufRead + Send + 'static, patience: Duration) -> Result<(), LabError> {
    let (tell, lines) = mpsc::sync_channel(16);
    let read = move || {
        let mut input = input;
        let mut line = Vec::new();
        while matches!(input.read_until(b'\n', &mut line), Ok(1..)) {
            if tell.send(std::mem::take(&mut line)).is_err() {
                break;
            }
        }
    };
    thread::spawn(read);
    let mut worker: Option<Kept> = None;
    let mut heard = Instant::now();
    loop {
        let line = match lines.recv_timeout(LOOK) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                if let Some(how) = worker.as_mut().and_then(Kept::lost) {
                    return Err(LabError::Environment(format!("the worker in this pod ended: {how}")));
                }
                if heard.elapsed() > patience {
                    worker.into_iter().for_each(Kept::end);
                    let text = format!("nothing was heard of genkai for {patience:?}");
                    return Err(LabError::Environment(text));
                }
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        heard = Instant::now();
        let word = std::str::from_utf8(&line).map_or("", str::trim_end);
        if word == BEGIN {
            worker.take().into_iter().for_each(Kept::end);
            let failed = |e| LabError::Environment(format!("cannot start a worker in this pod: {e}"));
            worker = Some(Kept::start(program).map_err(failed)?);
        } else if word == END {
            worker.take().into_iter().for_each(Kept::end);
        } else if word == BEAT {
            // That was heard is all that it says.
        } else if let Some(kept) = &mut worker {
            if word == OVER {
                drop(kept.orders.take());
            } else if let Some(orders) = &mut kept.orders {
                // One that has died is noticed above.
                let _ = orders.write_all(&line).and_then(|()| orders.flush());
            }
        }
    }
    worker.into_iter().for_each(Kept::end);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that copies its input to a file and, told to, kills itself.
    fn program(dir: &Path) -> std::path::PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = dir.join("program");
        let script = format!(
            "#!/bin/sh\necho started $1 >>{0}/log\nwhile read -r line; do echo \"$line\" >>{0}/log; \
             [ \"$line\" != die ] || kill -9 $$; done\necho ended >>{0}/log\n",
            dir.display()
        );
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn log(dir: &Path) -> String {
        std::fs::read_to_string(dir.join("log")).unwrap()
    }

    #[test]
    fn each_load_has_a_worker_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let words = "lost\n\"begin\"\n{\"a\":1}\n\"beat\"\n\"over\"\nlost\n\"end\"\n\"begin\"\n{\"b\":2}\n";
        keep(&program(dir.path()), io::Cursor::new(words), Duration::from_secs(60)).unwrap();
        let expected = "started worker\n{\"a\":1}\nended\nstarted worker\n{\"b\":2}\nended\n";
        assert_eq!(log(dir.path()), expected);
    }

    #[test]
    fn a_worker_that_ends_by_itself_ends_the_pod() {
        let dir = tempfile::tempdir().unwrap();
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        (&ours).write_all(b"\"begin\"\ndie\n").unwrap();
        let error = keep(&program(dir.path()), io::BufReader::new(theirs), Duration::from_secs(60));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("signal: 9"), "{error}");
        assert_eq!(log(dir.path()), "started worker\ndie\n");
    }

    #[test]
    fn a_pod_to_which_nobody_speaks_ends() {
        let dir = tempfile::tempdir().unwrap();
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        (&ours).write_all(b"\"begin\"\n").unwrap();
        let error = keep(&program(dir.path()), io::BufReader::new(theirs), Duration::from_secs(1)).unwrap_err();
        assert!(error.to_string().contains("nothing was heard of genkai for 1s"), "{error}");
        assert_eq!(log(dir.path()), "started worker\nended\n");
    }
}
