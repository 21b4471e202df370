//! Runs a load: threads, their intervals, the end.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use genkai_model::event::{ClientUse, Tick};
use genkai_model::load::Load;
use genkai_model::rooms::{Attendance, Attended};
use genkai_model::units::Span;

use crate::clock::{Clock, Start};
use crate::error::EngineError;
use crate::hold::Hold;
use crate::host;
use crate::live_users::LiveUsers;
use crate::measure::merge::Merge;
use crate::measure::open::OpenCount;
use crate::measure::report::{Handover, Report};
use crate::measure::tally::Tally;
use crate::protocol::attendance::{Attendee, rooms_of, settle, told};
use crate::protocol::spec::LoadSpec;
use crate::schedule::pacer::Level;
use crate::schedule::share::{Part, Share};
use crate::stop::StopFlag;
use crate::thread::{Job, ThreadResult, work};
use crate::transport::reactor::Reactor;

/// Intervals a thread may be ahead of the collector.
const AHEAD: usize = 8;

/// How often the collector looks whether all threads live.
const LOOK: Duration = Duration::from_millis(100);

/// How a load ended.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// How long it lasted: as planned, or until the last request of a bounded number, or until it was stopped.
    pub lasted: Span,
    /// How long after its first moment the last thread had begun.
    pub began: Span,
    /// Requests that were in flight when it ended: neither ok nor failed.
    pub abandoned: u64,
    /// Largest resident memory so far, bytes, of all processes that made it.
    pub client_rss: u64,
    /// Whether it was cut short by the stop flag.
    pub stopped: bool,
    /// What it took of the machine. How many ports there are is not known here.
    pub client: ClientUse,
    /// What became of the messages of chat rooms, where there are such.
    pub rooms: Option<Box<Attendance>>,
}

/// As [`run_held`], of a load that nobody holds.
///
/// # Errors
/// As [`run_held`].
pub fn run(
    load: &Load,
    cpus: Option<&[usize]>,
    stop: &StopFlag,
    started: impl FnOnce(Instant),
    tick: impl FnMut(Tick),
) -> Result<End, EngineError> {
    run_held(load, cpus, (stop, &Hold::new()), started, tick)
}

/// Makes `load`, all of it in this process, and blocks until it is over.
///
/// Threads are pinned to `cpus` in turn, if given. `started` is called once with moment zero, when every thread is ready; `tick` once an interval, in order,
/// intervals adjoining, with the last one as short as it happened to be; both on the calling thread. Within about a
/// second of `stop` it returns, whatever the servers do. A `tick` that does not keep up makes intervals longer.
///
/// # Errors
/// When the load cannot be made at all: [`EngineError`]. Requests that fail are counted, not returned.
pub fn run_held(
    load: &Load,
    cpus: Option<&[usize]>,
    (stop, hold): (&StopFlag, &Hold),
    started: impl FnOnce(Instant),
    tick: impl FnMut(Tick),
) -> Result<End, EngineError> {
    let begin = || {
        let start = Start::now();
        started(Instant::now());
        Some(start)
    };
    let made = make((load, LoadSpec::read(load)?), Part::WHOLE, cpus, (stop, hold), begin, tick)?;
    Ok(settled(load, made, stop))
}

/// As [`run`], of a scenario whose users are those that `live` asks for; their number in the load means nothing.
///
/// # Errors
/// As [`run`].
pub fn run_following(
    load: &Load,
    live: &LiveUsers,
    stop: &StopFlag,
    started: impl FnOnce(Instant),
    tick: impl FnMut(Tick),
) -> Result<End, EngineError> {
    let begin = || {
        let start = Start::now();
        live.start(start.into());
        started(Instant::now());
        Some(start)
    };
    let spec = LoadSpec::read(load)?.following(live.clone())?;
    let made = make((load, spec), Part::WHOLE, None, (stop, &Hold::new()), begin, tick)?;
    Ok(settled(load, made, stop))
}

/// As [`run`], but makes only a part of `load`: the rest is other processes'. `begin` is called when every thread is ready and
/// says when the load begins, which may be a little later; `None`: not at all. What became of the messages of chat rooms is known
/// where the members of all parts are: those of this part are told beside its end.
///
/// # Errors
/// As [`run`].
pub fn run_part(
    load: &Load,
    part: Part,
    cpus: Option<&[usize]>,
    stop: &StopFlag,
    begin: impl FnOnce() -> Option<Start>,
    tick: impl FnMut(Tick),
) -> Result<(End, Box<dyn Iterator<Item = Attended>>), EngineError> {
    let (end, attendees) = make((load, LoadSpec::read(load)?), part, cpus, (stop, &Hold::new()), begin, tick)?;
    Ok((end, Box::new(attendees.into_iter().map(told))))
}

