//! A child process that takes everything it started with it when it ends.
//!
//! Every server runs as a [`Child`]: in a session of its own, killed by the kernel when genkai dies, and stopped - with
//! its whole session - by [`Child::stop`] or when it is dropped.
//!
//! `PR_SET_PDEATHSIG` (prctl(2)) fires when the *thread* that forked ends, not the process. So all children are forked
//! by one thread of their own that lives as long as genkai; callers may spawn from any thread, however short-lived.

use std::fs::OpenOptions;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use std::{io, process, thread};

use nix::sys::signal::kill;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

pub use nix::sys::signal::Signal;

use crate::reaper::{Cleanup, CleanupGuard};
use crate::{PlaceError, machine, session, tail};

/// Between two looks at a child that was asked to end.
const PAUSE: Duration = Duration::from_millis(2);
/// How long a dropped child has to end by itself.
const DROP_GRACE: Duration = Duration::from_secs(2);
/// How much of a log's end an error message carries.
const LAST_WORDS: u64 = 2048;

/// How a child is started.
#[derive(Clone, Debug, Default)]
pub struct Spawn {
    /// What messages call it, e.g. `nginx`.
    pub name: String,
    /// The cores it may use; none: those of genkai.
    pub cpus: Option<Vec<usize>>,
    /// Standard output and error are appended here; none: they are thrown away.
    pub log: Option<PathBuf>,
    /// Soft limit on descriptors. The hard limit stays, unless it is lower and may be raised. None: both as they are.
    pub nofile: Option<u64>,
    /// User and group it runs as (supplementary groups are dropped); none: those of genkai.
    pub user: Option<(u32, u32)>,
}

/// Which of a child's standard streams are pipes to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Talk {
    Neither,
    Out,
    Both,
}

/// A running child, leader of its own session.
#[derive(Debug)]
pub struct Child {
    name: String,
    log: Option<PathBuf>,
    inner: process::Child,
    /// That it has ended was told.
    told: bool,
    /// Set once it was reaped and its session is empty.
    ended: Option<ExitStatus>,
    /// That its group does not outlive genkai; none once it has ended.
    promise: Option<CleanupGuard>,
}

impl Child {
    /// Starts a program; standard input is empty. Blocks until the program has been executed.
    ///
    /// # Errors
    /// When the log cannot be opened, a core or the descriptors are not to be had, or the program cannot be executed.
    pub fn spawn(command: Command, spawn: Spawn) -> Result<Child, PlaceError> {
        Self::start(command, spawn, Talk::Neither)
    }

    /// As [`Child::spawn`], but standard output is a pipe ([`Child::take_stdout`]); only standard error is logged.
    ///
    /// # Errors
    /// As [`Child::spawn`].
    pub fn piped(command: Command, spawn: Spawn) -> Result<Child, PlaceError> {
        Self::start(command, spawn, Talk::Out)
    }

    /// As [`Child::piped`], and standard input is a pipe too ([`Child::take_stdin`]).
    ///
    /// # Errors
    /// As [`Child::spawn`].
    pub fn conversing(command: Command, spawn: Spawn) -> Result<Child, PlaceError> {
        Self::start(command, spawn, Talk::Both)
    }

    fn start(mut command: Command, spawn: Spawn, talk: Talk) -> Result<Child, PlaceError> {
        check(&spawn)?;
        let (out, err) = outputs(&spawn)?;
        command.stdin(if talk == Talk::Both { Stdio::piped() } else { Stdio::null() });
        command.stderr(err).stdout(if talk == Talk::Neither { out } else { Stdio::piped() });
        let preparation = Preparation::new(&spawn);
        // SAFETY: `apply` makes system calls only: no allocation, no locks.
        unsafe {
            command.pre_exec(move || preparation.apply());
        }
        let program = command.get_program().to_string_lossy().into_owned();
        let inner = fork(command).map_err(|source| match spawn.nofile {
            Some(asked) if source.kind() == io::ErrorKind::PermissionDenied && asked > machine::hard_descriptors() => {
                PlaceError::Descriptors { name: spawn.name.clone(), asked, hard: machine::hard_descriptors() }
            }
            _ => PlaceError::Start { name: spawn.name.clone(), program, source },
        })?;
        let promise = Some(CleanupGuard::new(Cleanup::Group(inner.id())));
        Ok(Child { name: spawn.name, log: spawn.log, inner, told: false, ended: None, promise })
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Process id; also the id of its process group and session.
    pub fn pid(&self) -> u32 {
        self.inner.id()
    }

    /// Where its output goes.
    pub fn log(&self) -> Option<&Path> {
        self.log.as_deref()
    }

    /// The end of its log, control characters replaced; empty without a log.
    pub fn last_words(&self) -> String {
        self.log.as_deref().map(|path| tail::last(path, LAST_WORDS)).unwrap_or_default()
    }

    /// The reading end of its standard output, once, when it was started by [`Child::piped`].
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.inner.stdout.take()
    }

