//! Set up, start, look, end: whatever cache it is.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use genkai_model::cache::{CacheEntry, OwnCounts};

use super::Product;
use super::counters;
use super::ground::{Budget, Ground, Setup, run};
use crate::error::TargetError;
use genkai_place::footprint::{self, Footprint};
use genkai_place::process::{Child, Signal, Spawn};
use genkai_place::reaper::{Cleanup, CleanupGuard};
use genkai_place::scratch::Scratch;
use genkai_place::{PlaceError, account, machine, pagecache, port, ready, tail};

/// A store is made and read through before a cache listens.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Another process may take a port that was free a moment ago.
const ATTEMPTS: u32 = 3;
/// How long counters may take to be told, and to come to rest.
const SETTLE: Duration = Duration::from_secs(10);
/// Between two looks at them.
const PAUSE: Duration = Duration::from_millis(20);

/// A running cache. Dropping it ends it; its files go with it.
#[derive(Debug)]
pub struct Cache {
    child: Child,
    address: SocketAddr,
    setup: Setup,
    entry: CacheEntry,
    /// Times its counters were read.
    read: u64,
    _segments: Segments,
    scratch: Scratch,
}

/// What is to be started, and where.
pub(crate) struct Start<'a> {
    /// What reports call it.
    pub(crate) name: &'a str,
    /// Where it keeps objects, in words.
    pub(crate) store: &'a str,
    /// Its program.
    pub(crate) program: &'a Path,
    /// What stands behind it; none: its configuration names it.
    pub(crate) origin: Option<SocketAddr>,
    /// What it may use.
    pub(crate) budget: Budget,
    /// Its cores.
    pub(crate) cpus: Option<&'a [usize]>,
    /// A folder for it.
    pub(crate) dir: &'a Path,
}

/// Writes what a cache needs and says how it is started.
pub(crate) type SetUp<'a> = dyn Fn(&Ground<'_>) -> Result<Setup, TargetError> + 'a;

impl Cache {
    /// Sets `product` up in `dir`, empty, before `origin`, and waits until it listens. Reports call it `name`.
    ///
    /// # Errors
    /// When it is missing, refuses its configuration, or does not start.
    pub fn start(
        product: &Product,
        name: &str,
        origin: SocketAddr,
        budget: Budget,
        cpus: Option<&[usize]>,
        dir: &Path,
    ) -> Result<Cache, TargetError> {
        let program = product.installed()?;
        let (store, origin) = (product.store, Some(origin));
        Cache::set_up(&Start { name, store, program: &program, origin, budget, cpus, dir }, &product.setup)
    }

