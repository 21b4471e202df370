//! One engine thread: its event loop, what its tasks share, its arrivals and its end.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use genkai_model::error::ErrorKind;
use genkai_model::load::{Load, Reuse};
use socket2::SockAddr;
use tokio::task::{spawn_local, yield_now};

use crate::alarm::Alarm;
use crate::clock::{Clock, Moment};
use crate::connection::Turn;
use crate::ledger::{Ledger, Outbox};
use crate::message::Message;
use crate::queue::{Due, Queue};
use crate::road::Road;
use crate::share::{Model, Share};
use crate::stop::StopFlag;
use crate::tls;
use crate::turns::{Thinker, Turns, live};
use crate::watch::Watch;

/// How often a thread looks whether it should stop.
const LOOK: Moment = 20_000_000;

/// Most arrivals in a row: when the schedule is ahead of the machine, the requests it made still get their turn.
const ARRIVALS: usize = 64;

/// Bytes read at once. One buffer serves all connections of a thread: it is filled and used between two waits.
const BUFFER: usize = 64 * 1024;

/// Everything the tasks of one thread share.
pub(crate) struct Core {
    pub(crate) clock: Clock,
    pub(crate) alarm: Rc<Alarm>,
    pub(crate) watch: Watch,
    pub(crate) ledger: RefCell<Ledger>,
    pub(crate) buffer: RefCell<Box<[u8]>>,
    pub(crate) message: Message,
    pub(crate) reuse: Reuse,
    /// Deadline of connecting, and of a response from its request's first byte.
    pub(crate) timeout: Moment,
    addresses: Vec<SockAddr>,
    /// TLS, where the load has it.
    pub(crate) tls: Option<Rc<tls::Shared>>,
    turn: Cell<usize>,
    seed: u64,
    /// Whether a task panicked.
    broken: Cell<bool>,
}

/// What a thread needs to make its share of a load.
pub(crate) struct Job {
    pub(crate) share: Share,
    pub(crate) message: Message,
    pub(crate) road: Road,
    pub(crate) outbox: Outbox,
    /// The user's wish to stop.
    pub(crate) stop: StopFlag,
    /// Set when another thread, or who collects, has failed.
    pub(crate) abort: StopFlag,
}

/// What a thread has at the end.
pub(crate) struct Left {
    /// Requests that were in flight.
    pub(crate) abandoned: u64,
    /// Whether it ended because it was asked to.
    pub(crate) stopped: bool,
}

impl Core {
    fn new(job: Job, load: &Load, clock: Clock) -> io::Result<Rc<Core>> {
        let ledger = Ledger::new(load.tick.0, load.stop.after.0, job.share.quota, job.outbox);
        Ok(Rc::new(Core {
            clock,
            alarm: Rc::new(Alarm::new(clock)?),
            watch: Watch::default(),
            ledger: RefCell::new(ledger),
            buffer: RefCell::new(vec![0; BUFFER].into_boxed_slice()),
            message: job.message,
            reuse: load.reuse,
            timeout: load.timeout.0,
            addresses: job.road.addresses,
            tls: job.road.tls.as_ref().map(|plan| Rc::new(tls::Shared::new(plan))),
            turn: Cell::new(job.share.thread as usize),
            seed: load.seed,
            broken: Cell::new(false),
        }))
    }

    /// The address the next connection goes to: in turn.
    pub(crate) fn next_address(&self) -> &SockAddr {
        let turn = self.turn.get();
        self.turn.set(turn.wrapping_add(1));
        &self.addresses[turn % self.addresses.len()]
    }
}

/// Notices a panic in a task, which the runtime would keep to itself.
struct Fuse(Rc<Core>);

impl Drop for Fuse {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.set(true);
        }
    }
}

/// Starts a task of the thread.
fn spawn(core: &Rc<Core>, task: impl Future<Output = ()> + 'static) {
    let fuse = Fuse(Rc::clone(core));
    spawn_local(async move {
        let _fuse = fuse;
        task.await;
    });
}

/// An event loop.
///
/// # Errors
/// When the system has no descriptor left for it.
pub(crate) fn runtime() -> io::Result<tokio::runtime::LocalRuntime> {
    tokio::runtime::Builder::new_current_thread().enable_io().build_local(Default::default())
}

/// Makes the load of `job`, from moment zero of `clock` to its end.
pub(crate) fn work(runtime: &tokio::runtime::LocalRuntime, load: &Load, job: Job, clock: Clock) -> io::Result<Left> {
    let (share, stop, abort) = (job.share.clone(), job.stop.clone(), job.abort.clone());
    runtime.block_on(async {
        let core = Core::new(job, load, clock)?;
        spawn(&core, Rc::clone(&core.alarm).ring());
        spawn(&core, arrive(Rc::clone(&core), share));
        let stopped = supervise(&core, [&stop, &abort]).await;
        let abandoned = core.ledger.borrow_mut().close(core.clock.now());
        Ok(Left { abandoned, stopped })
    })
    // Dropping the runtime drops every task, and with it every connection.
}

/// Looks after the thread until its load is over; whether it was stopped.
async fn supervise(core: &Core, stops: [&StopFlag; 2]) -> bool {
    let period = Watch::period(core.timeout);
    loop {
        assert!(!core.broken.get(), "a task of this thread panicked");
        let now = core.clock.now();
        if core.ledger.borrow_mut().over(now) {
            return false;
        }
        if stops.into_iter().any(StopFlag::is_stopped) {
            return true;
        }
        let sweep = core.watch.sweep(now, period);
        let next = core.ledger.borrow().next_look().min(sweep).min(now + LOOK);
        core.alarm.until(next).await;
    }
}

/// Starts users, or places requests, when they are planned.
async fn arrive(core: Rc<Core>, share: Share) {
    let (thread, model) = (u64::from(share.thread), share.model);
    let queue = match model {
        Model::Open { connections } => Rc::new(Queue::new(connections)),
        Model::Closed { .. } => Rc::new(Queue::new(0)),
    };
    let mut row = 0;
    for (n, planned) in share.pacer.enumerate() {
        row = if core.clock.now() < planned { 0 } else { row + 1 };
        if row >= ARRIVALS {
            row = 0;
            yield_now().await;
        }
        core.alarm.until(planned).await;
        if !core.ledger.borrow_mut().claim(core.clock.now()) {
            return;
        }
        let first = Turn { planned, prompt: false };
        let turns = match model {
            Model::Closed { think } => Turns::User(Thinker::new(think, core.seed, thread << 32 | n as u64)),
            Model::Open { .. } => match queue.place(planned) {
                Due::Placed => continue,
                Due::Open => Turns::Pool(Rc::clone(&queue)),
                Due::Dropped => {
                    core.ledger.borrow_mut().failed(core.clock.now(), planned, ErrorKind::Dropped);
                    continue;
                }
            },
        };
        spawn(&core, live(Rc::clone(&core), turns, first));
    }
}
