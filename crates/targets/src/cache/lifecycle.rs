//! Set up, start, look, end: whatever cache it is.

use std::fs;
use std::iter;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use genkai_model::cache::{CacheEntry, OwnCounts};
use genkai_model::evidence::metric;
use tempfile::TempDir;

use super::answers::AnswerLog;
use super::counters::{Counters, at_rest};
use super::sandbox::{Budget, Messages, OUTPUT, Sandbox, Settled, Setup, run};
use crate::error::TargetError;
use crate::files::Move;
use crate::product::{Product, Program, Running, Variant};
use genkai_place::footprint::{self, Footprint};
use genkai_place::log_lines::{ParsedLine, aggregate};
use genkai_place::observation::Observation;
use genkai_place::process::{Child, Signal, Spawn};
use genkai_place::reaper::{Cleanup, CleanupGuard};
use genkai_place::scratch::Scratch;
use genkai_place::tail::{self, Tail};
use genkai_place::usage::Tree;
use genkai_place::{PlaceError, account, listener, machine, pagecache, port, process_tree, ready};

/// A store is made and read through before a cache listens.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Another process may take a port that was free a moment ago.
const ATTEMPTS: u32 = 3;
/// How long counters may take to be told, and to come to rest; and what stands behind, to be looked at.
const SETTLE: Duration = Duration::from_secs(10);
/// Between two looks at them.
const PAUSE: Duration = Duration::from_millis(20);

/// A running cache. Dropping it ends it; its files go with it.
#[derive(Debug)]
pub struct Cache {
    child: Child,
    address: SocketAddr,
    entry: CacheEntry,
    /// The folder of its store; none: it is in memory.
    store: Option<PathBuf>,
    counters: Counters,
    answers: Option<AnswerLog>,
    /// Whoever writes that log beside it.
    _beside: Option<Child>,
    /// Times its counters were read.
    read: u64,
    tree: Tree,
    logs: Vec<(Tail, Messages)>,
    /// Its death was told.
    dead: bool,
    _segments: Segments,
    _left: Left,
    _place: Place,
}

/// What is to be started, and where.
pub(crate) struct Start<'a> {
    /// What reports call it.
    pub(crate) name: &'a str,
    /// Where it keeps objects, in words.
    pub(crate) store: &'a str,
    /// Its program.
    pub(crate) program: &'a Program,
    /// What it passes requests to; none: what its configuration names.
    pub(crate) backend: Option<SocketAddr>,
    /// What of the user's servers has another in its place; where there is no `backend`.
    pub(crate) moves: &'a [Move],
    /// Hosts that requests may reach though they are not this machine.
    pub(crate) allowed: &'a [String],
    /// What it may use.
    pub(crate) budget: Budget,
    /// Its cores.
    pub(crate) cpus: Option<&'a [usize]>,
    /// A folder for it.
    pub(crate) dir: &'a Path,
    /// This machine's address at which it listens.
    pub(crate) listen: Ipv4Addr,
}

/// A folder and a port for one use.
#[derive(Debug)]
pub(super) struct Place {
    dir: TempDir,
    listen: SocketAddr,
    _scratch: Scratch,
}

/// Writes what a cache needs and says how it is started.
pub(crate) type SetUp<'a> = dyn Fn(&Sandbox<'_>) -> Result<Setup, TargetError> + 'a;

