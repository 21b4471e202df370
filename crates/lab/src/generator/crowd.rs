//! Clients of servers that are compared by latency, in several processes: they do one thing together, and their delays are told by the server's
//! clock, which is this machine's.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use genkai_engine::broadcast::{Answer, ClientOptions};
use genkai_engine::{Start, StopFlag};
use genkai_model::event::WorkerClock;
use genkai_model::histogram::empty;
use genkai_model::latencies::steps::{ServerClock, Step, StepEnd};
use genkai_model::latencies::{Case, RoundClock, RoundWorker};
use genkai_model::load::{Scale, Way};
use genkai_model::units::Span;
use genkai_model::websocket::Messages;

use super::clock::{self, Exchange};
use super::listener::FromWorker;
use super::one_worker::END_WITHIN;
use super::protocol::{ClientsOrder, Did, Report, Request, Task, Word, write};
use super::workers::{ANSWERED_WITHIN, GRACE, HEARTBEAT, LEASH, POLL, SILENCE, Workers, rotated};
use super::workplace::Workplaces;
use crate::error::LabError;

/// Exchanges of stamps between two rounds; all machines are asked at once.
const EXCHANGES: usize = 6;
/// From the word to send to the sending. Twice what a clock is uncertain comes on top, so many times.
const AHEAD: Duration = Duration::from_millis(20);
const TRIPS_AHEAD: u64 = 4;
/// More than a clock that is kept moves in a round: what is told beyond that is nonsense.
const SLACK_NS: u64 = 10_000_000;

/// What came of asking a server.
pub(crate) struct Asked {
    pub(crate) answer: Answer,
    pub(crate) workers: Vec<RoundWorker>,
}

/// Clients in several processes. Dropping it ends them.
pub(crate) struct Crowd<'a> {
    workers: Workers<'a>,
    /// Clients of each process, of each server.
    clients: Vec<u32>,
    patience: Duration,
    servers: usize,
    beat: Instant,
}

impl Drop for Crowd<'_> {
    fn drop(&mut self) {
        for worker in &mut self.workers.all {
            drop(worker.orders.take());
        }
        for worker in &mut self.workers.all {
            worker.process.stop(END_WITHIN);
        }
    }
}

/// How many of `clients` each of so many processes has.
fn shares(clients: u32, processes: u16) -> Vec<u32> {
    let of = u32::from(processes.max(1));
    (0..of).map(|n| clients / of + u32::from(n < clients % of)).collect()
}

/// The most clients that one of so many processes has.
pub(crate) fn largest_share(clients: u32, processes: u16) -> u32 {
    clients.div_ceil(u32::from(processes.max(1)))
}

impl Workplaces {
    /// Whether each of the other machines can have its clients: `fits` says so of the way to it, of how many descriptors a process may have there, and
    /// of its local ports.
    ///
    /// # Errors
    /// When one cannot.
    pub(crate) fn have_clients(
        &self,
        fits: impl Fn((&Way, u64, (u16, u16))) -> Result<(), String>,
    ) -> Result<(), LabError> {
        for (way, room) in &self.rooms {
            let fit = fits((way, room.machine.descriptors_hard, room.machine.ports));
            fit.map_err(|why| LabError::Environment(format!("no load was sent: {}: {why}", way.name())))?;
        }
        Ok(())
    }
}

