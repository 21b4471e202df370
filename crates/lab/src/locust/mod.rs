//! genkai as a worker of a Locust master: the master says when a test begins and ends and how many users of each class there are, its
//! classes are the flows of a scenario, and genkai makes them. What was measured is recorded like any load; the master is told what
//! it can add to its own statistics.

mod link;
mod statistics;

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use genkai_engine::{LiveUsers, StopFlag, run_following};
use genkai_model::event::{Tick, TrialStarted, What};
use genkai_model::load::{Arrivals, Load};
use genkai_model::scenario::Scenario;

use crate::error::LabError;
use crate::folder::Folder;
use crate::generator::{LoadEnd, LoadEvent, into, received};
use crate::job::{Job, Outcome};
use crate::locust_wire::message::{MasterMessage, Spawn, WorkerMessage};
use crate::locust_wire::state::State;
use crate::locust_wire::users::Users;
use crate::recorder::{Recorder, Watcher};
use crate::{headroom, measure, reach, redact, system};
use link::{Event, Link};
use statistics::Sums;

/// Longest wait for anything before the interrupt is looked at again.
const POLL: Duration = Duration::from_millis(20);
/// A master that does not know a worker by then is asked again (`CONNECT_TIMEOUT`).
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// How often it is asked.
const TIMES: u32 = 6;
/// Between two reports of what users did (`WORKER_REPORT_INTERVAL`).
const REPORT: Duration = Duration::from_secs(3);

/// A worker of a Locust master.
pub struct Worker<'a> {
    link: Link,
    master: String,
    classes: Vec<String>,
    interrupt: &'a StopFlag,
    /// When the master last said how many users there are, by its clock.
    said: f64,
    /// Whether the master has told it to go.
    dismissed: bool,
}

/// A test that the master begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Users of each flow, in the scenario's order.
    users: Vec<u32>,
    /// As the master named them.
    classes: BTreeMap<String, u32>,
}

impl Test {
    /// Users of all flows.
    pub fn total(&self) -> u32 {
        self.users.iter().fold(0, |all, users| all.saturating_add(*users))
    }
}

