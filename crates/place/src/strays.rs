//! Processes that left the session in which they were started (a daemon makes one of its own). One is the command's only where that is known:
//! it was seen in the tree of the first process, it carries the mark that this start put into its environment, it is in a session or group of
//! those, or it came to genkai and has this start's log as its output or listens on this start's port (the titles of nginx and Redis overwrite the
//! environment). While commands run genkai is who the kernel gives processes to whose parent has ended (PR_SET_CHILD_SUBREAPER, prctl(2)):
//! that alone tells nothing, as the daemons of others come, too. Those are told, and left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{self, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{Pid, getsid};
use procfs::process::{Process, Stat, all_processes};

use crate::endpoint::{Endpoint, Listener};
use crate::session::{KILL_DEADLINE, leaders};

/// The variable.
const NAME: &str = "GENKAI_STARTED";
/// Between two looks at those that are to end.
const PAUSE: Duration = Duration::from_millis(5);
/// Between two looks while it starts, which is when a daemon leaves.
const OFTEN: Duration = Duration::from_millis(20);
/// So long it is looked at often.
const START: Duration = Duration::from_secs(3);
/// Between two looks later: zombies do not gather, and a load is not disturbed.
const SELDOM: Duration = Duration::from_secs(1);

/// How many marks there are: so long, orphans come to this process.
static MARKS: Mutex<u32> = Mutex::new(0);

/// A mark that all processes carry which come of one start. When it is dropped, those that are left are killed.
#[derive(Debug)]
pub struct Strays {
    start: Arc<Start>,
    watcher: Option<(Sender<()>, JoinHandle<()>)>,
}

/// What tells the processes of a start from others.
#[derive(Debug)]
struct Start {
    mark: String,
    /// Ticks since the machine booted; who began earlier is of another.
    since: u64,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    first: u32,
    port: Option<SocketAddr>,
    /// Device and inode of its log.
    log: Option<(u64, u64)>,
    /// Those of the last look: process id, and when it began.
    theirs: BTreeMap<i32, u64>,
    /// Their sessions and process groups.
    groups: BTreeSet<i32>,
    /// Came to genkai, and whose they are is not known.
    doubtful: BTreeSet<i32>,
}

impl Strays {
    /// Marks what `command` will start. No other start has the same mark.
    pub fn mark(command: &mut Command) -> Strays {
        static STARTS: AtomicU64 = AtomicU64::new(0);
        let time = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let mark = format!("{}-{}-{time}", process::id(), STARTS.fetch_add(1, Ordering::Relaxed));
        command.env(NAME, &mark);
        let mut marks = marks();
        if *marks == 0 {
            // Linux 3.4 and later; without it the others tell.
            let _ = set_child_subreaper(true);
        }
        *marks += 1;
        Strays { start: Arc::new(Start { mark, since: ticks(), known: Mutex::default() }), watcher: None }
    }

    /// Looks from now on who comes of `first`, which was started with the mark, prints into `log`, and was given `port`.
    pub fn watch(&mut self, first: u32, port: Option<SocketAddr>, log: Option<&Path>) {
        let log = log.and_then(|log| log.metadata().ok()).map(|log| (log.dev(), log.ino()));
        *self.start.known() = Known { first, port, log, ..Known::default() };
        self.start.look();
        let (stop, stopped) = channel();
        let (start, begun) = (Arc::clone(&self.start), Instant::now());
        let watch = move || {
            let pause = || if begun.elapsed() < START { OFTEN } else { SELDOM };
            while stopped.recv_timeout(pause()) == Err(RecvTimeoutError::Timeout) {
                start.look();
            }
        };
        // Without the thread, whoever asks looks.
        let watcher = thread::Builder::new().name("strays".into()).spawn(watch);
        self.watcher = watcher.ok().map(|thread| (stop, thread));
    }

    /// Live processes that are known to come of this start, those in the session of the first among them.
    pub fn alive(&self) -> Vec<u32> {
        self.start.look();
        self.start.known().theirs.keys().map(|pid| *pid as u32).collect()
    }

    /// Live processes that came to genkai while the start runs, and that may be of it or not. They are left alone.
    pub fn doubtful(&self) -> Vec<u32> {
        self.start.known().doubtful.iter().map(|pid| *pid as u32).collect()
    }
}

