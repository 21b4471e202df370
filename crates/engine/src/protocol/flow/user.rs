//! One virtual user: its variables, its connections, its way through the steps.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use genkai_model::error::ErrorKind;
use genkai_model::load::FAILURE_PACE;
use genkai_model::units::Span;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::cookies::Jar;
use super::plan::{Op, Pause, Plan, Rounds};
use super::seats::{Seat, Seats};
use super::value::{Value, Writer};
use crate::clock::{Moment, NEVER};
use crate::protocol::connection::Connection;
use crate::protocol::core::Core;
use crate::protocol::dispatch::Protocol;
use crate::protocol::http1::Message;
use crate::protocol::http2::{Pool, Prepared, Requester};
use crate::protocol::request::Channel;
use crate::protocol::users::sample;
use crate::protocol::websocket::Session;
use crate::schedule::pacer::Arrival;
use crate::schedule::share::{Model, Share};
use crate::transport::endpoint::{Endpoint, Route};
use crate::transport::reactor::{spawn, yield_now};

/// Most operations in a row that wait for nothing, before others get their turn.
const ROW: u32 = 64;

/// What the users of one thread have in common.
pub(super) struct UserGroup {
    pub(super) plan: Arc<Plan>,
    pub(super) endpoints: Vec<Rc<Endpoint>>,
    /// Connections of targets whose requests are HTTP/2.
    pub(super) fleets: Vec<Option<Rc<Pool>>>,
    thread: u64,
    threads: u64,
    /// Runs begun so far.
    runs: Cell<u64>,
    /// Users there are now.
    present: Cell<u32>,
    /// Users there may be (open model).
    most: u32,
    /// Whether all users have arrived.
    complete: Cell<bool>,
}

impl UserGroup {
    /// The users of `share`.
    fn new(core: &Rc<Core>, plan: Arc<Plan>, share: &Share) -> UserGroup {
        let endpoint = |route: &Route| Rc::new(Endpoint::new(route, share.thread as usize));
        let pool = |(route, streams): &(Route, u32)| Pool::new(core, &endpoint(route), (*streams, u32::MAX), false);
        UserGroup {
            endpoints: plan.targets.iter().map(|target| endpoint(&target.route)).collect(),
            fleets: plan.targets.iter().map(|target| target.http2.as_ref().map(pool)).collect(),
            plan,
            thread: share.thread.into(),
            threads: share.threads.into(),
            runs: Cell::new(0),
            present: Cell::new(0),
            most: share.connections(),
            complete: Cell::new(false),
        }
    }

    /// Lets another user in, if there is room; else counts it.
    fn enter(&self, core: &Core, planned: Moment) -> bool {
        if self.present.get() < self.most {
            self.present.set(self.present.get() + 1);
            return true;
        }
        let now = core.clock.now();
        let mut ledger = core.ledger.borrow_mut();
        if !self.plan.skip {
            if ledger.claim(now) {
                ledger.failed(now, planned, ErrorKind::Dropped);
            }
        } else if let Some(flows) = ledger.flows(now) {
            flows.counts.skipped += 1;
        }
        false
    }

    /// Nobody will come any more: the load ends with the last who is there.
    fn close(&self, core: &Core) {
        self.complete.set(true);
        self.look(core);
    }

    fn leave(&self, core: &Core) {
        self.present.set(self.present.get() - 1);
        self.look(core);
    }

    fn look(&self, core: &Core) {
        if self.complete.get() && self.present.get() == 0 {
            core.ledger.borrow_mut().finish_at(core.clock.now());
        }
    }
}

/// Users of a scenario, as one thread starts them.
pub(crate) struct Users {
    core: Rc<Core>,
    group: Rc<UserGroup>,
    share: Share,
}

impl Users {
    /// Those of `share`.
    pub(crate) fn new(core: &Rc<Core>, plan: Arc<Plan>, share: &Share) -> Users {
        Users { core: Rc::clone(core), group: Rc::new(UserGroup::new(core, plan, share)), share: share.clone() }
    }
}

impl Users {
    /// What the thread has.
    pub(super) fn core(&self) -> Rc<Core> {
        Rc::clone(&self.core)
    }

    /// The seats that its users may take.
    pub(super) fn seats(&self) -> Rc<Seats> {
        Seats::new(self.group.plan.flows(), (self.share.thread, self.share.threads))
    }

    /// The `n`-th user of the thread takes a seat, which has been wanted since then.
    pub(super) fn seat(&self, n: usize, seat: Seat, since: Moment) {
        let Users { core, group, share } = self;
        if group.enter(core, since) {
            let number = share.connection_number(n);
            let user = User::new(Rc::clone(core), Rc::clone(group), number, NEVER);
            spawn(stay(User { seat: Some(seat), ..user }, since));
        }
    }
}