    /// The same, whoever sets it up.
    ///
    /// # Errors
    /// When it refuses its configuration, or does not start.
    pub(crate) fn set_up(start: &Start<'_>, set_up: &SetUp<'_>) -> Result<Cache, TargetError> {
        let began = Instant::now();
        let mut last = None;
        for attempt in 1..=ATTEMPTS {
            let dir = start.dir.join(attempt.to_string());
            let scratch = Scratch::make(&dir, account::unprivileged().is_some(), "genkai-cache-")?;
            let port = port::free().map_err(TargetError::files(&dir))?;
            let listen = SocketAddr::from(([127, 0, 0, 1], port));
            let origin = start.origin.unwrap_or(listen);
            let ground = Ground { program: start.program, dir: scratch.path(), listen, origin, budget: start.budget };
            match launch(start, &ground, set_up) {
                Ok((child, setup, segments)) => {
                    let entry = entry(start, &setup, began.elapsed());
                    let address = listen;
                    return Ok(Cache { child, address, setup, entry, read: 0, _segments: segments, scratch });
                }
                Err(e) if e.is_exit() => last = Some(e),
                Err(e) => return Err(e),
            }
        }
        Err(last.unwrap_or_else(|| TargetError::usage("", format!("{} does not start", start.name))))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How it is, for the record.
    pub fn entry(&self) -> &CacheEntry {
        &self.entry
    }

    fn count(&mut self) -> Result<OwnCounts, TargetError> {
        if self.child.try_exited().is_some() {
            return Err(self.child.exited().into());
        }
        // One that has just begun to listen may not tell its counters yet.
        let deadline = Instant::now() + SETTLE;
        loop {
            let counts = self.setup.counters.read(self.address, self.read);
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
        self.setup.store.as_deref().map(pagecache::of)
    }

    /// The folder that it writes into.
    pub(crate) fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Its first process.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The id of that.
    pub(crate) fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Ends it. What it holds is thrown away, so it need not put it in order first.
    pub fn stop(self) {
        self.end();
    }

    /// The same, with how its first process ended.
    pub(crate) fn end(mut self) -> ExitStatus {
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
    let lag = cache.as_deref().map_or(Duration::ZERO, |cache| cache.setup.counters.lag());
    if rest && !lag.is_zero() {
        std::thread::sleep(lag);
    }
    let mut look = || Ok((cache.as_deref_mut().map(Cache::count).transpose()?, served()));
    if rest { counters::at_rest(PAUSE, SETTLE, look) } else { look() }
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

fn entry(start: &Start<'_>, setup: &Setup, took: Duration) -> CacheEntry {
    CacheEntry {
        contender: start.name.to_owned(),
        version: setup.version.clone(),
        store: start.store.to_owned(),
        settings: setup.settings.clone(),
        limits: setup.limits.clone(),
        started: took.into(),
    }
}

/// What it prints, in its folder.
pub(crate) const OUTPUT: &str = "output.txt";

fn launch(start: &Start<'_>, ground: &Ground<'_>, set_up: &SetUp<'_>) -> Result<(Child, Setup, Segments), TargetError> {
    let mut setup = set_up(ground)?;
    let promised = |prefix: String| (prefix.clone(), CleanupGuard::new(Cleanup::Segments(prefix)));
    let segments = Segments(setup.shared.take().map(promised));
    while !setup.before.is_empty() {
        check(start.name, ground, &mut setup)?;
    }
    let spawn = Spawn {
        name: start.name.to_owned(),
        cpus: start.cpus.map(<[usize]>::to_vec),
        log: Some(ground.dir.join(OUTPUT)),
        nofile: Some(machine::hard_descriptors()),
        user: account::unprivileged(),
    };
    let serve = std::mem::replace(&mut setup.serve, std::process::Command::new(ground.program));
    let mut child = Child::spawn(serve, spawn)?;
    ready::connectable(ground.listen, READY_WITHIN, &mut child)?;
    if let Some((log, phrase)) = &setup.ready {
        written(log, phrase, ground.listen, &mut child)?;
    }
    Ok((child, setup, segments))
}

/// Does the next of what must succeed before a start, of which a check of the configuration is the first; what that printed.
///
/// # Errors
/// When it fails.
pub(crate) fn check(name: &str, ground: &Ground<'_>, setup: &mut Setup) -> Result<String, TargetError> {
    let user = account::unprivileged();
    if let Some((uid, gid)) = user {
        account::give(ground.dir, uid, gid).map_err(TargetError::files(ground.dir))?;
    }
    if setup.before.is_empty() {
        return Ok(String::new());
    }
    let command = setup.before.remove(0);
    let words = format!("{command:?}");
    let (succeeded, said) = run(command, &ground.dir.join(format!("before-{}.txt", setup.before.len())), user)?;
    match succeeded {
        true => Ok(said),
        false => Err(TargetError::command(name, words, said.trim())),
    }
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
    use std::process::Command;

    use genkai_model::units::Bytes;

    use super::*;
    use crate::cache::counters::Counters;
    use crate::error::ErrorKind;

    /// Makes a segment of shared memory, then fails.
    fn setup(ground: &Ground<'_>) -> Result<Setup, TargetError> {
        let prefix = format!("genkai-test-{}-", std::process::id());
        let mut check = Command::new("sh");
        check.args(["-c", "touch \"$0\" && ls \"$0\" && exit 1", &format!("/dev/shm/{prefix}a")]);
        Ok(Setup {
            version: String::new(),
            before: vec![check],
            serve: Command::new(ground.program),
            settings: Vec::new(),
            limits: Vec::new(),
            store: None,
            counters: Counters::Page { path: "/", read: |_, _| None, lag: Duration::ZERO },
            ready: None,
            shared: Some(prefix),
        })
    }

    #[test]
    fn one_that_does_not_start_leaves_no_shared_memory() {
        let dir = tempfile::tempdir().unwrap();
        let product = Product { name: "none", store: "none", program: "sh", package: "none", setup };
        let origin = SocketAddr::from(([127, 0, 0, 1], 1));
        let budget = Budget { memory: Bytes(1 << 20), disk: Bytes(1 << 20) };
        let failed = Cache::start(&product, "none", origin, budget, None, dir.path()).unwrap_err();
        let ErrorKind::Command { said, .. } = failed.kind else { panic!("{failed}") };
        assert!(said.starts_with("/dev/shm/genkai-test-"), "it was there: {said}");
        assert!(!Path::new(&said).exists());
    }
}
