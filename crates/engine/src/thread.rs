//! One engine thread: its event loop, its share of a load, its end.

use std::io;

use genkai_model::load::Load;

use crate::clock::{Clock, Moment};
use crate::hold::Hold;
use crate::measure::ledger::Ledger;
use crate::measure::report::Handover;
use crate::protocol::attendance::Attendee;
use crate::protocol::core::Core;
use crate::protocol::spec::LoadSpec;
use crate::schedule::share::Share;
use crate::stop::StopFlag;
use crate::transport::deadline::Deadlines;
use crate::transport::reactor::{Reactor, spawn};

/// How often a thread looks whether it should stop.
const LOOK: Moment = 20_000_000;

/// What a thread needs to make its share of a load.
pub(crate) struct Job {
    pub(crate) share: Share,
    pub(crate) spec: LoadSpec,
    pub(crate) handover: Handover,
    /// The user's wish to stop.
    pub(crate) stop: StopFlag,
    /// The user's wish to hold the load as it is.
    pub(crate) hold: Hold,
    /// Set when another thread, or who collects, has failed.
    pub(crate) abort: StopFlag,
}

/// What a thread has at the end.
#[derive(Default)]
pub(crate) struct ThreadResult {
    /// Requests that were in flight.
    pub(crate) abandoned: u64,
    /// Whether it ended because it was asked to.
    pub(crate) stopped: bool,
    /// When it began, after moment zero.
    pub(crate) began: Moment,
    /// Members of chat rooms, as they were at the end.
    pub(crate) attendees: Vec<Attendee>,
}

/// Makes the load of `job`, from moment zero of `clock` to its end.
pub(crate) fn work(reactor: &Reactor, load: &Load, job: Job, clock: Clock) -> io::Result<ThreadResult> {
    let Job { share, spec, handover, stop, hold, abort } = job;
    let began = clock.now();
    let result = reactor.block_on(async {
        let ledger = Ledger::new(load.tick.0, load.stop.after.0, share.quota, handover);
        let core = Core::new(load, share.thread, &spec.route, ledger, (clock, hold))?;
        spawn(core.alarm.clone().ring());
        let protocol = spec.start(&core, share);
        let stopped = supervise(&core, load.stop.after.0, [&stop, &abort]).await;
        // Who asked to stop does not wait for echoes: those that have not come are not lost, but in flight.
        close_gracefully(&core, [&stop, &abort], if stopped { 0 } else { core.patience }).await;
        let abandoned = core.ledger.borrow_mut().close(core.clock.now());
        Ok(ThreadResult { abandoned, stopped, began, attendees: protocol.attendees() })
    });
    // Dropping the loop drops every task, and with it every connection.
    result.flatten()
}

/// Looks after the thread until its load is over; whether it was stopped.
async fn supervise(core: &Core, end: Moment, stops: [&StopFlag; 2]) -> bool {
    let period = Deadlines::period(core.timeout);
    loop {
        let now = core.clock.now();
        if let Some(end) = core.look_at_hold(end) {
            core.ledger.borrow_mut().postpone(now, end);
        }
        if core.ledger.borrow_mut().over(now) {
            return false;
        }
        if stops.into_iter().any(StopFlag::is_stopped) {
            return true;
        }
        let sweep = core.deadlines.sweep(now, period);
        let next = core.ledger.borrow().next_look().min(sweep).min(now + LOOK);
        core.alarm.until(next).await;
        let woken = core.clock.now();
        core.ledger.borrow_mut().ran_late(woken, woken.saturating_sub(next.max(now)));
    }
}

/// Closing handshakes go on for as long as servers answer: until none has for so long.
const CLOSING: Moment = 1_000_000_000;
/// And in all no longer than so.
const MOST_CLOSING: Moment = 60_000_000_000;

/// Closes WebSockets and HTTP/2 connections the way they are to be closed, as far as servers answer in time; before, for `grace` at most,
/// echoes of messages that are on their way may come.
async fn close_gracefully(core: &Core, [stop, abort]: [&StopFlag; 2], grace: Moment) {
    let now = core.clock.now();
    core.end(grace);
    let (mut open, mut limit) = (core.sessions(), now + CLOSING);
    while open > 0 && core.clock.now() < limit.min(now + grace + MOST_CLOSING) && !abort.is_stopped() {
        core.alarm.until(core.clock.now() + CLOSING / 200).await;
        if core.draining() > 0 && stop.is_stopped() {
            core.end(0);
        }
        if core.sessions() < open || core.draining() > 0 {
            (open, limit) = (core.sessions(), core.clock.now() + CLOSING);
        }
    }
}
