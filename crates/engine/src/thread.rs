//! One engine thread: its event loop, what its tasks share, its arrivals and its end.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use genkai_model::error::ErrorKind;
use genkai_model::load::{Arrivals, Load, Reuse};
use genkai_wire::websocket::Scratch;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use socket2::SockAddr;
use tokio::task::{spawn_local, yield_now};

use crate::alarm::Alarm;
use crate::clock::{Clock, Moment};
use crate::connection::Turn;
use crate::ledger::{Ledger, Outbox};
use crate::message::Message;
use crate::queue::{Due, Queue};
use crate::road::Road;
use crate::share::{Model, Share, TALK_BITS};
use crate::stop::StopFlag;
use crate::tls;
use crate::turns::{Thinker, Turns, live};
use crate::watch::Watch;
use crate::websocket::rooms::{Attendee, Roster, attend};
use crate::websocket::{self, Room, Session, carry, converse, hold};

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
    /// Users of the load, all threads together.
    members: u32,
    /// Whether a task panicked.
    broken: Cell<bool>,
    /// Whether the load is over and connections are being closed.
    ending: Cell<bool>,
    /// Open WebSockets.
    talks: Cell<usize>,
    /// What WebSocket codecs share.
    pub(crate) scratch: RefCell<Scratch>,
    /// Where frames are encoded.
    pub(crate) out: RefCell<Vec<u8>>,
    /// The next message.
    pub(crate) payload: RefCell<Vec<u8>>,
    random: RefCell<Pcg64Mcg>,
    /// Members of chat rooms.
    roster: Roster,
}

/// What a thread needs to make its share of a load.
pub(crate) struct Job {
    pub(crate) share: Share,
    pub(crate) what: What,
    pub(crate) outbox: Outbox,
    /// The user's wish to stop.
    pub(crate) stop: StopFlag,
    /// Set when another thread, or who collects, has failed.
    pub(crate) abort: StopFlag,
}

/// What is sent, and where to.
#[derive(Clone)]
pub(crate) struct What {
    pub(crate) message: Message,
    pub(crate) road: Road,
    pub(crate) websocket: Option<websocket::Plan>,
}