impl<'a> Start<'a> {
    /// A configuration of the user's, with what is installed.
    pub(crate) fn of<P: Product>(of: &'a Variant<P>, program: &'a Program, cpus: Option<&'a [usize]>) -> Start<'a> {
        let (backend, allowed) = (of.conditions().backend, &*of.conditions().allowed);
        let (name, budget) = (P::ENTRY.name, Budget::USUAL);
        let listen = of.conditions().listen;
        Start { name, store: "", program, backend, moves: of.moves(), allowed, budget, cpus, dir: of.dir(), listen }
    }

    /// A place through which everybody may pass.
    pub(super) fn place(&self) -> Result<Place, TargetError> {
        let scratch = Scratch::make(self.dir, account::unprivileged().is_some(), "genkai-cache-")?;
        let passable = fs::Permissions::from_mode(0o711);
        let dir = tempfile::Builder::new().prefix("turn-").permissions(passable).tempdir_in(scratch.path());
        let dir = dir.map_err(TargetError::files(self.dir))?;
        let port = port::free().map_err(TargetError::files(self.dir))?;
        Ok(Place { dir, listen: SocketAddr::from((self.listen, port)), _scratch: scratch })
    }

    /// It there.
    pub(super) fn sandbox<'s>(&'s self, place: &'s Place) -> Sandbox<'s> {
        let Start { program, backend, moves, allowed, budget, .. } = *self;
        Sandbox { program, dir: place.dir.path(), listen: place.listen, backend, moves, allowed, budget }
    }
}

impl Cache {
    /// Sets it up, empty, and waits until it answers.
    ///
    /// # Errors
    /// When it refuses its configuration, or does not start.
    pub(crate) fn start(start: &Start<'_>, set_up: &SetUp<'_>) -> Result<Cache, TargetError> {
        let mut attempt = 1;
        loop {
            match Cache::launch(start, set_up) {
                Err(e) if e.is_exit() && attempt < ATTEMPTS => attempt += 1,
                done => return done,
            }
        }
    }