impl Protocol for Users {
    fn arrive(&self, n: usize, arrival: Arrival) -> bool {
        let Users { core, group, share } = self;
        if core.ledger.borrow_mut().is_spent(core.clock.now()) {
            return false;
        }
        if group.enter(core, arrival.at) {
            let user = User::new(Rc::clone(core), Rc::clone(group), share.connection_number(n), arrival.until);
            match share.model {
                Model::Closed { .. } => spawn(stay(user, arrival.at)),
                Model::Open { .. } => spawn(once(user, arrival.at)),
            }
        }
        true
    }

    fn complete(&self) {
        self.group.close(&self.core);
    }
}

/// A user of the closed model, who begins again and again until it is to leave.
async fn stay(mut user: User, first: Moment) {
    let mut planned = first;
    loop {
        let whole = user.run(planned).await;
        if user.is_over() {
            break;
        }
        let now = user.core.clock.now();
        planned = if whole { now } else { now.max(planned.saturating_add(FAILURE_PACE.0)) };
        if planned > now {
            user.rest(planned).await;
        }
        // A flow that waits for nothing must not keep the thread to itself.
        yield_now().await;
    }
    user.leave().await;
}

/// A user of the open model, who comes for one run.
async fn once(mut user: User, planned: Moment) {
    user.run(planned).await;
    user.leave().await;
}

/// One virtual user.
pub(super) struct User {
    pub(super) core: Rc<Core>,
    pub(super) group: Rc<UserGroup>,
    pub(super) slots: Vec<Option<Value>>,
    pub(super) random: Pcg64Mcg,
    /// What asks each target, once it was needed.
    pub(super) clients: Vec<Option<TargetClient>>,
    pub(super) session: Option<Session>,
    /// When the last message was planned and sent, if none was waited for since.
    pub(super) last_sent: Option<(Moment, Moment)>,
    pub(super) cookies: Jar,
    /// The request, and text in the making; kept for their memory.
    pub(super) message: Message,
    /// The request, where it is HTTP/2.
    pub(super) prepared: Option<Prepared>,
    pub(super) text: String,
    /// When the next step is planned; within a step, the next request of a redirection.
    pub(super) planned: Moment,
    /// When an answer was there, if nothing was begun since.
    pub(super) answered: Option<Moment>,
    until: Moment,
    /// Where somebody says how many users there are.
    seat: Option<Seat>,
    pub(super) number: u32,
}

/// How a user's requests get to a target.
pub(super) enum TargetClient {
    /// HTTP/1.1: over a connection of its own.
    Own(Box<Connection>),
    /// HTTP/2: over one that it shares.
    Requester(Requester),
}

/// The run ends here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// Something went wrong.
    Broken,
    /// The load is over, or the user is to leave.
    Over,
}

/// A loop that is being done.
struct Round {
    begin: usize,
    done: u64,
    of: Option<u64>,
    elements: Option<Vec<Value>>,
}

impl User {
    fn new(core: Rc<Core>, group: Rc<UserGroup>, number: u32, until: Moment) -> User {
        // Golden-ratio steps keep the seeds of neighbours apart.
        let seed = core.seed ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        User {
            slots: vec![None; group.plan.slots],
            random: Pcg64Mcg::seed_from_u64(seed),
            clients: group.endpoints.iter().map(|_| None).collect(),
            session: None,
            last_sent: None,
            cookies: Jar::default(),
            message: Message::empty(),
            prepared: None,
            text: String::new(),
            planned: 0,
            answered: None,
            until,
            seat: None,
            number,
            core,
            group,
        }
    }

    /// Whether nothing more is to be begun.
    pub(super) fn is_over(&self) -> bool {
        let now = self.core.clock.now();
        let unwanted = now >= self.until || self.seat.as_ref().is_some_and(Seat::is_unwanted);
        self.core.is_ending() || unwanted || self.core.ledger.borrow_mut().is_spent(now)
    }

    /// Goes through a flow once; whether to its end.
    async fn run(&mut self, planned: Moment) -> bool {
        let group = Rc::clone(&self.group);
        let run = group.runs.replace(group.runs.get() + 1);
        group.plan.fill(&mut self.slots, &mut self.random, (run, group.thread, group.threads));
        self.cookies.clear();
        self.planned = planned;
        let flow = match &self.seat {
            Some(seat) => seat.flow,
            None => group.plan.choose(&mut self.random),
        };
        self.count(|counts| counts.started += 1);
        let ended = self.steps(&group.plan, flow).await;
        self.hang_up().await;
        match ended {
            Ok(()) => self.completed(),
            Err(Halt::Broken) => self.count(|counts| counts.broken += 1),
            Err(Halt::Over) => {}
        }
        ended != Err(Halt::Broken)
    }

