//! Processes that left the session in which they were started (a daemon makes one of its own): known by a variable of their environment,
//! which every process inherits from the one that started it.

use std::process::{self, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use procfs::process::all_processes;

use crate::session::KILL_DEADLINE;

/// The variable.
const NAME: &str = "GENKAI_STARTED";
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// A mark that all processes carry which come of one start. When it is dropped, those that are left are killed.
#[derive(Debug)]
pub struct Strays(String);

impl Strays {
    /// Marks what `command` will start. No other start has the same mark.
    pub fn mark(command: &mut Command) -> Strays {
        static STARTS: AtomicU64 = AtomicU64::new(0);
        let time = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let mark = format!("{}-{}-{time}", process::id(), STARTS.fetch_add(1, Ordering::Relaxed));
        command.env(NAME, &mark);
        Strays(mark)
    }

    /// Live processes that carry the mark, those in the session of the first among them.
    pub fn alive(&self) -> Vec<u32> {
        let mine = |process: &procfs::process::Process| {
            let mark = process.environ().ok().and_then(|all| all.get(NAME.as_ref() as &std::ffi::OsStr).cloned());
            mark.is_some_and(|mark| mark == *self.0)
        };
        let all = all_processes().into_iter().flatten().flatten();
        all.filter(mine).map(|process| process.pid as u32).collect()
    }
}

impl Drop for Strays {
    fn drop(&mut self) {
        let deadline = Instant::now() + KILL_DEADLINE;
        loop {
            let left = self.alive();
            if left.is_empty() || Instant::now() >= deadline {
                return;
            }
            for pid in left {
                // It carries a mark that nobody else has, so its number is still its own, but for the moment since it was read.
                let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
            }
            thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Child, Spawn};

    #[test]
    fn a_daemon_that_left_its_session_is_found_and_ended() {
        let mut command = Command::new("sh");
        command.args(["-c", "setsid sleep 600 & exit 0"]);
        let strays = Strays::mark(&mut command);
        let mut child = Child::spawn(command, Spawn { name: "daemon".to_owned(), ..Spawn::default() }).unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let first = child.pid() as i32;
        let session =
            |pid: &u32| procfs::process::Process::new(*pid as i32).and_then(|one| one.stat()).map(|stat| stat.session);
        let has_left = || strays.alive().iter().any(|pid| session(pid).is_ok_and(|session| session != first));
        while child.try_exited().is_none() || !has_left() {
            assert!(Instant::now() < deadline, "the first process ends, and the other leaves its session");
            thread::sleep(PAUSE);
        }
        child.stop(Signal::SIGTERM, Duration::from_secs(1));
        let left = loop {
            match strays.alive()[..] {
                [pid] => break pid,
                _ => assert!(Instant::now() < deadline, "the daemon lives"),
            }
            thread::sleep(PAUSE);
        };
        drop(strays);
        let gone = procfs::process::Process::new(left as i32).and_then(|process| process.stat());
        assert!(gone.map_or(true, |stat| stat.state == 'Z'), "nothing is left");
    }
}
