//! Processes that left the session in which they were started (a daemon makes one of its own): known by a variable of their environment,
//! which every process inherits from the one that started it, and by their parent. Some overwrite their environment (the titles of nginx and Redis
//! do), so while commands run genkai is who the kernel gives processes to whose parent has ended (PR_SET_CHILD_SUBREAPER, prctl(2)).

use std::process::{self, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getsid};
use procfs::process::{Stat, all_processes};

use crate::process::is_child;
use crate::session::KILL_DEADLINE;

/// The variable.
const NAME: &str = "GENKAI_STARTED";
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// How many marks there are: so long, orphans come to this process.
static MARKS: Mutex<u32> = Mutex::new(0);

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
        let mut marks = marks();
        if *marks == 0 {
            // Linux 3.4 and later; without it the mark alone tells.
            let _ = set_child_subreaper(true);
        }
        *marks += 1;
        Strays(mark)
    }

    /// Live processes that carry the mark, those in the session of the first among them, and those that came to this process because their
    /// parent has ended: not those in the session of another child of genkai's, but of `first`, which was started with the mark.
    pub fn alive(&self, first: u32) -> Vec<u32> {
        let mine = |process: &procfs::process::Process| {
            let mark = process.environ().ok().and_then(|all| all.get(NAME.as_ref() as &std::ffi::OsStr).cloned());
            mark.is_some_and(|mark| mark == *self.0)
        };
        let own = own_session();
        let came = |process: &procfs::process::Process| {
            process.stat().is_ok_and(|stat| has_come(&stat, own, first) && !matches!(stat.state, 'Z' | 'X' | 'x'))
        };
        let all = all_processes().into_iter().flatten().flatten();
        all.filter(|one| mine(one) || came(one)).map(|process| process.pid as u32).collect()
    }
}

impl Drop for Strays {
    fn drop(&mut self) {
        let deadline = Instant::now() + KILL_DEADLINE;
        loop {
            let left = self.alive(0);
            if left.is_empty() || Instant::now() >= deadline {
                break;
            }
            for pid in left {
                // It carries a mark that nobody else has, or is this process's to wait for, so its number is still its own, but for the moment
                // since it was read.
                let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
            }
            thread::sleep(PAUSE);
        }
        reap();
        let mut marks = marks();
        *marks -= 1;
        if *marks == 0 {
            let _ = set_child_subreaper(false);
        }
    }
}

fn marks() -> MutexGuard<'static, u32> {
    MARKS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn own_session() -> i32 {
    getsid(None).map_or(0, Pid::as_raw)
}

/// Whether a process came to this one when its parent ended: it is none of its own children, which lead sessions, and none that one of these started
/// in its session, but for `first`. Programs that are asked something stay in this process's session.
fn has_come(stat: &Stat, own: i32, first: u32) -> bool {
    let (pid, session) = (stat.pid as u32, stat.session as u32);
    stat.ppid as u32 == process::id()
        && stat.session != own
        && !is_child(pid)
        && (session == first || !is_child(session))
}

/// Nobody else waits for those that came.
fn reap() {
    let own = own_session();
    let ended = all_processes().into_iter().flatten().flatten().filter_map(|process| process.stat().ok());
    for stat in ended.filter(|stat| stat.state == 'Z' && has_come(stat, own, 0)) {
        let _ = waitpid(Pid::from_raw(stat.pid), Some(WaitPidFlag::WNOHANG));
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
        let has_left =
            || strays.alive(first as u32).iter().any(|pid| session(pid).is_ok_and(|session| session != first));
        while child.try_exited().is_none() || !has_left() {
            assert!(Instant::now() < deadline, "the first process ends, and the other leaves its session");
            thread::sleep(PAUSE);
        }
        child.stop(Signal::SIGTERM, Duration::from_secs(1));
        let left = loop {
            match strays.alive(child.pid())[..] {
                [pid] => break pid,
                _ => assert!(Instant::now() < deadline, "the daemon lives"),
            }
            thread::sleep(PAUSE);
        };
        drop(strays);
        let gone = procfs::process::Process::new(left as i32).and_then(|process| process.stat());
        assert!(gone.map_or(true, |stat| stat.state == 'Z'), "nothing is left");
    }

    /// As nginx and Redis do, whose titles overwrite it.
    #[test]
    fn a_daemon_that_wiped_its_environment_is_found_and_ended() {
        let mut command = Command::new("sh");
        command.args(["-c", "setsid env -i sleep 602 & exit 0"]);
        let strays = Strays::mark(&mut command);
        let mut child = Child::spawn(command, Spawn { name: "daemon".to_owned(), ..Spawn::default() }).unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let wiped = |pid: &u32| {
            let process = procfs::process::Process::new(*pid as i32);
            process.is_ok_and(|one| one.cmdline().is_ok_and(|words| words == ["sleep", "602"]))
        };
        let left = loop {
            match strays.alive(child.pid()).into_iter().find(wiped) {
                Some(pid) if child.try_exited().is_some() => break pid,
                _ => assert!(Instant::now() < deadline, "the daemon is found"),
            }
            thread::sleep(PAUSE);
        };
        child.stop(Signal::SIGTERM, Duration::from_secs(1));
        assert_eq!(strays.alive(0), [left], "it is no member of the session that was ended");
        drop(strays);
        assert!(procfs::process::Process::new(left as i32).is_err(), "nothing is left, and nothing to wait for");
    }

    #[test]
    fn other_children_and_what_they_started_are_left_alone() {
        let script = |text: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", text]);
            command
        };
        let spawn = || Spawn { name: "server".to_owned(), ..Spawn::default() };
        let mut marked = script("exit 0");
        let strays = Strays::mark(&mut marked);
        let mut child = Child::spawn(marked, spawn()).unwrap();
        // Its `sleep` comes to this process, in a session of another child's.
        let mut other = Child::spawn(script("sh -c 'sleep 603 & exit 0'; exec sleep 604"), spawn()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let members = || crate::session::members(other.pid()).len();
        while members() != 2 || child.try_exited().is_none() {
            assert!(Instant::now() < deadline, "both sleep");
            thread::sleep(PAUSE);
        }
        child.stop(Signal::SIGTERM, Duration::from_secs(1));
        assert_eq!(strays.alive(0), []);
        drop(strays);
        assert_eq!((members(), other.try_exited()), (2, None));
    }
}
