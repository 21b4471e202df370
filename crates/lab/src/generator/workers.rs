//! Worker processes as genkai sees them: started, told when to begin, listened to, stopped. None outlives the load.

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use genkai_engine::{Books, End, Join, Start, StopFlag, hurried};
use genkai_model::event::Tick;
use genkai_model::load::{Load, Way};
use genkai_model::rooms::Attended;
use genkai_model::units::Span;

use super::clock::{self, Exchange};
use super::listener::FromWorker::{self, Gone, Message};
use super::listener::Listener;
use super::one_worker::{END_WITHIN, Worker};
use super::protocol::{Hello, Order, Report, Request, Word, write};
use super::room::Room;
use super::workplace::Workplaces;
use super::{Generator, LoadEnd, nothing};
use crate::error::LabError;

/// How often the wish to stop is looked at while nothing is said.
pub(super) const POLL: Duration = Duration::from_millis(20);
/// How long workers may take until they are there, and again until their threads are ready.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// From the word to begin to the beginning: long enough for every worker to have heard it, and to sleep until then. So many round trips
/// more, where it has a way to go.
const AHEAD: Duration = Duration::from_millis(100);
const TRIPS_AHEAD: u64 = 10;
/// How long after its planned end, or a wish to stop, a worker may say nothing of its end. Closing handshakes take a minute
/// at most (engine, `thread`).
pub(super) const GRACE: Duration = Duration::from_secs(75);
/// Exchanges of stamps before a load, and after it.
const EXCHANGES: usize = 8;
/// How long an answer to one may take.
pub(super) const ANSWERED_WITHIN: Duration = Duration::from_secs(2);
/// After what silence a worker in a pod is lost.
pub(super) const SILENCE: Duration = Duration::from_secs(2);
/// How often a worker far away hears of us while the load lasts, and after what silence it stops by itself.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(1);
pub(super) const LEASH: Span = Span::from_secs(5);

/// The most by which a clock that is kept moves against another, parts in a million (adjtimex(2): MAXFREQ).
const MOST_DRIFT_PPM: u64 = 500;

pub(super) struct Workers<'a> {
    pub(super) all: Vec<Worker>,
    inbox: Receiver<(usize, FromWorker)>,
    /// What was heard while something else was waited for.
    early: VecDeque<(usize, FromWorker)>,
    end: End,
    /// Members of chat rooms, where the load has such.
    books: Option<Books>,
    failure: Option<LabError>,
    /// When those that are not over are given up.
    pub(super) deadline: Instant,
    stopping: bool,
    places: &'a Workplaces,
}

/// Makes `load` in `many` workers.
pub(super) fn run(
    generator: &Generator<'_>,
    load: &Load,
    many: u16,
    stop: &StopFlag,
    started: impl FnOnce(Instant),
    tick: impl FnMut(Tick),
) -> Result<LoadEnd, LabError> {
    generator.places.check(load)?;
    let ways: Vec<Way> = load.scale.ways().cloned().chain(std::iter::repeat(Way::Here)).take(many.into()).collect();
    let (mut workers, listener) = Workers::new(generator.places);
    workers.books = Books::of(load);
    if workers.start(&ways, listener, stop)?
        && workers.give_parts(generator, load, stop)?
        && workers.set_clocks(stop)?
    {
        let ahead = workers.begin(load)?;
        started(Instant::now() + ahead);
        workers.collect(load, stop, tick);
        workers.set_clocks_again();
    }
    workers.settle(stop);
    let Workers { all, end, failure, .. } = workers;
    let used = if load.scale.is_spread() { all.iter().map(Worker::used).collect() } else { Vec::new() };
    for mut worker in all {
        drop(worker.orders.take());
        worker.process.stop(END_WITHIN);
    }
    Ok(LoadEnd { end, workers: used, failure })
}