impl Drop for Strays {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.watcher.take() {
            drop(stop);
            let _ = thread.join();
        }
        let deadline = Instant::now() + KILL_DEADLINE;
        loop {
            let left = self.alive();
            if left.is_empty() || Instant::now() >= deadline {
                break;
            }
            for pid in left {
                // It was of this start when that was read just now; in this moment its number is still its own.
                let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
            }
            thread::sleep(PAUSE);
        }
        let mut marks = marks();
        *marks -= 1;
        if *marks == 0 {
            let _ = set_child_subreaper(false);
        }
    }
}

impl Start {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who is of this start now. Zombies that came are waited for.
    fn look(&self) {
        let mut known = self.known();
        let leaders: BTreeSet<i32> = leaders().iter().map(|pid| *pid as i32).collect();
        let all: Vec<Stat> =
            all_processes().into_iter().flatten().flatten().filter_map(|one| one.stat().ok()).collect();
        let (ended, alive): (Vec<Stat>, Vec<Stat>) =
            all.into_iter().partition(|stat| matches!(stat.state, 'Z' | 'X' | 'x'));
        reap(&ended, &known);
        // Once it was waited for, its number may be another's.
        let first = (known.first as i32 > 0 && leaders.contains(&(known.first as i32))).then_some(known.first as i32);
        let others = |id: i32| id == own_session() || (leaders.contains(&id) && Some(id) != first);
        let came = |stat: &Stat| {
            self.is_younger(stat) && stat.ppid as u32 == process::id() && !others(stat.pid) && !others(stat.session)
        };
        let mut theirs: BTreeMap<i32, u64> = BTreeMap::new();
        let mut left = Vec::new();
        for stat in &alive {
            let is_seen = known.theirs.get(&stat.pid) == Some(&stat.starttime);
            let is_member = first.is_some_and(|first| stat.session == first || stat.pgrp == first);
            let mark = || if self.is_younger(stat) { mark_of(stat.pid) } else { None };
            if is_seen || is_member || mark().is_some_and(|mark| mark == *self.mark) {
                theirs.insert(stat.pid, stat.starttime);
            } else if came(stat) && mark().is_none() {
                left.push(stat);
            }
        }
        let listener = if left.is_empty() { None } else { known.port.and_then(|port| listener(port, &alive)) };
        for stat in left {
            let is_in_group = known.groups.contains(&stat.session) || known.groups.contains(&stat.pgrp);
            if is_in_group || listener == Some(stat.pid) || known.log.is_some_and(|log| prints_into(stat.pid, log)) {
                theirs.insert(stat.pid, stat.starttime);
            }
        }
        with_children(&mut theirs, &alive);
        let of = |stat: &&Stat| theirs.contains_key(&stat.pid);
        let groups = alive.iter().filter(of).flat_map(|stat| [stat.session, stat.pgrp]);
        known.groups = groups.filter(|id| !others(*id)).collect();
        let doubtful = alive.iter().filter(|stat| came(stat) && !of(stat) && mark_of(stat.pid).is_none());
        known.doubtful = doubtful.map(|stat| stat.pid).collect();
        known.theirs = theirs;
    }

    fn is_younger(&self, stat: &Stat) -> bool {
        stat.starttime >= self.since
    }
}

/// Adds what these started, and what that started.
fn with_children(theirs: &mut BTreeMap<i32, u64>, alive: &[Stat]) {
    loop {
        let is_new = |stat: &&Stat| theirs.contains_key(&stat.ppid) && !theirs.contains_key(&stat.pid);
        let more: Vec<(i32, u64)> = alive.iter().filter(is_new).map(|stat| (stat.pid, stat.starttime)).collect();
        if more.is_empty() {
            break;
        }
        theirs.extend(more);
    }
}

/// Of the processes that listen there, the one that came to genkai.
fn listener(port: SocketAddr, alive: &[Stat]) -> Option<i32> {
    let Listener::Process(pid) = Endpoint::Tcp(port).listener() else { return None };
    let parent = |pid: i32| alive.iter().find(|stat| stat.pid == pid).map(|stat| stat.ppid);
    let mut line = std::iter::successors(Some(pid as i32), |pid| parent(*pid)).take(alive.len());
    line.find(|pid| parent(*pid).is_some_and(|parent| parent as u32 == process::id()))
}

