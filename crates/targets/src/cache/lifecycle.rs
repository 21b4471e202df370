//! Set up, start, look, end: whatever cache it is.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use genkai_model::cache::{CacheEntry, OwnCounts};

use super::counters;
use super::ground::{Budget, Ground, Setup, run};
use super::{CacheError, Product};
use crate::local::footprint::{self, Footprint};
use crate::local::process::{Child, Signal, Spawn};
use crate::local::room::Room;
use crate::local::{LocalError, account, machine, pagecache, port, ready, tail};

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
    _room: Room,
}

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
    ) -> Result<Cache, CacheError> {
        let program = product.installed()?;
        let began = Instant::now();
        let mut last = None;
        for attempt in 1..=ATTEMPTS {
            let room = Room::make(&dir.join(attempt.to_string()), account::unprivileged().is_some(), "genkai-cache-")?;
            let port = port::free().map_err(CacheError::files(dir))?;
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            let ground = Ground { program: &program, dir: room.path(), listen: address, origin, budget };
            match launch(product, name, &ground, cpus) {
                Ok((child, setup)) => {
                    let entry = entry(product, name, &setup, began.elapsed());
                    return Ok(Cache { child, address, setup, entry, read: 0, _room: room });
                }
                Err(e @ CacheError::Local(LocalError::Exited { .. })) => last = Some(e),
                Err(e) => return Err(e),
            }
        }
        Err(last.unwrap_or(CacheError::Missing { name: product.program, package: product.package }))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How it is, for the record.
    pub fn entry(&self) -> &CacheEntry {
        &self.entry
    }

    /// What it has counted since its start, once that has come to rest: some write their log or sum up their threads a moment after
    /// they have answered.
    ///
    /// # Errors
    /// When it does not tell, or has ended.
    pub fn counts(&mut self) -> Result<OwnCounts, CacheError> {
        let lag = self.setup.counters.lag();
        if !lag.is_zero() {
            std::thread::sleep(lag);
        }
        counters::at_rest(PAUSE, SETTLE, || self.count())
    }

    fn count(&mut self) -> Result<OwnCounts, CacheError> {
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
                    return Err(CacheError::Silent { name: self.entry.contender.clone(), why });
                }
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// What its processes have used.
    pub fn footprint(&self, pss: bool) -> Footprint {
        footprint::of(self.child.pid(), pss)
    }

    /// Its files; none: it has none.
    pub fn store(&self) -> Option<pagecache::Files> {
        self.setup.store.as_deref().map(pagecache::of)
    }

    /// Ends it. What it holds is thrown away, so it need not put it in order first.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.child.stop(Signal::SIGKILL, Duration::ZERO);
        self.setup.shared.iter().for_each(|prefix| unlink(prefix));
    }
}

/// Removes segments of shared memory (a folder of Linux's) whose names begin so.
fn unlink(prefix: &str) {
    let Ok(entries) = fs::read_dir("/dev/shm") else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)) {
        let _ = fs::remove_file(entry.path());
    }
}

fn entry(product: &Product, name: &str, setup: &Setup, took: Duration) -> CacheEntry {
    CacheEntry {
        contender: name.to_owned(),
        version: setup.version.clone(),
        store: product.store.to_owned(),
        settings: setup.settings.clone(),
        limits: setup.limits.clone(),
        started: took.into(),
    }
}

fn launch(
    product: &Product,
    name: &str,
    ground: &Ground<'_>,
    cpus: Option<&[usize]>,
) -> Result<(Child, Setup), CacheError> {
    let mut setup = (product.setup)(ground)?;
    let user = account::unprivileged();
    if let Some((uid, gid)) = user {
        account::give(ground.dir, uid, gid).map_err(CacheError::files(ground.dir))?;
    }
    for (n, command) in std::mem::take(&mut setup.before).into_iter().enumerate() {
        let words = format!("{command:?}");
        let (succeeded, said) = run(command, &ground.dir.join(format!("before-{n}.txt")), user)?;
        if !succeeded {
            return Err(CacheError::Rejected { name: name.to_owned(), command: words, said: said.trim().to_owned() });
        }
    }
    let spawn = Spawn {
        name: name.to_owned(),
        cpus: cpus.map(<[usize]>::to_vec),
        log: Some(ground.dir.join("output.txt")),
        nofile: Some(machine::hard_descriptors()),
        user,
    };
    let serve = std::mem::replace(&mut setup.serve, std::process::Command::new(ground.program));
    let mut child = Child::spawn(serve, spawn)?;
    ready::connectable(ground.listen, READY_WITHIN, &mut child)?;
    if let Some((log, phrase)) = &setup.ready {
        written(log, phrase, ground.listen, &mut child)?;
    }
    Ok((child, setup))
}

/// Waits until `phrase` stands in `log`.
fn written(log: &Path, phrase: &str, address: SocketAddr, child: &mut Child) -> Result<(), LocalError> {
    let deadline = Instant::now() + READY_WITHIN;
    while !fs::read_to_string(log).is_ok_and(|text| text.contains(phrase)) {
        if child.try_exited().is_some() {
            return Err(child.exited());
        }
        if Instant::now() >= deadline {
            let (name, tail) = (child.name().to_owned(), tail::last(log, 2048));
            return Err(LocalError::Silent { name, address, within: READY_WITHIN, tail });
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}