fn make(
    (load, spec): (&Load, LoadSpec),
    part: Part,
    cpus: Option<&[usize]>,
    (stop, hold): (&StopFlag, &Hold),
    begin: impl FnOnce() -> Option<Start>,
    mut tick: impl FnMut(Tick),
) -> Result<(End, Vec<Attendee>), EngineError> {
    let shares = part.shares(load)?;
    let level = spec.level(load);
    let mut pool = ThreadPool::start(load, shares, &spec, cpus, (stop, hold))?;
    pool.wait_ready()?;
    let start = begin();
    if let Some(start) = start {
        hold.start(start.into());
        for thread in &pool.threads {
            // It fails when the thread has died, which is found out below.
            let _ = thread.go.send(start.into());
        }
    }
    let mut meter = Meter::new(load);
    let lasted = match start {
        None => Ok(Span::default()),
        Some(_) => pool.collect((load, level), hold, |one| {
            meter.look(&one);
            tick(one);
        }),
    };
    if lasted.is_err() {
        pool.abort.stop();
    }
    let mut results = pool.join()?;
    let attendees = results.iter_mut().flat_map(|result| std::mem::take(&mut result.attendees)).collect();
    let end = End {
        lasted: lasted?,
        began: Span(results.iter().map(|result| result.began).max().unwrap_or_default()),
        abandoned: results.iter().map(|result| result.abandoned).sum(),
        client_rss: host::peak_rss(),
        stopped: results.iter().any(|result| result.stopped),
        client: meter.read(),
        rooms: None,
    };
    Ok((end, attendees))
}

/// How long the account of a load that was stopped may take before it is cut short: as long as somebody who waits does not wonder.
const SETTLED: Duration = Duration::from_secs(1);

/// Whether the account of a load must be cut short: who stops a load gets it, as long as that takes no time to speak of.
pub fn hurried(stop: &StopFlag) -> impl Fn() -> bool + use<> {
    let (began, stop) = (Instant::now(), stop.clone());
    move || stop.is_stopped() && began.elapsed() > SETTLED
}

/// The end of a load that this process made, with what became of the messages of chat rooms.
fn settled(load: &Load, (end, attendees): (End, Vec<Attendee>), stop: &StopFlag) -> End {
    let rooms = rooms_of(load).map(|(rooms, members)| Box::new(settle(rooms, members, attendees, hurried(stop))));
    End { rooms, ..end }
}

/// What this process uses of the machine while it makes a load.
struct Meter {
    /// Descriptors that are no connections.
    own: u64,
    seen: ClientUse,
}

impl Meter {
    fn new(load: &Load) -> Meter {
        let sources = load.scale.sources.len().max(1) as u32;
        Meter { own: host::descriptors().unwrap_or_default(), seen: ClientUse { sources, ..ClientUse::default() } }
    }

    /// At the end of an interval.
    fn look(&mut self, tick: &Tick) {
        let open = host::descriptors().unwrap_or(self.own + tick.connections);
        self.seen.descriptors = self.seen.descriptors.max(open);
        self.seen.connections = self.seen.connections.max(tick.most.unwrap_or(tick.connections));
    }

    fn read(self) -> ClientUse {
        ClientUse {
            processes: 1,
            cpu_us: host::process_cpu_us(),
            rss: host::peak_rss(),
            rss_max: host::peak_rss(),
            descriptors_limit: host::descriptors_limit(),
            ..self.seen
        }
    }
}

/// The threads of a load, as the collector sees them.
struct ThreadPool {
    threads: Vec<PoolThread>,
    inbox: Receiver<Report>,
    /// Ends all threads at once.
    abort: StopFlag,
}

impl Drop for ThreadPool {
    /// When a callback panics: nobody collects any more.
    fn drop(&mut self) {
        self.abort.stop();
    }
}

struct PoolThread {
    handle: JoinHandle<io::Result<ThreadResult>>,
    /// Says that the thread is ready, or why not.
    ready: Receiver<io::Result<()>>,
    /// Gives the thread the clock, and thereby the start.
    go: Sender<Clock>,
    /// Takes back what was merged.
    spare: Sender<Box<Tally>>,
}