impl<'a> Worker<'a> {
    /// Joins the master at `HOST:PORT` with the flows of `scenario`; none when the user wants to stop.
    ///
    /// # Errors
    /// When there is no master, or it does not take the worker.
    pub fn join(master: &str, scenario: &Scenario, interrupt: &'a StopFlag) -> Result<Option<Worker<'a>>, LabError> {
        let classes: Vec<String> = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        let link = Link::open(master, &name())?;
        let worker = Worker { link, master: master.to_owned(), classes, interrupt, said: 0.0, dismissed: false };
        for _ in 0..TIMES {
            worker.link.tell(WorkerMessage::Ready);
            let until = Instant::now() + ASK_AGAIN;
            while Instant::now() < until {
                if interrupt.is_stopped() {
                    return Ok(None);
                }
                match worker.link.next(POLL) {
                    Some(Event::Message(MasterMessage::Known)) => return Ok(Some(worker)),
                    Some(Event::Message(MasterMessage::Quit)) => {
                        return Err(LabError::Environment(format!(
                            "no load was sent: the Locust master at {master} sends this worker away, as it does with workers of another \
                             protocol\n  hint: it must be Locust 2 (locust --version)"
                        )));
                    }
                    Some(Event::Lost(why)) => {
                        return Err(LabError::Environment(format!(
                            "no load was sent: the Locust master at {master} is gone: {why}"
                        )));
                    }
                    _ => {}
                }
            }
        }
        Err(LabError::Environment(format!(
            "{master} takes connections, but does not take this worker: no answer to {TIMES} greetings\n  hint: is it a Locust master (locust --master), of version 2?"
        )))
    }

    /// The next test; none when the master lets the worker go, or the user wants to stop.
    ///
    /// # Errors
    /// When the master is gone, or asks for users that the scenario has not.
    pub fn wait(&mut self) -> Result<Option<Test>, LabError> {
        while !self.dismissed && !self.interrupt.is_stopped() {
            match self.link.next(POLL) {
                Some(Event::Message(MasterMessage::Spawn(spawn))) => {
                    if let Some(test) = self.wanted(&spawn)?
                        && test.total() > 0
                    {
                        return Ok(Some(test));
                    }
                }
                Some(Event::Message(MasterMessage::Quit)) => self.dismissed = true,
                Some(Event::Message(MasterMessage::Stop)) => self.rest(),
                Some(Event::Lost(why)) => return Err(self.lost(&why)),
                _ => {}
            }
        }
        self.link.tell(WorkerMessage::Quit);
        Ok(None)
    }

    /// What a master wants; none where that is out of date.
    fn wanted(&mut self, spawn: &Spawn) -> Result<Option<Test>, LabError> {
        self.link.tell(WorkerMessage::Spawning);
        if spawn.timestamp <= self.said {
            return Ok(None);
        }
        self.said = spawn.timestamp;
        let unknown = |name: &&String| !self.classes.contains(name);
        let counted = spawn.user_classes_count.iter().filter(|(_, users)| **users > 0).map(|(name, _)| name);
        if let Some(name) = counted.into_iter().find(unknown) {
            let why = format!(
                "the Locust master asks for users of `{name}`, which the scenario has not\n  hint: its flows must be named like the master's user classes; they are: {}",
                self.classes.join(", ")
            );
            self.link.tell(WorkerMessage::Exception(why.clone()));
            self.link.tell(WorkerMessage::Quit);
            return Err(LabError::Plan(why));
        }
        let users = self.classes.iter().map(|name| spawn.user_classes_count.get(name).copied().unwrap_or(0));
        Ok(Some(Test { users: users.collect(), classes: spawn.user_classes_count.clone() }))
    }

    /// Makes a test until the master ends it, or the user does; `job` has its plan.
    ///
    /// # Errors
    /// When it could not begin, or the record cannot be written. What goes wrong later is in [`Outcome::failure`].
    pub fn make(&mut self, test: &Test, job: &Job<'_>, watcher: &mut Watcher<'_>) -> Result<Outcome, LabError> {
        let folder = job.out.as_deref().map(|out| Folder::open(out, job.keep)).transpose()?;
        let environment = system::environment(&job.pin, None);
        let room = headroom::look(&job.plan.load.addresses, &environment);
        let load = headroom::fit(&job.plan.load, &room)?;
        headroom::raise_descriptors();
        reach::reach(&load)?;
        reach::offered(&load, reach::SWITCH_ON)?;
        let mut recorder = measure::open(job, folder.as_ref(), environment, watcher)?;
        let live = LiveUsers::starting(test.users.clone());
        let fits = |users: u32| headroom::fit(&sized(&load, users), &room).map(drop);
        let made = self.follow(test, (&load, &live), &fits, &mut recorder)?;
        let failure = measure::close(job, made, &mut recorder)?;
        Ok(Outcome { record: recorder.into_record(), written: Vec::new(), failure })
    }

    /// Makes the load and does as the master says meanwhile.
    fn follow(
        &mut self,
        test: &Test,
        (load, live): (&Load, &LiveUsers),
        fits: &dyn Fn(u32) -> Result<(), LabError>,
        recorder: &mut Recorder<'_>,
    ) -> Result<LoadEnd, LabError> {
        let stop = StopFlag::new();
        let (sender, receiver) = mpsc::channel::<LoadEvent>();
        let made = thread::scope(|scope| {
            let stopped = stop.clone();
            scope.spawn(move || {
                let tell = into(sender);
                let started = |at| tell(LoadEvent::Started(at));
                let tick = |tick| tell(LoadEvent::Tick(Box::new(tick)));
                let end = run_following(load, live, &stopped, started, tick);
                let end = end.map(|end| LoadEnd { end, workers: Vec::new(), failure: None });
                tell(LoadEvent::Ended(Box::new(end.map_err(LabError::from))));
            });
            let mut going = Going::new(test, load, live, &stop);
            let ended = self.watch(&mut going, fits, &receiver, recorder);
            // Whatever went wrong: the load must not go on.
            stop.stop();
            ended
        });
        if !self.dismissed {
            self.rest();
        }
        made
    }

    fn watch(
        &mut self,
        going: &mut Going<'_>,
        fits: &dyn Fn(u32) -> Result<(), LabError>,
        receiver: &Receiver<LoadEvent>,
        recorder: &mut Recorder<'_>,
    ) -> Result<LoadEnd, LabError> {
        self.link.be(State::Running);
        self.link.tell(WorkerMessage::Spawned(Users::of(&going.classes)));
        let mut failure = None;
        loop {
            if self.interrupt.is_stopped() {
                going.stop.stop();
            }
            match self.link.next(Duration::ZERO) {
                Some(Event::Message(MasterMessage::Spawn(spawn))) => {
                    if let Err(e) = self.other(going, &spawn, fits) {
                        going.stop.stop();
                        failure = Some(e);
                    }
                }
                Some(Event::Message(MasterMessage::Stop)) => going.stop.stop(),
                Some(Event::Message(MasterMessage::Quit)) => {
                    self.dismissed = true;
                    going.stop.stop();
                }
                Some(Event::Lost(why)) if failure.is_none() => {
                    going.stop.stop();
                    failure = Some(self.lost(&why));
                }
                _ => {}
            }
            match received(receiver, POLL)? {
                Some(LoadEvent::Started(at)) => {
                    let started = TrialStarted::measure(redact::load(going.load));
                    recorder.at(at, Some(1), What::TrialStarted(Box::new(started)))?;
                }
                Some(LoadEvent::Tick(tick)) => {
                    self.link.busy(going.add(&tick));
                    recorder.now(Some(1), What::Tick(tick))?;
                }
                Some(LoadEvent::Ended(made)) => {
                    self.link.be(State::Cleanup);
                    self.link.tell(going.report());
                    return made.map(|made| LoadEnd { failure: failure.or(made.failure), ..made });
                }
                None => {}
            }
            if going.is_due() {
                self.link.tell(going.report());
            }
        }
    }

    /// Other numbers of users.
    fn other(
        &mut self,
        going: &mut Going<'_>,
        spawn: &Spawn,
        fits: &dyn Fn(u32) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let Some(test) = self.wanted(spawn)? else { return Ok(()) };
        if let Err(e) = fits(test.total()) {
            self.link.tell(WorkerMessage::Exception(e.to_string()));
            return Err(e);
        }
        going.live.ask(test.users);
        going.classes = test.classes;
        self.link.tell(WorkerMessage::Spawned(Users::of(&going.classes)));
        Ok(())
    }

    /// No users any more: ready for another test.
    fn rest(&self) {
        self.link.tell(WorkerMessage::Stopped);
        self.link.be(State::Ready);
        self.link.tell(WorkerMessage::Ready);
    }

    fn lost(&self, why: &str) -> LabError {
        let master = &self.master;
        LabError::Lost(format!(
            "the Locust master at {master} is lost: {why}\n  hint: what was measured until then is kept"
        ))
    }
}

/// A test that goes on.
struct Going<'a> {
    load: &'a Load,
    live: &'a LiveUsers,
    stop: &'a StopFlag,
    classes: BTreeMap<String, u32>,
    sums: Sums,
    reported: Instant,
}