impl<'a> Crowd<'a> {
    /// The processes that `scale` tells of, ready to connect; none when the user wants to stop before.
    ///
    /// # Errors
    /// When one does not come, with its reason.
    pub(crate) fn open(
        places: &'a Workplaces,
        scale: &Scale,
        cpus: Option<&[usize]>,
        (clients, patience): (u32, Duration),
        stop: &StopFlag,
    ) -> Result<Option<Crowd<'a>>, LabError> {
        let ways: Vec<Way> =
            scale.ways().cloned().chain(std::iter::repeat(Way::Here)).take(scale.processes.into()).collect();
        let (workers, listener) = Workers::new(places);
        let clients = shares(clients, scale.processes);
        let mut crowd = Crowd { workers, clients, patience, servers: 0, beat: Instant::now() };
        if !crowd.workers.start(&ways, listener, stop)? {
            return Ok(None);
        }
        let ready = crowd.workers.order(stop, |n, here| {
            let cpu = if here { rotated(cpus, n).and_then(|cpus| cpus.first().copied()) } else { None };
            Request::Clients(ClientsOrder { cpu, leash: (!here).then_some(LEASH) })
        })?;
        if !ready || !crowd.workers.set_clocks(stop)? {
            return Ok(None);
        }
        Ok(Some(crowd))
    }

    /// Connects clients to the next server.
    ///
    /// # Errors
    /// When they cannot connect, or a process is lost.
    pub(crate) fn gather(&mut self, address: SocketAddr, options: ClientOptions) -> Result<(), LabError> {
        let ClientOptions { socketio, compression } = options;
        let patience = Span(u64::try_from(self.patience.as_nanos()).unwrap_or(u64::MAX));
        let connect = |clients: u32| Task::Connect { address, socketio, compression, clients, patience };
        let tasks = self.clients.iter().map(|clients| connect(*clients)).enumerate().collect();
        self.servers += 1;
        // All connections of a process may wait for their turn.
        let within = self.patience * (self.clients.iter().max().copied().unwrap_or(0) / 16 + 2);
        self.have(tasks, within)?.map_err(LabError::Environment)?;
        self.set_clocks()
    }

    /// Asks a server, in the order in which they were connected to: `bytes` are those of small messages. An error within is the server's: it
    /// does not do its part.
    ///
    /// # Errors
    /// When a process is lost, or the server does not speak the protocol.
    pub(crate) fn ask(&mut self, server: usize, case: Case, bytes: u64) -> Result<Result<Asked, String>, LabError> {
        let before: Vec<Option<WorkerClock>> = self.workers.all.iter().map(|one| one.clock).collect();
        let since = u64::try_from(Start::now().0).unwrap_or(0);
        let prepared = match self.steps(server, |_| Step::Prepare, &before)? {
            Ok(prepared) => prepared,
            Err(why) => return Ok(Err(why)),
        };
        let began = Instant::now();
        let ended = match case {
            Case::Receive => {
                let step = |n| if n == 0 { Step::Broadcast { bytes } } else { Step::Receive { since } };
                self.steps(server, step, &before)?.map(received)
            }
            Case::Send => self.send(server, bytes, &before)?,
            Case::Give { .. } | Case::Take { .. } => {
                let task = [(0, self.task(server, Step::Large(case), 0, &before))];
                self.have(task.into(), self.patience)?.map(received)
            }
        };
        let ended = match ended {
            Ok(ended) => ended,
            Err(why) => return Ok(Err(why)),
        };
        let lasted = began.elapsed();
        self.set_clocks()?;
        let workers = self.round_workers(&before, &ended.works);
        let busy = workers.iter().map(|one| one.busy).fold(0.0, f64::max);
        let Together { figure, delays, due, missing, closes, heap, .. } = ended;
        let reopened = codes(prepared.iter().flat_map(|(_, end)| &end.closes));
        let answer = Answer { figure, delays, due, missing, closes, reopened, lasted, busy, heap };
        Ok(Ok(Asked { answer, workers }))
    }

    /// All send at one instant, and the server counts.
    fn send(
        &mut self,
        server: usize,
        bytes: u64,
        clocks: &[Option<WorkerClock>],
    ) -> Result<Result<Together, String>, LabError> {
        let clear = [(0, self.task(server, Step::Clear, 0, clocks))];
        if let Err(why) = self.have(clear.into(), self.patience)? {
            return Ok(Err(why));
        }
        let worst = clocks.iter().flatten().map(|clock| clock.uncertainty_ns).max().unwrap_or(0);
        let start = Start::now().after(AHEAD + Duration::from_nanos(2 * worst * TRIPS_AHEAD));
        let at = |n: usize| u64::try_from(start.on(clocks[n].map_or(0, |clock| clock.offset_ns)).0).unwrap_or(0);
        let sent = match self.steps(server, |n| Step::Send { bytes, at: at(n) }, clocks)? {
            Ok(sent) => sent,
            Err(why) => return Ok(Err(why)),
        };
        let due: u64 = self.clients.iter().map(|n| u64::from(*n)).sum();
        let count = [(0, self.task(server, Step::Count { due }, 0, clocks))];
        let counted = match self.have(count.into(), self.patience * 2)? {
            Ok(counted) => counted,
            Err(why) => return Ok(Err(why)),
        };
        // Instants were told earlier by what a clock may be wrong.
        let each = self.clients.iter().zip(clocks);
        let early: u128 = each.map(|(n, clock)| u128::from(*n) * u128::from(known(*clock).within_ns)).sum();
        let mut all =
            received(sent.into_iter().map(|(n, end)| (n, StepEnd { due: 0, ..end })).chain(counted).collect());
        let sum = u128::from(all.sum).saturating_sub(early) / u128::from(due.max(1));
        all.figure = (all.missing == 0).then(|| u64::try_from(sum).unwrap_or(u64::MAX).max(1));
        Ok(Ok(all))
    }

    fn task(&self, server: usize, step: Step, n: usize, clocks: &[Option<WorkerClock>]) -> Task {
        Task::Step { server, step, clock: known(clocks[n]) }
    }

    /// Has every process take a step, the first one last.
    fn steps(
        &mut self,
        server: usize,
        step: impl Fn(usize) -> Step,
        clocks: &[Option<WorkerClock>],
    ) -> Result<Result<Vec<(usize, StepEnd)>, String>, LabError> {
        let tasks = (0..self.clients.len()).rev().map(|n| (n, self.task(server, step(n), n, clocks))).collect();
        self.have(tasks, self.patience)
    }

    /// Has processes do these tasks, each within its patience and some more; what came of them, in the order of the processes.
    fn have(
        &mut self,
        tasks: Vec<(usize, Task)>,
        within: Duration,
    ) -> Result<Result<Vec<(usize, StepEnd)>, String>, LabError> {
        let mut ends: BTreeMap<usize, StepEnd> = BTreeMap::new();
        let deadline = Instant::now() + within + GRACE;
        let asked: BTreeSet<usize> = tasks.iter().map(|(n, _)| *n).collect();
        let mut gone: BTreeMap<usize, String> = BTreeMap::new();
        // Whatever was done before, nobody was asked for anything meanwhile.
        self.workers.all.iter_mut().for_each(|worker| worker.heard = Instant::now());
        for (n, task) in tasks {
            // Should it be gone, that is heard.
            drop(self.workers.all[n].orders.as_mut().map(|to| write(to, &Word::Do(task))));
        }
        while let Some(waiting) = asked.iter().find(|n| !ends.contains_key(n)).copied() {
            match self.next(deadline, waiting)? {
                Some((n, Did::Done(end))) => drop(ends.insert(n, *end)),
                Some((n, Did::Gone(why))) => {
                    ends.insert(n, StepEnd::default());
                    gone.insert(n, why);
                }
                Some((n, Did::Failed(why))) => {
                    return Err(LabError::Environment(self.workers.all[n].named(why)));
                }
                None => {}
            }
        }
        let Some((&n, why)) = gone.iter().find(|(n, _)| self.workers.all[**n].way == Way::Here).or(gone.iter().next())
        else {
            return Ok(Ok(ends.into_iter().collect()));
        };
        let why = self.workers.all[n].named(why.clone());
        // Where only another machine does not reach it, that is no word on the server.
        let is_server = self.workers.all[n].way == Way::Here || gone.len() == asked.len();
        if is_server { Ok(Err(why)) } else { Err(LabError::Environment(why)) }
    }

    /// What one did, if that is heard in a moment; `waiting` is one that is waited for.
    fn next(&mut self, deadline: Instant, waiting: usize) -> Result<Option<(usize, Did)>, LabError> {
        if self.beat.elapsed() >= HEARTBEAT {
            self.beat = Instant::now();
            self.workers.beat();
        }
        match self.workers.hear(POLL) {
            Some((n, FromWorker::Gone(why))) => return Err(self.workers.died(n, why)),
            Some((n, FromWorker::Message(said, _))) => {
                self.workers.all[n].heard = Instant::now();
                if let Report::Did(did) = said {
                    return Ok(Some((n, did)));
                }
            }
            None => {}
        }
        let silent = |n: &usize| {
            let worker = &self.workers.all[*n];
            matches!(worker.way, Way::Pod { .. }) && worker.heard.elapsed() > SILENCE + HEARTBEAT
        };
        if let Some(n) = (0..self.workers.all.len()).find(silent) {
            return Err(self.workers.died(n, Some(format!("nothing was heard of it for {:?}", SILENCE + HEARTBEAT))));
        }
        if Instant::now() >= deadline {
            return Err(self.workers.died(waiting, Some("it did not say what its clients did".to_owned())));
        }
        Ok(None)
    }

    /// Asks all other machines at once what their clocks show.
    fn set_clocks(&mut self) -> Result<(), LabError> {
        let far: Vec<usize> = (0..self.workers.all.len()).filter(|n| self.workers.all[*n].clock.is_some()).collect();
        let mut exchanges: BTreeMap<usize, Vec<Exchange>> = BTreeMap::new();
        for _ in 0..EXCHANGES {
            let mut open: BTreeMap<usize, i64> = BTreeMap::new();
            for &n in &far {
                let asked = Start::now().0;
                drop(self.workers.all[n].orders.as_mut().map(|to| write(to, &Word::Clock(asked))));
                open.insert(n, asked);
            }
            let deadline = Instant::now() + ANSWERED_WITHIN;
            while let Some(&n) = open.keys().next() {
                match self.workers.hear(POLL) {
                    Some((n, FromWorker::Message(Report::Clock(stamps), heard))) => {
                        self.workers.all[n].heard = Instant::now();
                        if open.get(&n) == Some(&stamps.asked) {
                            open.remove(&n);
                            exchanges.entry(n).or_default().push(Exchange::new(stamps, heard));
                        }
                    }
                    Some((n, FromWorker::Gone(why))) => return Err(self.workers.died(n, why)),
                    Some(_) => {}
                    None if Instant::now() < deadline => {}
                    None => return Err(self.workers.died(n, Some("it did not say what its clock shows".to_owned()))),
                }
            }
        }
        for n in far {
            self.workers.all[n].clock = exchanges.get(&n).and_then(|all| clock::read(all));
        }
        Ok(())
    }

    /// The processes as a round has them.
    fn round_workers(&self, before: &[Option<WorkerClock>], works: &BTreeMap<usize, Work>) -> Vec<RoundWorker> {
        let one = |n: usize| {
            let worker = &self.workers.all[n];
            let (both, work) = (before[n].zip(worker.clock), works.get(&n).copied().unwrap_or_default());
            let clock = both.map(|(before, after)| RoundClock {
                offset_ns: before.offset_ns,
                // A message that came before it was sent shows by how much it is wrong at the least.
                uncertainty_ns: before.uncertainty_ns.max(after.uncertainty_ns).max(work.wrong_ns),
                drift_ns: after.offset_ns.saturating_sub(before.offset_ns),
            });
            RoundWorker {
                place: worker.way.name().to_owned(),
                node: worker.process.node().map(str::to_owned),
                clients: self.clients[n],
                clock,
                busy: work.busy_ns as f64 / work.lasted_ns.max(1) as f64,
            }
        };
        (0..self.clients.len()).map(one).collect()
    }
}