/// The mark of whatever start, as far as it can be read.
fn mark_of(pid: i32) -> Option<std::ffi::OsString> {
    let all = Process::new(pid).and_then(|process| process.environ()).ok()?;
    all.get(NAME.as_ref() as &std::ffi::OsStr).cloned()
}

/// Only who inherited it has it as its output.
fn prints_into(pid: i32, log: (u64, u64)) -> bool {
    let file = |fd: u32| std::fs::metadata(format!("/proc/{pid}/fd/{fd}")).ok();
    [1, 2].into_iter().filter_map(file).any(|file| (file.dev(), file.ino()) == log)
}

/// Waits for those that came and have ended, which nobody else waits for: genkai's own children lead sessions that are known, or are in its own.
/// One that leads an unknown session is waited for only where it is known.
fn reap(ended: &[Stat], known: &Known) {
    let own = own_session();
    for stat in ended.iter().filter(|stat| stat.ppid as u32 == process::id() && stat.session != own) {
        let is_known = known.theirs.get(&stat.pid) == Some(&stat.starttime);
        if (is_known || stat.pid != stat.session) && !leaders().contains(&(stat.pid as u32)) {
            let _ = waitid(Id::Pid(Pid::from_raw(stat.pid)), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG);
        }
    }
}

fn marks() -> MutexGuard<'static, u32> {
    MARKS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn own_session() -> i32 {
    getsid(None).map_or(0, Pid::as_raw)
}

