//! One engine thread: its event loop, what its tasks share, its arrivals and its end.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use genkai_model::error::ErrorKind;
use genkai_model::load::{Arrivals, Load, Reuse};
use genkai_wire::http1::Memo;
use genkai_wire::websocket::Scratch;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::EngineError;
use crate::alarm::Alarm;
use crate::clock::{Clock, Moment};
use crate::connection::{Connection, Turn};
use crate::dial::Sources;
use crate::flow::{self, Company};
use crate::http2::{self, Fleet, Prepared, Repeater};
use crate::ledger::{Ledger, Outbox};
use crate::message::Message;
use crate::pacer::Arrival;
use crate::pages::{self, Row, Visitor};
use crate::queue::{Due, Queue};
use crate::reactor::{Reactor, spawn, yield_now};
use crate::road::{Road, Way};
use crate::share::{Model, Share, TALK_BITS};
use crate::stop::StopFlag;
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
    /// The last response head.
    pub(crate) heads: RefCell<Memo>,
    /// Whether the kernel is asked when bytes arrived.
    pub(crate) stamps: bool,
    pub(crate) message: Message,
    pub(crate) reuse: Reuse,
    /// Deadline of connecting, and of a response from its request's first byte.
    pub(crate) timeout: Moment,
    /// Where the load's connections go.
    pub(crate) way: Rc<Way>,
    /// Where connections come from.
    pub(crate) sources: Sources,
    pub(crate) seed: u64,
    /// Users of the load, all threads together.
    members: u32,
    /// Whether the load is over and connections are being closed.
    ending: Cell<bool>,
    /// Connections that are not to end without a word.
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
    pub(crate) http2: Option<http2::Plan>,
    pub(crate) flows: Option<Arc<flow::Plan>>,
    pub(crate) pages: Option<Arc<pages::Plan>>,
}