/// What the machines of `ways` have for connections to these addresses, by way.
///
/// # Errors
/// When one does not say so. When `stop` is set before all have.
pub(super) fn survey(
    places: &Workplaces,
    ways: &[Way],
    to: &[SocketAddr],
    stop: &StopFlag,
) -> Result<Vec<(Way, Room)>, LabError> {
    let (mut workers, listener) = Workers::new(places);
    if !workers.start(ways, listener, stop)? {
        return Err(LabError::Interrupted);
    }
    for worker in &mut workers.all {
        drop(worker.orders.as_mut().map(|orders| write(orders, &Request::Look(to.to_vec()))));
    }
    let mut waiting: BTreeSet<usize> = (0..ways.len()).collect();
    let mut rooms = Vec::new();
    while !waiting.is_empty() {
        match workers.hear(POLL) {
            _ if stop.is_stopped() => return Err(LabError::Interrupted),
            Some((n, Message(Report::Room(room), _))) if waiting.remove(&n) => rooms.push((ways[n].clone(), *room)),
            Some((n, Gone(why))) => return Err(workers.absent(n, why)),
            Some(_) => {}
            None if Instant::now() < workers.deadline => {}
            None => return Err(workers.late(&waiting)),
        }
    }
    Ok(rooms)
}

impl<'a> Workers<'a> {
    /// None yet.
    pub(super) fn new(places: &'a Workplaces) -> (Workers<'a>, Listener) {
        let (listener, inbox) = mpsc::channel();
        let (all, early) = (Vec::new(), VecDeque::new());
        let deadline = Instant::now() + READY_WITHIN;
        (
            Workers {
                all,
                inbox,
                early,
                end: nothing(),
                books: None,
                failure: None,
                deadline,
                stopping: false,
                places,
            },
            listener,
        )
    }

    /// Starts a worker for each of the ways and waits until all are there; false when the user wants to stop before. Those of one machine are
    /// started one after the other: an ssh server turns away many that log in at once (MaxStartups in sshd_config(5)).
    pub(super) fn start(&mut self, ways: &[Way], listener: Listener, stop: &StopFlag) -> Result<bool, LabError> {
        let mut coming = BTreeSet::new();
        for (n, way) in ways.iter().enumerate() {
            let same = |&other: &usize| ways[other] == *way;
            if *way != Way::Here && coming.iter().any(same) && !self.greet(&mut coming, stop)? {
                return Ok(false);
            }
            let (process, orders) = self.places.start(n, way, &listener)?;
            let (way, orders) = (way.clone(), Some(orders));
            let heard = Instant::now();
            self.all.push(Worker { way, process, orders, heard, clock: None, ended: None, over: false });
            coming.insert(n);
        }
        self.greet(&mut coming, stop)
    }

    /// Waits until all of these have said who they are; false when the user wants to stop before.
    fn greet(&mut self, coming: &mut BTreeSet<usize>, stop: &StopFlag) -> Result<bool, LabError> {
        while !coming.is_empty() {
            if self.is_to_stop(stop) {
                return Ok(false);
            }
            match self.hear(POLL) {
                Some((n, Message(Report::Hello(hello), _))) => {
                    let ours = Hello::ours();
                    if hello != ours {
                        let place = self.all[n].way.name();
                        return Err(LabError::Environment(format!(
                            "no load was sent: {place}: the genkai there is {} ({}), this one is {} ({})\n  hint: put the same one there",
                            hello.version, hello.layout, ours.version, ours.layout
                        )));
                    }
                    coming.remove(&n);
                }
                Some((n, Gone(why))) => return Err(self.absent(n, why)),
                Some(_) => {}
                None if Instant::now() < self.deadline => {}
                None => return Err(self.late(coming)),
            }
        }
        Ok(true)
    }

    /// Whether the user wants to stop before there is any load.
    fn is_to_stop(&mut self, stop: &StopFlag) -> bool {
        self.end.stopped |= stop.is_stopped();
        self.end.stopped
    }

    /// Gives each its part of a load; whether all are ready then: false when the user wants to stop before.
    fn give_parts(&mut self, generator: &Generator<'_>, load: &Load, stop: &StopFlag) -> Result<bool, LabError> {
        let of = u16::try_from(self.all.len()).unwrap_or(u16::MAX);
        self.order(stop, |process, here| {
            let cpus = if here { rotated(generator.cpus, process) } else { None };
            let order = Order { load: load.clone(), process, of, cpus, leash: (!here).then_some(LEASH) };
            Request::Order(Box::new(order))
        })
    }