    fn launch(start: &Start<'_>, set_up: &SetUp<'_>) -> Result<Cache, TargetError> {
        let began = Instant::now();
        let place = start.place()?;
        let at = start.sandbox(&place);
        let setup = set_up(&at)?;
        let (shared, user) = (setup.shared.clone(), setup.user);
        let left = Left(
            setup.left.iter().cloned().map(|path| (path.clone(), CleanupGuard::new(Cleanup::Folder(path)))).collect(),
        );
        let Setup { check, make, serve, settings, limits, store, counters, ready, settled, .. } = setup;
        let Setup { messages, answers, beside, .. } = setup;
        let promised = |prefix: String| (prefix.clone(), CleanupGuard::new(Cleanup::Segments(prefix)));
        let segments = Segments(shared.map(promised));
        for command in iter::once(check).chain(make) {
            let words = format!("{command:?}");
            let (succeeded, said) = before(command, &at, user)?;
            if !succeeded {
                return Err(TargetError::command(start.name, words, said.trim()));
            }
        }
        let mut child = served(start, &at, serve, (user, ready))?;
        if let Some(settled) = settled {
            settle(&settled, &at, user, &mut child);
        }
        let beside = beside.map(|command| self::beside(start, &at, command, user)).transpose()?;
        let (contender, store_is, started) = (start.name.to_owned(), start.store.to_owned(), began.elapsed().into());
        let (tree, address) = (Tree::new(child.pid()), at.listen);
        let logs = messages.into_iter().map(|log| (Tail::open(at.dir.join(log.file)), log)).collect();
        Ok(Cache {
            child,
            address,
            entry: CacheEntry {
                contender,
                version: start.program.version().to_owned(),
                store: store_is,
                settings,
                limits,
                started,
            },
            store,
            counters,
            answers,
            _beside: beside,
            read: 0,
            tree,
            logs,
            dead: false,
            _segments: segments,
            _left: left,
            _place: place,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How it is, for the record.
    pub fn entry(&self) -> &CacheEntry {
        &self.entry
    }

    /// What it has counted since its start.
    ///
    /// # Errors
    /// When it does not tell, or has ended.
    pub(crate) fn count(&mut self) -> Result<OwnCounts, TargetError> {
        if self.child.try_exited().is_some() {
            return Err(self.child.exited().into());
        }
        // One that has just begun to listen may not tell its counters yet.
        let deadline = Instant::now() + SETTLE;
        loop {
            let counts = self.counters.read(self.address, self.read);
            self.read += 1;
            match counts {
                Ok(counts) => return Ok(counts),
                Err(why) if Instant::now() >= deadline => {
                    let name = &self.entry.contender;
                    return Err(TargetError::machine("", format!("{name} does not tell its counters: {why}")));
                }
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// What its processes have used.
    pub fn footprint(&self) -> Footprint {
        footprint::of(self.child.pid())
    }

    /// Its files; none: it has none.
    pub fn store(&self) -> Option<pagecache::Files> {
        self.store.as_deref().map(pagecache::of)
    }

    /// What was logged since the last look.
    fn words(&mut self) -> Observation {
        let mut logs = Vec::new();
        for (tail, Messages { signature, only_known, .. }) in &mut self.logs {
            let lines = tail.lines();
            let lines = lines.iter().map(String::as_str).filter(|line| !*only_known || signature(line).is_some());
            let told = |line| ParsedLine { level: "", gist: line, signature: signature(line).map(Into::into) };
            logs.extend(aggregate(&self.entry.contender, lines, told));
        }
        Observation { logs, ..Observation::default() }
    }
}

impl Running for Cache {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn observe(&mut self) -> Observation {
        let words = self.words();
        if self.dead {
            return words;
        }
        let subject = &self.entry.contender;
        let usage = self.tree.sample();
        let mut sample = usage.sample(subject);
        let descriptors = usage.fds_max.map(|open| (format!("{subject}.{}", metric::WORKER_FDS_MAX), open as f64));
        sample.metrics.extend(descriptors);
        if let Some(queue) = listener::queue(self.address) {
            sample.metrics.insert(format!("{subject}.{}", metric::ACCEPT_QUEUE), f64::from(queue.waiting));
        }
        sample.metrics.extend(self.counters.gauges(self.address));
        if let Some(answers) = &mut self.answers {
            answers.count(&mut sample.metrics);
        }
        self.read += self.counters.asked();
        let death = process_tree::death(&mut self.child, subject, "first");
        self.dead = death.is_some();
        Observation { samples: vec![sample], states: death.into_iter().collect(), ..words }
    }

    /// What it holds is thrown away, so it need not put it in order first.
    fn stop(mut self: Box<Self>) -> ExitStatus {
        self.child.stop(Signal::SIGKILL, Duration::ZERO)
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.child.stop(Signal::SIGKILL, Duration::ZERO);
    }
}

/// What a cache (none: there is none) has counted since its start, and the requests that its origin has answered (`served`), once both have come to
/// rest: some write their log or sum up their threads a moment after they have answered. Without `rest` one look is enough.
///
/// # Errors
/// When the cache does not tell, or has ended.
pub fn counts(
    mut cache: Option<&mut Cache>,
    served: &mut dyn FnMut() -> u64,
    rest: bool,
) -> Result<(Option<OwnCounts>, u64), TargetError> {
    let lag = cache.as_deref().map_or(Duration::ZERO, |cache| cache.counters.lag());
    if rest && !lag.is_zero() {
        std::thread::sleep(lag);
    }
    let mut look = || Ok((cache.as_deref_mut().map(Cache::count).transpose()?, served()));
    if rest { at_rest(PAUSE, SETTLE, look) } else { look() }
}

/// Segments of shared memory (a folder of Linux's) whose names begin so. Dropping it, once who has them has ended, removes them.
#[derive(Debug)]
struct Segments(Option<(String, CleanupGuard)>);

impl Drop for Segments {
    fn drop(&mut self) {
        let (Some((prefix, _)), Ok(entries)) = (&self.0, fs::read_dir("/dev/shm")) else { return };
        for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Files outside of its folder. Dropping them, once who has them has ended, removes them.
#[derive(Debug)]
struct Left(Vec<(PathBuf, CleanupGuard)>);

impl Drop for Left {
    fn drop(&mut self) {
        for (path, _) in &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

/// The account of a server: its own where it has one.
type User = Option<(u32, u32)>;

/// Does what must succeed before a start, such as a check of the configuration; whether it did, and what it printed.
pub(super) fn before(command: Command, at: &Sandbox<'_>, user: User) -> Result<(bool, String), TargetError> {
    let user = user.or_else(account::unprivileged);
    if let Some((uid, gid)) = user {
        account::give(at.dir, uid, gid).map_err(TargetError::files(at.dir))?;
    }
    run(command, &at.dir.join("before.txt"), user)
}

/// Starts the server and waits until it is ready: until the words stand in the log, where it says so in one.
fn served(
    start: &Start<'_>,
    at: &Sandbox<'_>,
    serve: Command,
    (user, ready): (User, Option<(PathBuf, &str)>),
) -> Result<Child, PlaceError> {
    let spawn = Spawn {
        name: start.name.to_owned(),
        cpus: start.cpus.map(<[usize]>::to_vec),
        log: Some(at.dir.join(OUTPUT)),
        nofile: Some(machine::hard_descriptors()),
        user: user.or_else(account::unprivileged),
    };
    let mut child = Child::spawn(serve, spawn)?;
    ready::connectable(at.listen, READY_WITHIN, &mut child)?;
    if let Some((log, phrase)) = ready {
        written(&log, phrase, at.listen, &mut child)?;
    }
    Ok(child)
}

/// Waits until it has looked at what stands behind it; who has not after [`SETTLE`] may never.
fn settle((words, is_settled): &Settled, at: &Sandbox<'_>, user: User, child: &mut Child) {
    let deadline = Instant::now() + SETTLE;
    while Instant::now() < deadline && child.try_exited().is_none() {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        // A program that does not run tells nothing.
        let Ok((succeeded, said)) = run(command, &at.dir.join("settled.txt"), user) else { return };
        if succeeded && is_settled(&said) {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Starts what writes a log beside it, on its cores and as its user.
fn beside(start: &Start<'_>, at: &Sandbox<'_>, command: Command, user: User) -> Result<Child, PlaceError> {
    let spawn = Spawn {
        name: command.get_program().to_string_lossy().into_owned(),
        cpus: start.cpus.map(<[usize]>::to_vec),
        log: Some(at.dir.join("beside.txt")),
        user: user.or_else(account::unprivileged),
        ..Spawn::default()
    };
    Child::spawn(command, spawn)
}

/// Waits until `phrase` stands in `log`.
fn written(log: &Path, phrase: &str, address: SocketAddr, child: &mut Child) -> Result<(), PlaceError> {
    let deadline = Instant::now() + READY_WITHIN;
    while !fs::read_to_string(log).is_ok_and(|text| text.contains(phrase)) {
        if child.try_exited().is_some() {
            return Err(child.exited());
        }
        if Instant::now() >= deadline {
            let (name, tail) = (child.name().to_owned(), tail::last(log, 2048));
            return Err(PlaceError::Silent { name, address, within: READY_WITHIN, tail });
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Preset;
    use crate::error::ErrorKind;
    use crate::product::Lookup;

    /// Makes a segment of shared memory, then fails.
    fn setup(at: &Sandbox<'_>) -> Result<Setup, TargetError> {
        let prefix = format!("genkai-test-{}-", std::process::id());
        let mut check = Command::new("sh");
        check.args(["-c", "touch \"$0\" && ls \"$0\" && exit 1", &format!("/dev/shm/{prefix}a")]);
        let counters = Counters::Page { path: "/", read: |_, _| None, lag: Duration::ZERO, gauges: Vec::new() };
        let setup = Setup::new(check, Command::new(at.program.path()), counters);
        Ok(Setup { shared: Some(prefix), ..setup })
    }

    const SHELL: Lookup = Lookup {
        product: "none",
        flag: "none",
        names: &["sh"],
        built: &[],
        ask: &["-c", "exit"],
        package: "none",
        version: |_| Some("1"),
    };

    #[test]
    fn one_that_does_not_start_leaves_no_shared_memory() {
        let dir = tempfile::tempdir().unwrap();
        let preset = Preset { name: "none", store: "none", lookup: &SHELL, setup };
        let origin = SocketAddr::from(([127, 0, 0, 1], 1));
        let failed = preset.start("none", origin, Ipv4Addr::LOCALHOST, Budget::USUAL, None, dir.path()).unwrap_err();
        let ErrorKind::Command { said, .. } = failed.kind else { panic!("{failed}") };
        assert!(said.starts_with("/dev/shm/genkai-test-"), "it was there: {said}");
        assert!(!Path::new(&said).exists());
    }
}