impl What {
    /// What `load` says, its files read and everything checked.
    pub(crate) fn read(load: &Load) -> Result<What, EngineError> {
        Ok(What {
            message: Message::render(&load.request, load.reuse)?,
            road: Road::plan(load)?,
            websocket: websocket::Plan::read(load)?,
            http2: http2::Plan::read(load)?,
            flows: flow::Plan::read(load)?,
            pages: pages::Plan::read(load)?,
        })
    }
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
    pub(crate) fn new(job: Job, load: &Load, clock: Clock) -> io::Result<Rc<Core>> {
        let ledger = Ledger::new(load.tick.0, load.stop.after.0, job.share.quota, job.outbox);
        Ok(Rc::new(Core {
            clock,
            alarm: Rc::new(Alarm::new(clock)?),
            watch: Watch::default(),
            ledger: RefCell::new(ledger),
            buffer: RefCell::new(vec![0; BUFFER].into_boxed_slice()),
            heads: RefCell::default(),
            stamps: load.kernel_timestamps,
            message: job.what.message,
            reuse: load.reuse,
            timeout: load.timeout.0,
            way: Rc::new(Way::new(&job.what.road, job.share.thread as usize)),
            sources: Sources::new(job.what.road.sources, job.share.thread as usize),
            seed: load.seed,
            members: match load.arrivals {
                Arrivals::Users { count, .. } => count,
                Arrivals::Rate { .. } => 0,
            },
            ending: Cell::new(false),
            talks: Cell::new(0),
            scratch: RefCell::default(),
            out: RefCell::default(),
            payload: RefCell::default(),
            random: RefCell::new(Pcg64Mcg::seed_from_u64(load.seed ^ u64::from(job.share.thread) << 40)),
            roster: Roster::default(),
        }))
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

    /// A connection was opened that is not to end without a word (1), or has ended (-1): WebSocket, HTTP/2.
    pub(crate) fn talking(&self, by: isize) {
        self.talks.set(self.talks.get().saturating_add_signed(by));
    }
}

/// Makes the load of `job`, from moment zero of `clock` to its end.
pub(crate) fn work(reactor: &Reactor, load: &Load, job: Job, clock: Clock) -> io::Result<Left> {
    let (share, stop, abort) = (job.share.clone(), job.stop.clone(), job.abort.clone());
    let spoken = Spoken {
        websocket: job.what.websocket.clone().map(Rc::new),
        http2: job.what.http2.clone(),
        pages: job.what.pages.clone().map(|plan| Rc::new(Row::new(plan))),
    };
    let flows = job.what.flows.clone();
    let made = reactor.block_on(async {
        let core = Core::new(job, load, clock)?;
        spawn(Rc::clone(&core.alarm).ring());
        match flows {
            Some(plan) => spawn(admit(Rc::clone(&core), share, plan)),
            None => spawn(arrive(Rc::clone(&core), share, spoken)),
        }
        let stopped = supervise(&core, [&stop, &abort]).await;
        take_leave(&core, &abort).await;
        let abandoned = core.ledger.borrow_mut().close(core.clock.now());
        Ok(Left { abandoned, stopped, attendees: core.roster.close() })
    });
    // Dropping the loop drops every task, and with it every connection.
    made.flatten()
}

/// Looks after the thread until its load is over; whether it was stopped.
async fn supervise(core: &Core, stops: [&StopFlag; 2]) -> bool {
    let period = Watch::period(core.timeout);
    loop {
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

/// Closing handshakes go on for as long as servers answer: until none has for so long.
const LEAVE: Moment = 1_000_000_000;
/// And in all no longer than so.
const LEAVE_MOST: Moment = 60_000_000_000;

/// Closes WebSockets and HTTP/2 connections the way they are to be closed, as far as servers answer in time.
async fn take_leave(core: &Core, abort: &StopFlag) {
    let now = core.clock.now();
    core.ledger.borrow_mut().end(now);
    core.ending.set(true);
    core.watch.wake_all();
    let (mut left, mut limit) = (core.talks.get(), now + LEAVE);
    while left > 0 && core.clock.now() < limit.min(now + LEAVE_MOST) && !abort.is_stopped() {
        core.alarm.until(core.clock.now() + LEAVE / 200).await;
        if core.talks.get() < left {
            (left, limit) = (core.talks.get(), core.clock.now() + LEAVE);
        }
    }
}

/// Starts users, or places requests, when they are planned.
async fn arrive(core: Rc<Core>, share: Share, spoken: Spoken) {
    let (thread, model) = (u64::from(share.thread), share.model);
    let desk = Desk::open(&core, &share, spoken);
    let mut row = 0;
    for (n, Arrival { at: planned, until }) in share.pacer.enumerate() {
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
            Model::Closed { think } => Thinker::new(think, core.seed, thread << 32 | n as u64, until),
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
                        seat(&core, plan, share.threads * n as u32 + share.thread, first)
                    }
                    Some(_) => spawn(converse(Rc::clone(&core), session, think, first)),
                    None => spawn(hold(Box::new(session), first.planned, until)),
                }
            }
            _ => desk.begin(&core, Turns::User(think), first),
        }
    }
}

/// Starts users of a scenario when they are planned.
async fn admit(core: Rc<Core>, share: Share, plan: Arc<flow::Plan>) {
    let most = match share.model {
        Model::Open { connections } => connections,
        Model::Closed { .. } => u32::MAX,
    };
    let company = Rc::new(Company::new(&core, plan, (share.thread, share.threads), most));
    let mut row = 0;
    for (n, arrival) in share.pacer.enumerate() {
        row = if core.clock.now() < arrival.at { 0 } else { row + 1 };
        if row >= ARRIVALS {
            row = 0;
            yield_now().await;
        }
        core.alarm.until(arrival.at).await;
        if core.ledger.borrow_mut().is_spent(core.clock.now()) {
            break;
        }
        if !company.enter(&core, arrival.at) {
            continue;
        }
        let (of, number) = (Rc::clone(&company), number(share.thread, n));
        match share.model {
            Model::Closed { .. } => spawn(flow::stay(Rc::clone(&core), of, arrival, number)),
            Model::Open { .. } => spawn(flow::once(Rc::clone(&core), of, arrival, number)),
        }
    }
    company.close(&core);
}