    /// Gives each the order for its number, here or elsewhere; whether all are ready then: false when the user wants to stop before.
    pub(super) fn order(&mut self, stop: &StopFlag, order: impl Fn(u16, bool) -> Request) -> Result<bool, LabError> {
        for (process, worker) in (0u16..).zip(&mut self.all) {
            let order = order(process, worker.way == Way::Here);
            // Should it have died already, that is heard.
            drop(worker.orders.as_mut().map(|to| write(to, &order)));
        }
        self.deadline = Instant::now() + READY_WITHIN;
        let mut waiting: BTreeSet<usize> = (0..self.all.len()).collect();
        while !waiting.is_empty() {
            if self.is_to_stop(stop) {
                return Ok(false);
            }
            match self.hear(POLL) {
                Some((n, Message(Report::Ready, _))) => drop(waiting.remove(&n)),
                Some((_, Message(Report::Failed { usage: true, message }, _))) => {
                    return Err(LabError::Plan(message));
                }
                Some((n, Message(Report::Failed { usage: false, message }, _))) => {
                    return Err(LabError::Environment(self.all[n].named(message)));
                }
                Some((n, Gone(why))) => return Err(self.absent(n, why)),
                Some(_) => {}
                None if Instant::now() < self.deadline => {}
                None => return Err(self.late(&waiting)),
            }
        }
        Ok(true)
    }

    /// The error for workers that did not come in time.
    pub(super) fn late(&self, who: &BTreeSet<usize>) -> LabError {
        let places: BTreeSet<&str> = who.iter().map(|&n| self.all[n].way.name()).collect();
        let places: Vec<&str> = places.into_iter().collect();
        LabError::Environment(format!(
            "no load was sent: {} of {} worker processes were not ready within {} s ({})\n  hint: the machine may be too busy; try fewer \
             processes",
            who.len(),
            self.all.len(),
            READY_WITHIN.as_secs(),
            places.join(", ")
        ))
    }

    /// Asks other machines what their clocks show; false when the user wants to stop.
    pub(super) fn set_clocks(&mut self, stop: &StopFlag) -> Result<bool, LabError> {
        for n in 0..self.all.len() {
            if self.is_to_stop(stop) {
                return Ok(false);
            }
            if self.all[n].way == Way::Here {
                continue;
            }
            let exchanges = self.exchanges(n);
            match clock::read(&exchanges) {
                Some(clock) => self.all[n].clock = Some(clock),
                None => return Err(self.absent(n, Some("it did not say what its clock shows".to_owned()))),
            }
        }
        Ok(true)
    }

    /// Asks again after the load, where somebody still answers.
    fn set_clocks_again(&mut self) {
        for n in 0..self.all.len() {
            let worker = &self.all[n];
            if let Some(before) = worker.clock.filter(|_| worker.ended.is_some()) {
                let exchanges = self.exchanges(n);
                self.all[n].clock = Some(clock::again(before, &exchanges));
            }
        }
    }

    /// Exchanges of stamps with one worker, as many as it answers.
    fn exchanges(&mut self, n: usize) -> Vec<Exchange> {
        (0..EXCHANGES).map_while(|_| self.exchange(n)).collect()
    }