/// What the clients of a process are told of the server's clock; none: it is theirs.
fn known(clock: Option<WorkerClock>) -> ServerClock {
    clock.map_or_else(ServerClock::default, |clock| ServerClock {
        offset_ns: clock.offset_ns,
        within_ns: clock.uncertainty_ns.saturating_add(SLACK_NS),
    })
}

/// What came of a case, of all processes together.
struct Together {
    figure: Option<u64>,
    delays: hdrhistogram::Histogram<u64>,
    due: u64,
    missing: u64,
    sum: u64,
    closes: Vec<genkai_model::websocket::CloseCount>,
    works: BTreeMap<usize, Work>,
    heap: Option<u64>,
}

/// What a process did in a case.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Work {
    /// Time in which its clients' thread was busy, ...
    busy_ns: u64,
    /// ... of this.
    lasted_ns: u64,
    /// By how much its messages show that its clock is wrong.
    wrong_ns: u64,
}

/// Joins what came of steps: the figure is the largest, where everybody has one.
fn received(ends: Vec<(usize, StepEnd)>) -> Together {
    let mut all = Together {
        figure: ends
            .iter()
            .map(|(_, end)| end.figure)
            .collect::<Option<Vec<u64>>>()
            .and_then(|all| all.into_iter().max()),
        delays: empty(),
        due: 0,
        missing: 0,
        sum: 0,
        closes: codes(ends.iter().flat_map(|(_, end)| &end.closes)),
        works: BTreeMap::new(),
        heap: None,
    };
    for (n, end) in &ends {
        all.due += end.due;
        all.missing += end.missing;
        // Delays that cannot be read are not there.
        if end.delays.add_to(&mut all.delays).is_err() {
            all.figure = None;
            all.missing += end.due.saturating_sub(end.missing);
        }
        all.sum += end.sum;
        let work = all.works.entry(*n).or_default();
        work.busy_ns += end.busy_ns;
        work.lasted_ns += end.lasted_ns;
        work.wrong_ns = work.wrong_ns.max(end.wrong_ns);
        all.heap = all.heap.max(end.heap);
    }
    all
}