/// What a thread has at the end.
pub(crate) struct Left {
    /// Requests that were in flight.
    pub(crate) abandoned: u64,
    /// Whether it ended because it was asked to.
    pub(crate) stopped: bool,
    /// Members of chat rooms, as they were at the end.
    pub(crate) attendees: Vec<Attendee>,
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
            message: job.what.message,
            reuse: load.reuse,
            timeout: load.timeout.0,
            addresses: job.what.road.addresses,
            tls: job.what.road.tls.as_ref().map(|plan| Rc::new(tls::Shared::new(plan))),
            turn: Cell::new(job.share.thread as usize),
            seed: load.seed,
            members: match load.arrivals {
                Arrivals::Users { count, .. } => count,
                Arrivals::Rate { .. } => 0,
            },
            broken: Cell::new(false),
            ending: Cell::new(false),
            talks: Cell::new(0),
            scratch: RefCell::default(),
            out: RefCell::default(),
            payload: RefCell::default(),
            random: RefCell::new(Pcg64Mcg::seed_from_u64(load.seed ^ u64::from(job.share.thread) << 40)),
            roster: Roster::default(),
        }))
    }

    /// The address a connection goes to: the one chosen, or the next in turn.
    pub(crate) fn address(&self, chosen: Option<usize>) -> &SockAddr {
        let turn = chosen.unwrap_or_else(|| {
            let turn = self.turn.get();
            self.turn.set(turn.wrapping_add(1));
            turn
        });
        &self.addresses[turn % self.addresses.len()]
    }

    /// A masking key (RFC 6455 section 5.3).
    #[inline]
    pub(crate) fn random_key(&self) -> u32 {
        self.random.borrow_mut().random()
    }

    /// A nonce (RFC 6455 section 4.1, item 7).
    pub(crate) fn random_bytes(&self) -> [u8; 16] {
        self.random.borrow_mut().random()
    }

    /// Whether the load is over and connections are being closed.
    #[inline]
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.get()
    }

    /// A WebSocket was opened (1), or has ended (-1).
    pub(crate) fn talking(&self, by: isize) {
        self.talks.set(self.talks.get().saturating_add_signed(by));
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
    let websocket = job.what.websocket.clone().map(Rc::new);
    runtime.block_on(async {
        let core = Core::new(job, load, clock)?;
        spawn(&core, Rc::clone(&core.alarm).ring());
        spawn(&core, arrive(Rc::clone(&core), share, websocket));
        let stopped = supervise(&core, [&stop, &abort]).await;
        take_leave(&core, &abort).await;
        let abandoned = core.ledger.borrow_mut().close(core.clock.now());
        Ok(Left { abandoned, stopped, attendees: core.roster.close() })
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

/// Most time for closing handshakes, and what each connection adds to it.
const LEAVE: Moment = 1_000_000_000;
const LEAVE_EACH: Moment = 200_000;

/// Closes WebSockets the way they are to be closed, as far as servers answer in time.
async fn take_leave(core: &Core, abort: &StopFlag) {
    let now = core.clock.now();
    core.ledger.borrow_mut().end(now);
    core.ending.set(true);
    let limit = now + LEAVE + LEAVE_EACH * core.talks.get() as Moment;
    core.watch.wake_all();
    while core.talks.get() > 0 && core.clock.now() < limit && !abort.is_stopped() {
        core.alarm.until(core.clock.now() + LEAVE / 200).await;
    }
}

/// Starts users, or places requests, when they are planned.
async fn arrive(core: Rc<Core>, share: Share, websocket: Option<Rc<websocket::Plan>>) {
    let (thread, model) = (u64::from(share.thread), share.model);
    let desk = Desk::open(&core, &share, websocket);
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
        // A load of new connections is judged by how promptly it asks for them; one that keeps them opens each but once,
        // often many in one moment, which says little about the rest.
        let first = Turn { planned, prompt: core.reuse == Reuse::PerRequest };
        let think = match model {
            Model::Closed { think } => Thinker::new(think, core.seed, thread << 32 | n as u64),
            Model::Open { .. } => {
                desk.place(&core, first);
                continue;
            }
        };
        match &desk {
            Desk::Talks(plan) => {
                let session = Session::new(Rc::clone(&core), Rc::clone(plan), number(share.thread, n));
                match plan.message {
                    Some(_) if plan.rooms.is_some() => {
                        admit(&core, plan, share.threads * n as u32 + share.thread, first)
                    }
                    Some(_) => spawn(&core, converse(Rc::clone(&core), session, think, first)),
                    None => spawn(&core, hold(Rc::clone(&core), session, first)),
                }
            }
            _ => spawn(&core, live(Rc::clone(&core), Turns::User(think), first)),
        }
    }
}

/// Starts the member `number` of chat rooms. Neighbours in a room go to different addresses, and so do rooms.
fn admit(core: &Rc<Core>, plan: &Rc<websocket::Plan>, number: u32, first: Turn) {
    let Some(rooms) = plan.rooms.clone() else { return };
    let who = core.roster.add(Attendee::new(number, core.members, &rooms));
    let address = number / rooms.rooms + number % rooms.rooms;
    let session = Session::new(Rc::clone(core), Rc::clone(plan), number).of_member(Rc::clone(&who), address as usize);
    spawn(core, attend(Rc::clone(core), session, rooms, who, first));
}

/// Number of the `n`-th WebSocket connection of a thread, one of a kind in the load.
fn number(thread: u32, n: usize) -> u32 {
    thread << TALK_BITS | n as u32
}

/// Where arrivals go.
enum Desk {
    /// HTTP.
    Queue(Rc<Queue>),
    /// WebSocket, closed model: each user has a connection.
    Talks(Rc<websocket::Plan>),
    /// WebSocket, open model.
    Room(Rc<Room>),
}

impl Desk {
    fn open(core: &Rc<Core>, share: &Share, websocket: Option<Rc<websocket::Plan>>) -> Desk {
        match (websocket, share.model) {
            (None, Model::Open { connections }) => Desk::Queue(Rc::new(Queue::new(connections))),
            (None, Model::Closed { .. }) => Desk::Queue(Rc::new(Queue::new(0))),
            (Some(plan), Model::Closed { .. }) => Desk::Talks(plan),
            (Some(plan), Model::Open { .. }) => {
                let room = Rc::new(Room::default());
                let mut openings = share.openings.clone().enumerate();
                // The first is there before the first message.
                let admit = {
                    let (core, room, thread) = (Rc::clone(core), Rc::clone(&room), share.thread);
                    move |n| {
                        let session = Session::new(Rc::clone(&core), Rc::clone(&plan), number(thread, n));
                        let inbox = room.enter(&session);
                        spawn(&core, carry(Rc::clone(&core), session, inbox));
                    }
                };
                openings.next().into_iter().for_each(|(n, _)| admit(n));
                let waits = Rc::clone(core);
                spawn(core, async move {
                    for (n, at) in openings {
                        waits.alarm.until(at).await;
                        if waits.is_ending() {
                            return;
                        }
                        admit(n);
                    }
                });
                Desk::Room(room)
            }
        }
    }

    /// Places a planned request or message, which has been claimed.
    fn place(&self, core: &Rc<Core>, first: Turn) {
        let placed = match self {
            Desk::Queue(queue) => match queue.place(first.planned) {
                Due::Placed => true,
                Due::Open => {
                    spawn(core, live(Rc::clone(core), Turns::Pool(Rc::clone(queue)), first));
                    true
                }
                Due::Dropped => false,
            },
            Desk::Room(room) => room.place(first.planned),
            Desk::Talks(_) => false,
        };
        if !placed {
            core.ledger.borrow_mut().failed(core.clock.now(), first.planned, ErrorKind::Dropped);
        }
    }
}