    fn exchange(&mut self, n: usize) -> Option<Exchange> {
        let asked = Start::now().0;
        write(self.all[n].orders.as_mut()?, &Word::Clock(asked)).ok()?;
        let deadline = Instant::now() + ANSWERED_WITHIN;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(left).ok()? {
                (from, Message(Report::Clock(stamps), heard)) if from == n && stamps.asked == asked => {
                    return Some(Exchange::new(stamps, heard));
                }
                (from, Gone(why)) if from == n => {
                    self.early.push_back((from, Gone(why)));
                    return None;
                }
                other => self.early.push_back(other),
            }
        }
    }

    /// The next that was heard, if anything is within `patience`.
    pub(super) fn hear(&mut self, patience: Duration) -> Option<(usize, FromWorker)> {
        self.early.pop_front().or_else(|| self.inbox.recv_timeout(patience).ok())
    }

    /// Tells all to begin, at one instant: so long ahead.
    fn begin(&mut self, load: &Load) -> Result<Duration, LabError> {
        let worst = self.all.iter().filter_map(|one| one.clock).map(|clock| clock.uncertainty_ns).max().unwrap_or(0);
        let ahead = AHEAD + Duration::from_nanos(2 * worst * TRIPS_AHEAD);
        let start = Start::now().after(ahead);
        for n in 0..self.all.len() {
            let worker = &mut self.all[n];
            worker.heard = Instant::now() + ahead;
            let Start(theirs) = start.on(worker.clock.map_or(0, |clock| clock.offset_ns));
            if let Some(Err(e)) = worker.orders.as_mut().map(|to| write(to, &Word::Start(theirs))) {
                return Err(self.absent(n, Some(e.to_string())));
            }
        }
        let planned = Instant::now().checked_add(ahead + load.stop.after.duration() + GRACE);
        self.deadline = planned.unwrap_or_else(|| Instant::now() + Duration::from_secs(u64::from(u32::MAX)));
        Ok(ahead)
    }

    /// Joins what workers say until every part is over.
    fn collect(&mut self, load: &Load, stop: &StopFlag, mut tick: impl FnMut(Tick)) {
        let mut join = Join::new(load, self.all.len());
        let mut beat = Instant::now() + HEARTBEAT;
        while !join.is_done() {
            if stop.is_stopped() || self.failure.is_some() {
                self.stop();
            }
            if Instant::now() >= beat {
                beat = Instant::now() + HEARTBEAT;
                self.beat();
            }
            match self.early.pop_front().map_or_else(|| self.inbox.recv_timeout(POLL), Ok) {
                Ok((n, received)) => self.take(n, received, &mut join),
                Err(RecvTimeoutError::Timeout) if Instant::now() < self.deadline => self.miss(&mut join),
                Err(_) => self.give_up(&mut join),
            }
            for merged in join.by_ref() {
                let most = merged.most.unwrap_or(merged.connections);
                self.end.client.connections = self.end.client.connections.max(most);
                self.end.lasted = self.end.lasted.max(Span(merged.to_us * 1_000));
                tick(merged);
            }
        }
    }

    /// Gives up those in pods that have not been heard for too long: they say an interval often, and their clock whenever they hear of us.
    /// (Of a connection that is cut without a word, ssh knows by itself.)
    fn miss(&mut self, join: &mut Join) {
        for n in 0..self.all.len() {
            let worker = &self.all[n];
            if matches!(worker.way, Way::Pod { .. }) && !worker.over && worker.heard.elapsed() > SILENCE {
                let why = format!("nothing was heard of it for {SILENCE:?}");
                self.take(n, Gone(Some(why)), join);
            }
        }
    }

    /// Lets those far away know that we are there.
    pub(super) fn beat(&mut self) {
        for worker in self.all.iter_mut().filter(|worker| worker.clock.is_some() && !worker.over) {
            // Should the way be cut, that is heard.
            drop(worker.orders.as_mut().map(|to| write(to, &Word::Clock(Start::now().0))));
        }
    }

    fn take(&mut self, n: usize, received: FromWorker, join: &mut Join) {
        self.all[n].heard = Instant::now();
        if self.all[n].over {
            return;
        }
        let lost = match received {
            Message(Report::Tick(one), _) => match join.push(n, &one) {
                Ok(()) => return,
                Err(e) => Some(self.died(n, Some(e.to_string()))),
            },
            Message(Report::Hello(_) | Report::Room(_) | Report::Ready | Report::Clock(_) | Report::Did(_), _) => {
                return;
            }
            Message(Report::Member(one), _) => match self.enter(n, *one) {
                Ok(()) => return,
                Err(why) => Some(self.died(n, Some(why))),
            },
            Message(Report::Ended(ended), _) => {
                ended.add_to(&mut self.end);
                self.all[n].ended = Some(ended.own);
                None
            }
            Message(Report::Failed { message, .. }, _) => Some(self.died(n, Some(message))),
            Gone(why) => Some(self.died(n, why)),
        };
        self.all[n].over = true;
        join.end(n);
        if self.failure.is_none() {
            self.failure = lost;
        }
    }

    /// Takes what worker `n` tells of a member of chat rooms.
    fn enter(&mut self, n: usize, one: Attended) -> Result<(), String> {
        let process = u16::try_from(n).unwrap_or(u16::MAX);
        self.books.as_mut().map_or_else(
            || Err("it told of members, and the load has none".to_owned()),
            |books| books.take(process, one),
        )
    }

    /// What became of the messages of chat rooms: not known where a worker was lost, with what its members received.
    fn settle(&mut self, stop: &StopFlag) {
        // How far a clock moved is not known of who did not answer at the end (nobody is asked where the load was stopped).
        let unknown = self.end.lasted.0 / 1_000_000 * MOST_DRIFT_PPM;
        let within = |worker: &Worker| {
            worker.clock.map_or(0, |clock| clock.uncertainty_ns + clock.drift_ns.map_or(unknown, i64::unsigned_abs))
        };
        let within: Vec<u64> = self.all.iter().map(within).collect();
        let books = self.books.take().filter(|_| self.failure.is_none());
        self.end.rooms = books.map(|books| Box::new(books.settle(&within, stop.is_stopped(), hurried(stop))));
    }

    /// Has all end their parts.
    fn stop(&mut self) {
        if std::mem::replace(&mut self.stopping, true) {
            return;
        }
        for worker in &mut self.all {
            drop(worker.orders.take());
        }
        self.deadline = self.deadline.min(Instant::now() + GRACE);
    }

    /// Nobody waits for those that are not over any more.
    fn give_up(&mut self, join: &mut Join) {
        for n in 0..self.all.len() {
            if !self.all[n].over {
                self.take(n, Gone(Some("it did not say how its part ended".to_owned())), join);
            }
        }
    }

    /// The error for a worker that is gone while the load lasts, or no use any more.
    pub(super) fn died(&mut self, n: usize, why: Option<String>) -> LabError {
        let lost = self.lost(n, why);
        LabError::Lost(format!(
            "{lost}\n  hint: what was measured up to then is kept; a worker that was killed may have had too little memory"
        ))
    }

    /// The error for one that is gone before the load.
    pub(super) fn absent(&mut self, n: usize, why: Option<String>) -> LabError {
        if let Some(why) = self.all[n].refused() {
            return LabError::Environment(format!("no load was sent: {why}"));
        }
        let hint = match (&self.all[n].way, &why) {
            (Way::Pod { .. }, Some(why)) => genkai_kubernetes::advice(why),
            _ => "look whether the machine has memory and processes to spare",
        };
        LabError::Environment(format!("no load was sent: {}\n  hint: {hint}", self.lost(n, why)))
    }

    /// Who was lost, and how.
    fn lost(&mut self, n: usize, why: Option<String>) -> String {
        let all = self.all.len();
        let worker = &mut self.all[n];
        let process = &mut worker.process;
        // Its output has ended: so will it, in a moment.
        let deadline = Instant::now() + END_WITHIN;
        while process.try_exited().is_none() && why.is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let status = process.try_exited();
        let why: Vec<String> = why.into_iter().chain(status).collect();
        let words = process.last_words();
        let words = if words.is_empty() { words } else { format!("; its last words:\n{words}") };
        let place = if worker.way == Way::Here { String::new() } else { format!(" on {}", worker.way.name()) };
        let told = |node: &&str| !why.iter().any(|why| why.contains(&format!("(node {node})")));
        let node = process.node().filter(told).map(|node| format!(" (node {node})")).unwrap_or_default();
        format!("worker process {} of {all}{place}{node} was lost ({}){words}", n + 1, why.join(", "))
    }
}

/// Cores in turn, each process beginning with the next one.
pub(super) fn rotated(cpus: Option<&[usize]>, process: u16) -> Option<Vec<usize>> {
    let mut cpus = cpus?.to_vec();
    let by = usize::from(process) % cpus.len().max(1);
    cpus.rotate_left(by);
    Some(cpus)
}