impl<'a> Going<'a> {
    fn new(test: &Test, load: &'a Load, live: &'a LiveUsers, stop: &'a StopFlag) -> Going<'a> {
        let sums = Sums::new(load.scenario.as_deref(), now());
        Going { load, live, stop, classes: test.classes.clone(), sums, reported: Instant::now() }
    }

    /// Takes an interval; how busy the busiest thread was in it, of 1.
    fn add(&mut self, tick: &Tick) -> f64 {
        self.sums.add(tick, now());
        tick.cpu_max_us as f64 / tick.to_us.saturating_sub(tick.from_us).max(1) as f64
    }

    fn is_due(&self) -> bool {
        self.reported.elapsed() >= REPORT
    }

    fn report(&mut self) -> WorkerMessage {
        self.reported = Instant::now();
        WorkerMessage::Stats(Box::new(self.sums.take(Users::of(&self.classes), now())))
    }
}

/// The load with so many users.
fn sized(load: &Load, users: u32) -> Load {
    let mut load = load.clone();
    if let Arrivals::Users { count, .. } = &mut load.arrivals {
        *count = users.max(1);
    }
    load
}

/// Seconds of the epoch.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// A name like no other worker's: `HOST_NUMBER`, as Locust's are.
fn name() -> String {
    let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_default();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{host}_{since:x}{:x}", std::process::id())
}