impl ThreadPool {
    fn start(
        load: &Load,
        shares: Vec<Share>,
        spec: &LoadSpec,
        cpus: Option<&[usize]>,
        (stop, hold): (&StopFlag, &Hold),
    ) -> Result<ThreadPool, EngineError> {
        let (reports, inbox) = sync_channel(AHEAD * shares.len());
        let (cpus, open) = (cpus.unwrap_or_default(), OpenCount::default());
        let mut pool = ThreadPool { threads: Vec::with_capacity(shares.len()), inbox, abort: StopFlag::new() };
        for (number, share) in shares.into_iter().enumerate() {
            let (spare, spares) = channel();
            let handover = Handover { thread: number, reports: reports.clone(), open: open.clone(), spare: spares };
            let (stop, abort) = (stop.clone(), pool.abort.clone());
            let job = Job { share, spec: spec.clone(), handover, stop, hold: hold.clone(), abort };
            let cpu = cpus.get(number % cpus.len().max(1)).copied();
            pool.threads.push(PoolThread::start(number, load.clone(), job, cpu, spare)?);
        }
        Ok(pool)
    }

    fn wait_ready(&self) -> Result<(), EngineError> {
        for thread in &self.threads {
            thread.ready.recv().map_err(|_| EngineError::ThreadDied)?.map_err(EngineError::Start)?;
        }
        Ok(())
    }

    /// Merges and passes on intervals until every thread has ended. How long the load lasted.
    fn collect(
        &mut self,
        (load, level): (&Load, Level),
        hold: &Hold,
        mut tick: impl FnMut(Tick),
    ) -> Result<Span, EngineError> {
        let merge = Merge::new(self.threads.len(), level).naming(load.scenario.as_deref());
        let mut merge = merge.holding(hold.clone());
        let mut lasted = 0;
        while !merge.is_done() {
            match self.inbox.recv_timeout(LOOK) {
                Ok(report) => {
                    lasted = lasted.max(report.to);
                    merge.push(report);
                }
                Err(RecvTimeoutError::Timeout) if !self.someone_died(&merge) => {}
                Err(_) => return Err(EngineError::ThreadDied),
            }
            let spares: Vec<&Sender<_>> = self.threads.iter().map(|thread| &thread.spare).collect();
            while let Some(merged) = merge.next(|thread, tally| drop(spares[thread].send(tally))) {
                tick(merged);
            }
        }
        Ok(Span(lasted))
    }

    /// Whether a thread ended without saying so.
    fn someone_died(&self, merge: &Merge) -> bool {
        self.threads.iter().enumerate().any(|(n, thread)| thread.handle.is_finished() && merge.awaits(n))
    }

    /// Waits for the threads, which have ended or are about to.
    fn join(mut self) -> Result<Vec<ThreadResult>, EngineError> {
        let join = |thread: PoolThread| {
            // One that was never told to start waits for that.
            drop(thread.go);
            match thread.handle.join() {
                Ok(result) => result.map_err(EngineError::Start),
                Err(_) => Err(EngineError::ThreadDied),
            }
        };
        // A thread that waits to hand over its last interval must not wait for ever.
        self.inbox = channel().1;
        let ended: Vec<_> = std::mem::take(&mut self.threads).into_iter().map(join).collect();
        ended.into_iter().collect()
    }
}

impl PoolThread {
    fn start(
        number: usize,
        load: Load,
        job: Job,
        cpu: Option<usize>,
        spare: Sender<Box<Tally>>,
    ) -> Result<PoolThread, EngineError> {
        let (tell, ready) = sync_channel(1);
        let (go, start) = channel::<Clock>();
        let body = move || {
            let prepared = cpu.map_or(Ok(()), host::pin).and_then(|()| Reactor::new());
            let (reactor, said) = match prepared {
                Ok(reactor) => (Some(reactor), Ok(())),
                Err(e) => (None, Err(e)),
            };
            let _ = tell.send(said);
            match (reactor, start.recv()) {
                (Some(reactor), Ok(clock)) => {
                    clock.await_zero();
                    work(&reactor, &load, job, clock)
                }
                // The load was called off.
                _ => Ok(ThreadResult { stopped: true, ..ThreadResult::default() }),
            }
        };
        let handle = thread::Builder::new().name(format!("load-{number}")).spawn(body).map_err(EngineError::Start)?;
        Ok(PoolThread { handle, ready, go, spare })
    }
}