/// Since the machine booted; two fewer, as times are rounded.
fn ticks() -> u64 {
    let text = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds: f64 = text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0);
    ((seconds * procfs::ticks_per_second() as f64) as u64).saturating_sub(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Child, Spawn};

    /// Tests of one process share its children.
    static ALONE: Mutex<()> = Mutex::new(());

    fn alone() -> MutexGuard<'static, ()> {
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shell(text: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", text]);
        command
    }

    fn server() -> Spawn {
        Spawn { name: "server".to_owned(), ..Spawn::default() }
    }

    /// Starts `text` with a mark, and what `text` prints into a log of its own.
    fn started(text: &str, log: Option<&Path>) -> (Strays, Child) {
        let mut command = shell(text);
        let mut strays = Strays::mark(&mut command);
        let child = Child::spawn(command, Spawn { log: log.map(Path::to_owned), ..server() }).unwrap();
        strays.watch(child.pid(), None, log);
        (strays, child)
    }

    fn until(what: &str, mut is: impl FnMut() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !is() {
            assert!(Instant::now() < deadline, "{what}");
            thread::sleep(PAUSE);
        }
    }

    /// The live process that was started with these words.
    fn running(words: &[&str]) -> Option<u32> {
        let is = |one: &Process| one.cmdline().is_ok_and(|line| line == words);
        all_processes().unwrap().flatten().find(is).map(|one| one.pid as u32)
    }

    fn is_gone(pid: u32) -> bool {
        Process::new(pid as i32).and_then(|one| one.stat()).map_or(true, |stat| stat.state == 'Z')
    }

    #[test]
    fn a_daemon_that_left_its_session_is_found_and_ended() {
        let _alone = alone();
        let (strays, mut child) = started("setsid sleep 600.11 & exit 0", None);
        until("the first ends, and the other sleeps", || {
            child.try_exited().is_some() && running(&["sleep", "600.11"]).is_some()
        });
        child.stop(Signal::SIGTERM, Duration::from_secs(1));
        let left = running(&["sleep", "600.11"]).unwrap();
        assert_eq!(strays.alive(), [left]);
        drop(strays);
        assert!(is_gone(left), "nothing is left");
    }

    /// As nginx and Redis do, whose titles overwrite it: by what it prints into, and by the tree in which it was seen.
    #[test]
    fn a_daemon_that_wiped_its_environment_is_found_and_ended() {
        let _alone = alone();
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let seen = "setsid env -i sleep 602.11 >/dev/null 2>&1 & read line <\"$0\"; exit 0";
        for (text, log) in [("setsid env -i sleep 602.11 & exit 0", Some(log.as_path())), (seen, None)] {
            let gate = dir.path().join("gate");
            nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).unwrap();
            let (strays, mut child) = started(&text.replace("$0", &gate.to_string_lossy()), log);
            until("it sleeps", || running(&["sleep", "602.11"]).is_some());
            let left = running(&["sleep", "602.11"]).unwrap();
            if log.is_none() {
                assert!(strays.alive().contains(&left), "while its parent lives");
                std::fs::write(&gate, "go\n").unwrap();
            }
            std::fs::remove_file(&gate).unwrap();
            until("the first ends", || child.try_exited().is_some());
            child.stop(Signal::SIGTERM, Duration::from_secs(1));
            assert_eq!(strays.alive(), [left], "it is no member of the session that was ended");
            drop(strays);
            assert!(is_gone(left), "nothing is left");
        }
    }

    #[test]
    fn whoever_comes_to_genkai_from_elsewhere_is_told_and_left_alone() {
        let _alone = alone();
        let (strays, mut child) = started("exit 0", None);
        // As the master of an ssh connection, or an agent, that a helper leaves behind.
        let helper = shell("setsid sleep 605.11 >/dev/null 2>&1 & exit 0").status().unwrap();
        assert!(helper.success());
        let other = || running(&["sleep", "605.11"]);
        until("it sleeps", || other().is_some() && child.try_exited().is_some());
        let pid = other().unwrap();
        until("it is told", || strays.alive().is_empty() && strays.doubtful() == [pid]);
        child.stop(Signal::SIGTERM, Duration::from_secs(1));
        drop(strays);
        let is_left = other() == Some(pid);
        let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
        assert!(is_left, "it was ended, and genkai had not started it");
    }

    #[test]
    fn the_daemon_of_another_start_is_left_alone() {
        let _alone = alone();
        let (strays, mut child) = started("exit 0", None);
        let (others, mut second) = started("setsid sleep 606.11 & exit 0", None);
        let daemon = || running(&["sleep", "606.11"]);
        until("it sleeps", || daemon().is_some() && second.try_exited().is_some() && child.try_exited().is_some());
        for child in [&mut child, &mut second] {
            child.stop(Signal::SIGTERM, Duration::from_secs(1));
        }
        assert_eq!((strays.alive(), strays.doubtful()), (Vec::new(), Vec::new()));
        drop(strays);
        let left = daemon().expect("it is the other's");
        assert_eq!(others.alive(), [left]);
        drop(others);
        assert!(is_gone(left), "nothing is left");
    }

    #[test]
    fn zombies_do_not_gather_while_a_command_runs() {
        let _alone = alone();
        let (strays, mut child) =
            started("for i in 1 2 3 4 5 6 7 8; do sh -c 'true & exit 0'; done; exec sleep 607.11", None);
        until("all were started", || running(&["sleep", "607.11"]).is_some());
        let first = child.pid() as i32;
        let ended = || {
            let all = all_processes().unwrap().flatten().filter_map(|one| one.stat().ok());
            all.filter(|stat| stat.state == 'Z' && stat.session == first && stat.ppid as u32 == process::id()).count()
        };
        until("they are waited for", || ended() == 0);
        assert!(child.try_exited().is_none() && !strays.alive().is_empty());
        child.stop(Signal::SIGTERM, Duration::from_secs(1));
    }

    #[test]
    fn other_children_and_what_they_started_are_left_alone() {
        let _alone = alone();
        let (strays, mut child) = started("exit 0", None);
        // Its `sleep` comes to this process, in a session of another child's.
        let mut other = Child::spawn(shell("sh -c 'sleep 603 & exit 0'; exec sleep 604"), server()).unwrap();
        let members = || crate::session::members(other.pid()).len();
        until("both sleep", || members() == 2 && child.try_exited().is_some());
        child.stop(Signal::SIGTERM, Duration::from_secs(1));
        assert!(strays.alive().is_empty());
        drop(strays);
        assert_eq!((members(), other.try_exited()), (2, None));
    }
}
