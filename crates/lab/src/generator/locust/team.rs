//! Locust's workers, from the first to the last load of a run: started, known, told what to do, heard, missed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use genkai_engine::StopFlag;
use genkai_model::locust::Locust;
use genkai_place::process::{Child, Spawn};
use genkai_place::scratch::Scratch;
use genkai_place::threads::Threads;
use genkai_place::usage::{Tree, Usage};
use genkai_place::{machine, program};

use super::super::protocol::harmless;
use super::POLL;
use super::router::{FromWorker, Router};
use super::window::Used;
use crate::error::LabError;
use crate::locust_wire::message::{Order, Report};
use crate::locust_wire::stats::Stats;
use crate::locust_wire::users::Users;

/// How long workers that genkai starts may take until they are ready, and those that others start.
const STARTED: Duration = Duration::from_secs(60);
const JOINED: Duration = Duration::from_secs(120);
/// A worker that says nothing for so long is lost: Locust's own master misses one after four heartbeats (`HEARTBEAT_LIVENESS`), one a second.
const SILENCE: Duration = Duration::from_secs(5);
/// How long users may take to stop, and a worker to report what they did last.
const STOPPED: Duration = Duration::from_secs(30);

/// Loaded by workers that genkai starts, after the user's file: has them trust [`AUTHORITY`].
const TRUST: &str = include_str!("trust.py");
/// Loaded by them after that: has them ask for the site that [`SITE`] names.
const SITES: &str = include_str!("site.py");
const SITE: &str = "GENKAI_SITE";
/// The variable in which they are told where that is.
const AUTHORITY: &str = "GENKAI_AUTHORITY";

/// The workers.
#[derive(Debug)]
pub(super) struct Team {
    router: Router,
    started: Vec<Started>,
    threads: Threads,
    workers: BTreeMap<String, Worker>,
    /// As many as there are to be.
    size: usize,
    classes: Vec<String>,
    file: PathBuf,
    exception: Option<String>,
    rests: Option<Instant>,
    logs: Scratch,
}

/// A process that genkai started.
#[derive(Debug)]
struct Started {
    child: Child,
    tree: Tree,
}

/// What is known of a worker.
#[derive(Debug)]
struct Worker {
    heard: Instant,
    users: f64,
    /// What its process uses of a core, as it says itself.
    busy: f64,
    phase: Phase,
    /// Whether it told which user classes it has.
    told: bool,
}

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It waits for a load, or has users.
    Works,
    /// It was told to stop.
    Stops,
    /// Its users have stopped; what they did last is not reported yet.
    Stopped,
    /// All is reported.
    Settled,
}

impl Team {
    /// The workers of a load, ready.
    ///
    /// # Errors
    /// When they do not come, are of another protocol, or have other users; when `stop` is set before.
    pub(super) fn gather(locust: &Locust, cpus: Option<&[usize]>, stop: &StopFlag) -> Result<Team, LabError> {
        let logs = Scratch::short("genkai-locust-").map_err(LabError::folder(std::env::temp_dir()))?;
        let router = Router::open(locust.bind.as_deref().unwrap_or("127.0.0.1:0"))?;
        let mut started = Vec::new();
        if locust.bind.is_none() {
            for n in 1..=locust.workers {
                started.push(start(locust, n, router.port(), cpus, &logs)?);
            }
        }
        let mut team = Team {
            router,
            started,
            threads: Threads::wanting(),
            workers: BTreeMap::new(),
            size: usize::from(locust.workers),
            classes: locust.classes.iter().map(|class| class.name.clone()).collect(),
            file: locust.file.clone(),
            exception: None,
            rests: None,
            logs,
        };
        let patience = if locust.bind.is_none() { STARTED } else { JOINED };
        let until = Instant::now() + patience;
        while team.workers.values().filter(|worker| worker.told).count() < team.size {
            if stop.is_stopped() {
                return Err(LabError::Interrupted);
            }
            team.hear(POLL).map_err(before)?;
            if Instant::now() > until {
                return Err(team.missing(locust, patience));
            }
        }
        Ok(team)
    }

    fn missing(&self, locust: &Locust, patience: Duration) -> LabError {
        let (there, all) = (self.workers.values().filter(|worker| worker.told).count(), self.size);
        let hint = match &locust.bind {
            Some(bind) => format!(
                "start them: locust -f {} --worker --master-host HOST --master-port PORT (here: {bind})",
                locust.file.display()
            ),
            None => format!("see what it says by hand: locust -f {} --worker", locust.file.display()),
        };
        LabError::Environment(format!(
            "{there} of {all} Locust workers came within {} s\n  hint: {hint}",
            patience.as_secs()
        ))
    }

    /// Workers.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Users that workers said they have.
    pub(super) fn users(&self) -> f64 {
        self.workers.values().map(|worker| worker.users).sum()
    }