    /// The writing end of its standard input, once, when it was started by [`Child::conversing`].
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.inner.stdin.take()
    }

    /// How it ended, if it has ended. Processes it left behind live until [`Child::stop`].
    pub fn try_exited(&mut self) -> Option<ExitStatus> {
        // The zombie stays (WNOWAIT), so that its number still names its session when that is killed.
        self.ended.or_else(|| peek(self.pid()))
    }

    /// How it ended, told once.
    pub fn death(&mut self) -> Option<ExitStatus> {
        let status = self.try_exited().filter(|_| !self.told)?;
        self.told = true;
        Some(status)
    }

    /// The error for a child that ended too early.
    pub fn exited(&mut self) -> PlaceError {
        let status = self.try_exited().map_or_else(|| "still running".to_owned(), |status| status.to_string());
        PlaceError::Exited { name: self.name.clone(), status, tail: self.last_words() }
    }

    /// Sends a signal to the child itself (reload, graceful end). A child that has ended ignores it.
    pub fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            let _ = kill(Pid::from_raw(self.pid() as i32), signal);
        }
    }

    /// Ends the child: `signal`, up to `grace` for it to end, then SIGKILL to every process left in its session.
    /// Afterwards none of them runs. Called again, it only tells the status again.
    ///
    /// A process that the kernel cannot kill (an uninterruptible wait) is given up after ten seconds and reported as
    /// killed.
    pub fn stop(&mut self, signal: Signal, grace: Duration) -> ExitStatus {
        if let Some(status) = self.ended {
            return status;
        }
        self.signal(signal);
        let deadline = Instant::now() + grace;
        while peek(self.pid()).is_none() && Instant::now() < deadline {
            thread::sleep(PAUSE);
        }
        let status = match session::kill_all(self.pid()) {
            true => self.inner.wait().unwrap_or(ExitStatus::from_raw(Signal::SIGKILL as i32)),
            false => ExitStatus::from_raw(Signal::SIGKILL as i32),
        };
        // The number of the group may be given to somebody else.
        self.promise = None;
        session::leaders().remove(&self.pid());
        self.ended = Some(status);
        status
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop(Signal::SIGTERM, DROP_GRACE);
    }
}

/// The exit status of a process that has ended, leaving it to be reaped later.
fn peek(pid: u32) -> Option<ExitStatus> {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    // The raw form of a status is wait(2)'s: code in the second byte, signal in the first, 0x80 for a core dump.
    match waitid(Id::Pid(Pid::from_raw(pid as i32)), flags) {
        Ok(WaitStatus::Exited(_, code)) => Some(ExitStatus::from_raw((code & 0xff) << 8)),
        Ok(WaitStatus::Signaled(_, signal, core)) => {
            Some(ExitStatus::from_raw(signal as i32 | if core { 0x80 } else { 0 }))
        }
        _ => None,
    }
}

/// What can be said before anything is started.
fn check(spawn: &Spawn) -> Result<(), PlaceError> {
    let allowed = machine::cores();
    if let Some(&cpu) = spawn.cpus.iter().flatten().find(|cpu| !allowed.contains(cpu)) {
        return Err(PlaceError::Core { name: spawn.name.clone(), cpu, allowed });
    }
    match spawn.nofile {
        Some(asked) if asked > machine::hard_descriptors() && !nix::unistd::geteuid().is_root() => {
            Err(PlaceError::Descriptors { name: spawn.name.clone(), asked, hard: machine::hard_descriptors() })
        }
        _ => Ok(()),
    }
}

fn outputs(spawn: &Spawn) -> Result<(Stdio, Stdio), PlaceError> {
    let Some(path) = &spawn.log else { return Ok((Stdio::null(), Stdio::null())) };
    let open = || {
        let out = OpenOptions::new().create(true).append(true).open(path)?;
        Ok((Stdio::from(out.try_clone()?), Stdio::from(out)))
    };
    open().map_err(|source| PlaceError::Log { name: spawn.name.clone(), path: path.clone(), source })
}

/// What the child does between fork and exec; holds everything it needs, as it must not allocate there.
struct Preparation {
    parent: u32,
    cpus: Option<libc::cpu_set_t>,
    nofile: Option<u64>,
    user: Option<(u32, u32)>,
}

impl Preparation {
    fn new(spawn: &Spawn) -> Preparation {
        let cpus = spawn.cpus.as_deref().map(machine::cpu_set);
        Preparation { parent: process::id(), cpus, nofile: spawn.nofile, user: spawn.user }
    }

    /// The order matters: limits before the user is dropped (raising one needs privilege); the parent-death signal
    /// after it (changing credentials clears it, prctl(2)), then a look whether the parent died in between.
    fn apply(&self) -> io::Result<()> {
        // SAFETY: plain system calls on values owned by `self`.
        unsafe {
            ok(libc::setsid())?;
            // What genkai's own caller left open is not the server's: it would count against its descriptors. Kernels
            // before 5.11 cannot do it; nothing is lost then.
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
            if let Some(set) = &self.cpus {
                ok(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set))?;
            }
            if let Some(soft) = self.nofile {
                let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                ok(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit))?;
                limit.rlim_cur = soft;
                limit.rlim_max = limit.rlim_max.max(soft);
                ok(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit))?;
            }
            if let Some((uid, gid)) = self.user {
                ok(libc::setgroups(1, &raw const gid))?;
                ok(libc::setgid(gid))?;
                ok(libc::setuid(uid))?;
            }
            ok(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            if libc::getppid() as u32 != self.parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
        Ok(())
    }
}

fn ok(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

type Job = (Command, Sender<io::Result<process::Child>>);

/// Has the long-lived thread fork and execute `command`.
fn fork(command: Command) -> io::Result<process::Child> {
    static FORKER: OnceLock<Sender<Job>> = OnceLock::new();
    let forker = FORKER.get_or_init(|| {
        let (sender, jobs) = channel::<Job>();
        let serve =
            move || jobs.into_iter().for_each(|(mut command, reply)| drop(reply.send(session::lead(&mut command))));
        // Without the thread its queue is gone, and every start fails with the error below.
        let _ = thread::Builder::new().name("forker".into()).spawn(serve);
        sender
    });
    let gone = || io::Error::other("no thread to start processes from");
    let (reply, answer) = channel();
    forker.send((command, reply)).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}