/// Connections that ended, by code.
fn codes<'e>(
    all: impl Iterator<Item = &'e genkai_model::websocket::CloseCount>,
) -> Vec<genkai_model::websocket::CloseCount> {
    let mut codes = Messages::default();
    all.for_each(|one| codes.closed(one.code, one.count));
    codes.closes
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::histogram::Payload;

    #[test]
    fn every_client_is_of_one_process() {
        for (clients, processes) in [(1, 1), (7, 3), (9, 3), (200, 7), (1000, 256)] {
            let all = shares(clients, processes);
            assert_eq!((all.len(), all.iter().sum::<u32>()), (usize::from(processes), clients));
            assert_eq!(all.iter().max(), Some(&largest_share(clients, processes)));
            assert!(all.iter().max().unwrap() - all.iter().min().unwrap() <= 1);
        }
    }

    #[test]
    fn the_slowest_of_all_processes_is_the_figure_and_who_misses_one_has_none() {
        let end = |figure: Option<u64>, delays: &[u64]| {
            let mut histogram = empty();
            delays.iter().for_each(|ns| histogram.saturating_record(*ns));
            let missing = u64::from(figure.is_none());
            let delays = Payload::encode(&histogram);
            StepEnd { figure, delays, due: 2, missing, busy_ns: 10, lasted_ns: 40, heap: figure, ..StepEnd::default() }
        };
        let all = received(vec![(0, end(Some(30_000), &[10_000, 30_000])), (1, end(Some(90_000), &[50_000, 90_000]))]);
        assert_eq!(
            (all.figure, all.due, all.missing, all.delays.len(), all.heap),
            (Some(90_000), 4, 0, 4, Some(90_000))
        );
        let all = received(vec![(0, end(Some(30_000), &[30_000])), (1, end(None, &[1]))]);
        assert_eq!((all.figure, all.missing), (None, 1));
        let several = |wrong_ns| (1, StepEnd { busy_ns: 10, lasted_ns: 40, wrong_ns, ..StepEnd::default() });
        let work = received(vec![several(7), several(0)]).works[&1];
        assert_eq!(work, Work { busy_ns: 20, lasted_ns: 80, wrong_ns: 7 });
    }

    #[test]
    fn a_clock_elsewhere_gets_a_margin_and_our_own_none() {
        assert_eq!(known(None), ServerClock::default());
        let far = WorkerClock { offset_ns: -5, uncertainty_ns: 40, drift_ns: None };
        assert_eq!(known(Some(far)), ServerClock { offset_ns: -5, within_ns: 40 + SLACK_NS });
    }
}