    fn count(&self, count: impl FnOnce(&mut genkai_model::flows::Flows)) {
        let now = self.core.clock.now();
        if let Some(flows) = self.core.ledger.borrow_mut().flows(now) {
            count(&mut flows.counts);
        }
    }

    /// The run came to its end, maybe with the last answer of the load.
    fn completed(&self) {
        let now = self.core.clock.now();
        let mut ledger = self.core.ledger.borrow_mut();
        if let Some(flows) = ledger.flows_with(now, self.answered.unwrap_or(now)) {
            flows.counts.completed += 1;
        }
    }

    async fn steps(&mut self, plan: &Plan, flow: usize) -> Result<(), Halt> {
        let steps = &plan.flow(flow).steps;
        let (mut at, mut rounds, mut row) = (0, Vec::<Round>::new(), 0);
        while let Some(op) = steps.get(at) {
            row += 1;
            if row >= ROW {
                row = 0;
                yield_now().await;
            }
            at += 1;
            if let Op::Back(begin) = op {
                at = *begin;
                continue;
            }
            if let Op::Begin { times, slot, end } = op {
                let round = match rounds.pop_if(|round| round.begin == at - 1) {
                    Some(round) => round,
                    None => self.round(times, at - 1),
                };
                match self.next_round(round, *slot) {
                    Some(_) if self.is_over() => return Err(Halt::Over),
                    Some(round) => rounds.push(round),
                    // With its last round nothing more was to be done.
                    None => at = *end,
                }
                continue;
            }
            if self.is_over() {
                return Err(Halt::Over);
            }
            self.answered = None;
            match op {
                Op::Request(step) => self.request(plan, step).await?,
                Op::Connect(step) => self.connect(plan, step).await?,
                Op::Send(step) => self.send(step).await?,
                Op::Expect(step) => self.expect(step).await?,
                Op::Think(pause) => self.think(pause).await,
                Op::Begin { .. } | Op::Back(_) => {}
            }
        }
        Ok(())
    }

    /// A loop that begins.
    fn round(&mut self, times: &Rounds, begin: usize) -> Round {
        let elements = match times {
            Rounds::Over(values) => Some(values.clone()),
            Rounds::Elements(slot) => Some(self.slots[*slot].as_ref().and_then(Value::elements).unwrap_or_default()),
            _ => None,
        };
        let of = match times {
            Rounds::Count(n) => Some(*n),
            Rounds::Forever => None,
            // What is not a number is no round.
            Rounds::Written(writer) => {
                Some(self.written(writer).and_then(|text| text.trim().parse().ok()).unwrap_or(0))
            }
            Rounds::Over(_) | Rounds::Elements(_) => elements.as_ref().map(|list| list.len() as u64),
        };
        Round { begin, done: 0, of, elements }
    }

    /// Another round, with its variable, if there is one.
    fn next_round(&mut self, mut round: Round, slot: usize) -> Option<Round> {
        if round.of.is_some_and(|of| round.done >= of) {
            return None;
        }
        self.slots[slot] = Some(match &round.elements {
            Some(list) => list[round.done as usize].clone(),
            None => Value::Json(Arc::new(round.done.into())),
        });
        round.done += 1;
        Some(round)
    }

    /// A template's text; none when a variable is missing.
    pub(super) fn written(&mut self, writer: &Writer) -> Option<String> {
        let mut out = String::new();
        writer.write(&mut out, &self.slots, &mut self.random).ok().map(|()| out)
    }

    async fn think(&mut self, pause: &Pause) {
        let span = match pause {
            Pause::Spread(spread) => sample(*spread, &mut self.random),
            Pause::Written(writer) => {
                self.written(writer).and_then(|text| text.parse::<Span>().ok()).unwrap_or_default().0
            }
        };
        self.planned = self.planned.saturating_add(span).min(self.until);
        self.rest(self.planned).await;
    }

    /// Waits until `at`, or the end of the load. Connections that are closed meanwhile are noticed.
    async fn rest(&mut self, at: Moment) {
        if let Some(session) = &mut self.session {
            session.rest(at).await;
            return;
        }
        let own = self.clients.iter_mut().flatten().find_map(|client| match client {
            TargetClient::Own(connection) if connection.is_open() => Some(connection),
            _ => None,
        });
        match own {
            Some(connection) => connection.rest(at).await,
            None => pin!(self.core.alarm.until(at)).await,
        }
    }

    /// Closes what the run opened besides its kept connections.
    async fn hang_up(&mut self) {
        self.last_sent = None;
        if let Some(mut session) = self.session.take() {
            session.finish().await;
        }
    }

    async fn leave(mut self) {
        self.hang_up().await;
        self.clients.clear();
        self.group.leave(&self.core);
    }
}