/// Starts the member `number` of chat rooms.
fn seat(core: &Rc<Core>, plan: &Rc<websocket::Plan>, number: u32, first: Turn) {
    let Some(rooms) = plan.rooms.clone() else { return };
    let who = core.roster.add(Attendee::new(number, core.members, &rooms));
    let session = Session::new(Rc::clone(core), Rc::clone(plan), number).of_member(Rc::clone(&who));
    spawn(attend(Rc::clone(core), session, rooms, who, first));
}

/// Number of the `n`-th WebSocket connection of a thread, one of a kind in the load.
fn number(thread: u32, n: usize) -> u32 {
    thread << TALK_BITS | n as u32
}

/// What is spoken, if it is not one request in HTTP/1.1.
struct Spoken {
    websocket: Option<Rc<websocket::Plan>>,
    http2: Option<http2::Plan>,
    pages: Option<Rc<Row>>,
}

/// What HTTP requests ask for.
enum Asking {
    /// The load's request.
    Request,
    /// The same in HTTP/2: its connections, and what is asked for on them.
    Streams(Rc<Fleet>, Arc<Prepared>),
    /// One object after the other.
    Pages(Rc<Row>),
}

impl Asking {
    /// On at most so many connections.
    fn of(core: &Rc<Core>, spoken: Spoken, most: u32) -> Asking {
        match (spoken.http2, spoken.pages) {
            (Some(plan), _) => Asking::Streams(Fleet::new(core, &core.way, plan.streams, most), plan.request),
            (None, Some(row)) => Asking::Pages(row),
            (None, None) => Asking::Request,
        }
    }
}

/// Where arrivals go.
enum Desk {
    /// HTTP.
    Queue(Rc<Queue>, Asking),
    /// WebSocket, closed model: each user has a connection.
    Talks(Rc<websocket::Plan>),
    /// WebSocket, open model.
    Room(Rc<Room>),
}

impl Desk {
    fn open(core: &Rc<Core>, share: &Share, mut spoken: Spoken) -> Desk {
        match (spoken.websocket.take(), share.model) {
            (None, Model::Open { connections }) => {
                let streams = spoken.http2.as_ref().map_or(1, |plan| plan.streams);
                let asking = Asking::of(core, spoken, connections);
                Desk::Queue(Rc::new(Queue::new(connections.saturating_mul(streams))), asking)
            }
            (None, Model::Closed { .. }) => Desk::Queue(Rc::new(Queue::new(0)), Asking::of(core, spoken, u32::MAX)),
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
                        spawn(carry(Rc::clone(&core), session, inbox));
                    }
                };
                openings.next().into_iter().for_each(|(n, _)| admit(n));
                let waits = Rc::clone(core);
                spawn(async move {
                    for (n, Arrival { at, .. }) in openings {
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

    /// Starts one who makes requests.
    fn begin(&self, core: &Rc<Core>, turns: Turns, first: Turn) {
        match self {
            Desk::Queue(_, Asking::Streams(fleet, request)) => spawn(live(Repeater::new(fleet, request), turns, first)),
            Desk::Queue(_, Asking::Pages(row)) => {
                spawn(live(Visitor::new(Connection::new(Rc::clone(core)), row), turns, first))
            }
            _ => spawn(live(Connection::new(Rc::clone(core)), turns, first)),
        }
    }

    /// Places a planned request or message, which has been claimed.
    fn place(&self, core: &Rc<Core>, first: Turn) {
        let placed = match self {
            Desk::Queue(queue, _) => match queue.place(first.planned) {
                Due::Placed => true,
                Due::Open => {
                    self.begin(core, Turns::Pool(Rc::clone(queue)), first);
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