    /// The first exception of a user's tasks, if there was one.
    pub(super) fn exception(&self) -> Option<&str> {
        self.exception.as_deref()
    }

    /// Prepares for a load.
    ///
    /// # Errors
    /// When a worker is lost.
    pub(super) fn ready(&mut self) -> Result<(), LabError> {
        while let Some(said) = self.router.next(Duration::ZERO)? {
            self.take(said)?;
        }
        self.exception = None;
        self.rests = None;
        for worker in self.workers.values_mut() {
            (worker.phase, worker.users) = (Phase::Works, 0.0);
        }
        self.used(Duration::ZERO);
        Ok(())
    }

    /// Has the workers trust the authority of this certificate (PEM) from the next connection on, or nobody but whom they trust themselves.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn trust(&self, authority: Option<&Path>) -> Result<(), LabError> {
        let file = authority_file(&self.logs);
        match authority {
            Some(of) => fs::copy(of, &file).map(drop).map_err(LabError::folder(&file)),
            None if file.exists() => fs::remove_file(&file).map_err(LabError::folder(&file)),
            None => Ok(()),
        }
    }

    /// Tells each worker the users that it is to have, at `now` (seconds of the epoch).
    pub(super) fn spawn(&self, users: &[BTreeMap<String, u32>], host: &str, now: f64) {
        for (name, classes) in self.workers.keys().zip(users) {
            let order = Order::Spawn { at: now, classes: classes.clone(), host: host.to_owned() };
            self.router.tell(name, order);
        }
    }

    /// Tells all workers to stop their users.
    pub(super) fn rest(&mut self) {
        self.rests = Some(Instant::now() + STOPPED);
        for (name, worker) in &mut self.workers {
            worker.phase = Phase::Stops;
            self.router.tell(name, Order::Stop);
        }
    }

    /// Whether all users have stopped and all is reported of them.
    ///
    /// # Errors
    /// When that takes too long.
    pub(super) fn is_settled(&self) -> Result<bool, LabError> {
        if self.workers.values().all(|worker| worker.phase == Phase::Settled) {
            return Ok(true);
        }
        match self.rests {
            Some(until) if Instant::now() > until => Err(LabError::Lost(format!(
                "a Locust worker did not stop its users within {} s\n  hint: what was measured until then is kept",
                STOPPED.as_secs()
            ))),
            _ => Ok(false),
        }
    }

    /// Processor time of an interval that lasted so long; the busiest thread is at its end also where it has to wait for a core.
    pub(super) fn used(&mut self, lasted: Duration) -> Used {
        let us = lasted.as_micros() as f64;
        if self.started.is_empty() {
            let each = || self.workers.values().map(|worker| worker.busy);
            return Used {
                all_us: (each().sum::<f64>() * us) as u64,
                busiest_us: (each().fold(0.0, f64::max) * us) as u64,
            };
        }
        let all: Vec<Usage> = self.started.iter_mut().map(|one| one.tree.sample()).collect();
        let processes = all.iter().flat_map(|one| &one.processes).map(|one| one.pid);
        let busiest = self.threads.busiest(processes).unwrap_or(0.0);
        Used { all_us: (all.iter().map(|one| one.cpu).sum::<f64>() * us) as u64, busiest_us: (busiest * us) as u64 }
    }

    /// Hears what comes within `patience`, and gives what a worker reports of its users.
    ///
    /// # Errors
    /// When a worker is lost, or is none for this load.
    pub(super) fn hear(&mut self, patience: Duration) -> Result<Option<(String, Box<Stats>)>, LabError> {
        if let Some(said) = self.router.next(patience)? {
            return self.take(said);
        }
        self.missed()?;
        Ok(None)
    }

    fn take(&mut self, said: FromWorker) -> Result<Option<(String, Box<Stats>)>, LabError> {
        let FromWorker { worker: name, report, at } = said;
        let shown = harmless(&name);
        let report = report.map_err(|why| {
            LabError::Lost(format!("what {shown} says is no message of a Locust 2 worker: {}", harmless(&why)))
        })?;
        if let Report::Ready(version) = &report {
            self.greet(&name, version.as_deref(), at)?;
            return Ok(None);
        }
        let Some(worker) = self.workers.get_mut(&name) else { return Ok(None) };
        worker.heard = at;
        match report {
            Report::Heartbeat(percent) => worker.busy = percent / 100.0,
            Report::Spawned(users) if worker.phase == Phase::Works => worker.users = users.user_count as f64,
            Report::Stopped if worker.phase == Phase::Stops => worker.phase = Phase::Stopped,
            Report::Exception(text) => drop(self.exception.get_or_insert(harmless(&text))),
            Report::Quit => return Err(self.lost(&format!("{shown} has quit"))),
            Report::Stats(stats) => {
                match worker.phase {
                    Phase::Works => worker.users = stats.users.user_count as f64,
                    Phase::Stopped => worker.phase = Phase::Settled,
                    _ => {}
                }
                worker.told = true;
                self.check(&shown, &stats.users)?;
                return Ok(Some((name, stats)));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Takes a worker in, if there is still room.
    fn greet(&mut self, name: &str, version: Option<&str>, at: Instant) -> Result<(), LabError> {
        if let Some(version) = version
            && program::numbers(version).0 != 2
        {
            return Err(LabError::Environment(format!(
                "{} is a worker of Locust {}, which speaks another protocol; genkai is a master of Locust 2\n  hint: pip install --upgrade locust",
                harmless(name),
                harmless(version)
            )));
        }
        let known = self.workers.keys().position(|one| one == name);
        if known.is_none() && self.workers.len() >= self.size {
            self.router.tell(name, Order::Quit);
            return Ok(());
        }
        let index = known.unwrap_or(self.workers.len());
        let new = || Worker { heard: at, users: 0.0, busy: 0.0, phase: Phase::Works, told: false };
        self.workers.entry(name.to_owned()).or_insert_with(new).heard = at;
        self.router.tell(name, Order::Known(index));
        Ok(())
    }

    /// Whether a worker has the classes of the file.
    fn check(&self, shown: &str, users: &Users) -> Result<(), LabError> {
        let mut theirs: Vec<&String> = users.user_classes_count.keys().collect();
        let mut ours: Vec<&String> = self.classes.iter().collect();
        theirs.sort();
        ours.sort();
        if theirs == ours {
            return Ok(());
        }
        let list = |all: &[&String]| all.iter().map(|one| harmless(one)).collect::<Vec<_>>().join(", ");
        Err(LabError::Environment(format!(
            "the Locust worker {shown} has the user classes {}, and {} has {}\n  hint: start it with the same file",
            list(&theirs),
            self.file.display(),
            list(&ours)
        )))
    }

    /// Whether a worker has ended, or says nothing.
    fn missed(&mut self) -> Result<(), LabError> {
        let mut all = self.started.iter_mut().map(|one| &mut one.child);
        let ended = all.find_map(|child| child.try_exited().is_some().then(|| child.exited().to_string()));
        if let Some(why) = ended {
            return Err(self.lost(&why));
        }
        let silent = self.workers.iter().find(|(_, worker)| worker.heard.elapsed() > SILENCE);
        match silent {
            Some((name, _)) => {
                let text = format!("{} has said nothing for {} s", harmless(name), SILENCE.as_secs());
                Err(self.lost(&text))
            }
            None => Ok(()),
        }
    }

    fn lost(&self, why: &str) -> LabError {
        LabError::Lost(format!("a Locust worker is lost: {why}\n  hint: what was measured until then is kept"))
    }
}

impl Drop for Team {
    /// Nobody waits for users that nobody counts any more.
    fn drop(&mut self) {
        for name in self.workers.keys() {
            self.router.tell(name, Order::Quit);
        }
    }
}

/// The error of workers that were lost before there was any load.
fn before(e: LabError) -> LabError {
    match e {
        LabError::Lost(text) => {
            let text = text.split("\n  hint: what was measured").next().unwrap_or_default().to_owned();
            LabError::Environment(format!("no load was sent: {text}"))
        }
        other => other,
    }
}

fn authority_file(logs: &Scratch) -> PathBuf {
    logs.path().join("authority.pem")
}

/// Starts worker `n`.
fn start(locust: &Locust, n: u16, port: u16, cpus: Option<&[usize]>, logs: &Scratch) -> Result<Started, LabError> {
    let trust = logs.path().join("genkai_trust.py");
    fs::write(&trust, TRUST).map_err(LabError::folder(&trust))?;
    let mut files = OsString::from(&locust.file);
    files.push(",");
    files.push(&trust);
    let mut command = Command::new(&locust.program);
    if let Some(site) = &locust.site {
        let sites = logs.path().join("genkai_site.py");
        fs::write(&sites, SITES).map_err(LabError::folder(&sites))?;
        files.push(",");
        files.push(&sites);
        command.env(SITE, site);
    }
    command.env(AUTHORITY, authority_file(logs));
    command.arg("-f").arg(files).args(["--worker", "--master-host", "127.0.0.1", "--master-port"]);
    command.arg(port.to_string());
    let child = Child::spawn(
        command,
        Spawn {
            name: format!("Locust worker {n}"),
            cpus: cpus.map(<[usize]>::to_vec),
            log: Some(logs.path().join(format!("locust-{n}.log"))),
            nofile: Some(machine::hard_descriptors()),
            ..Spawn::default()
        },
    )?;
    let tree = Tree::new(child.pid());
    Ok(Started { child, tree })
}
