//! Who makes requests, one at a time: a closed user, or a worker of the open model.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use genkai_model::error::ErrorKind;
use genkai_wire::http1::Received;

use super::driver::drive;
use super::exchange::{Exchange, Kept, Outcome};
use super::plan::Prepared;
use super::pool::Pool;
use super::shared::{SharedConnection, State};
use crate::clock::Moment;
use crate::measure::attempt::Attempt;
use crate::protocol::core::Core;
use crate::protocol::request::{Channel, ScheduledRequest};
use crate::transport::deadline::Slot;
use crate::transport::reactor::spawn;

/// How often a request that GOAWAY left out is made anew before it counts as failed.
pub(super) const MOST_TRIES: u32 = 8;

/// One who has a stream on a connection, or looks for one.
pub(crate) struct Requester {
    pool: Rc<Pool>,
    slot: Rc<Slot>,
    shared: Option<Rc<SharedConnection>>,
}

impl Requester {
    /// One without a stream.
    pub(crate) fn new(pool: &Rc<Pool>) -> Requester {
        Requester { slot: pool.core.deadlines.slot(), pool: Rc::clone(pool), shared: None }
    }

    /// Makes a request, whatever that needs; none when the load is over before it ended. It must have been taken up; that it is
    /// written is counted, how it went is the caller's to count.
    pub(crate) async fn attempt(
        &mut self,
        scheduled: ScheduledRequest,
        request: &Prepared,
        kept: &mut Kept,
        timeout: Moment,
    ) -> Option<Attempt> {
        let core = Rc::clone(&self.pool.core);
        let prompt = scheduled.prompt && self.is_open();
        if scheduled.prompt && !prompt {
            let now = core.clock.now();
            core.ledger.borrow_mut().began(now, now.saturating_sub(scheduled.planned));
        }
        let (mut written, mut tries) = (scheduled.planned, 0);
        let outcome = loop {
            if let Err(kind) = self.acquire().await {
                break Outcome::Failed(kind);
            }
            if core.is_ending() {
                return None;
            }
            let first = tries == 0;
            kept.clear();
            let outcome = self.exchange(request, kept, timeout, |now| {
                written = now;
                if first {
                    core.ledger.borrow_mut().sent(now, prompt.then(|| now.saturating_sub(scheduled.planned)));
                }
            });
            match outcome.await {
                Outcome::LeftOut { written: was_written } if tries < MOST_TRIES => {
                    if was_written {
                        tries += 1;
                        core.ledger.borrow_mut().retried(core.clock.now());
                    }
                    self.leave();
                }
                outcome => break outcome,
            }
        };
        self.slot.disarm();
        let now = core.clock.now();
        let (at, outcome) = match outcome {
            Outcome::Status(status, at) => (at.max(written), Ok(Received { status, persistent: true })),
            Outcome::Failed(kind) => (now, Err(kind)),
            Outcome::LeftOut { .. } => (now, Err(ErrorKind::GoAway)),
            Outcome::Over => return None,
        };
        Some(Attempt { written, at, now, outcome })
    }

    /// After a request: gives the stream up where others wait for it, or the connection was for one request.
    pub(crate) fn after(&mut self) {
        if self.pool.once || self.pool.is_wanted() {
            self.leave();
        }
    }

    /// Waits for a stream on an open connection, or the end of the load.
    pub(crate) async fn acquire(&mut self) -> Result<(), ErrorKind> {
        if self.is_open() && self.has_place() {
            return Ok(());
        }
        let core = Rc::clone(&self.pool.core);
        let now = core.clock.now();
        self.slot.ask(now, now.saturating_add(core.timeout));
        let mut queued = false;
        let found = poll_fn(|cx| {
            self.slot.attend(cx.waker());
            loop {
                if core.is_ending() {
                    return Poll::Ready(Ok(()));
                }
                let Some(shared) = &self.shared else {
                    self.shared = self.pool.acquire(|shared| spawn(drive(Rc::clone(&self.pool), Rc::clone(shared))));
                    if self.shared.is_some() {
                        continue;
                    }
                    if self.slot.expired() {
                        return Poll::Ready(Err(ErrorKind::Dropped));
                    }
                    self.pool.tell(&self.slot, &mut queued);
                    return Poll::Pending;
                };
                match shared.state.get() {
                    State::Open if self.has_place() => return Poll::Ready(Ok(())),
                    State::Opening => {
                        // It has deadlines of its own.
                        shared.tell(&self.slot);
                        return Poll::Pending;
                    }
                    State::Failed(kind) => {
                        self.leave();
                        return Poll::Ready(Err(kind));
                    }
                    State::Open | State::Leaving | State::Gone => self.leave(),
                }
            }
        })
        .await;
        // What waits when the load ends is told as never sent.
        if queued && !core.is_ending() {
            core.ledger.borrow_mut().unqueued(1);
        }
        found
    }

    /// Whether the connection still allows as many as it has.
    fn has_place(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.requesters.get() <= shared.room.get())
    }

    /// Gives the stream back.
    fn leave(&mut self) {
        if let Some(shared) = self.shared.take() {
            self.pool.release(&shared);
        }
    }

    /// Sends the request, receives the response. `begun` gets the moment of writing.
    pub(crate) async fn exchange(
        &self,
        request: &Prepared,
        kept: &mut Kept,
        timeout: Moment,
        begun: impl FnOnce(Moment),
    ) -> Outcome {
        let Some(shared) = self.shared.as_deref() else { return Outcome::LeftOut { written: false } };
        let core = &self.pool.core;
        let mut exchange = match Exchange::begin(request, shared) {
            Ok(exchange) => exchange,
            Err(outcome) => return outcome,
        };
        let now = core.clock.now();
        self.slot.ask(now, now.saturating_add(timeout));
        begun(now);
        let outcome = poll_fn(|cx| {
            if core.is_ending() {
                return Poll::Ready(Outcome::Over);
            }
            if self.slot.expired() {
                return Poll::Ready(Outcome::Failed(ErrorKind::Timeout));
            }
            self.slot.attend(cx.waker());
            exchange.poll(cx, kept)
        })
        .await;
        if matches!(outcome, Outcome::Failed(ErrorKind::Timeout)) && shared.last_read.get() < now {
            // Nothing at all has come meanwhile: what is sent on it next would fare no better.
            shared.give_up();
        }
        outcome
    }
}

impl Channel for Requester {
    fn core(&self) -> &Rc<Core> {
        &self.pool.core
    }

    fn slot(&self) -> &Rc<Slot> {
        &self.slot
    }

    fn is_open(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.state.get() == State::Open)
    }

    async fn rest(&mut self, at: Moment) {
        self.pool.core.alarm.until(at).await;
    }

    async fn await_hand_over(&mut self) -> Option<Moment> {
        poll_fn(|cx| {
            if let Some(planned) = self.slot.handed.take() {
                return Poll::Ready(Some(planned));
            }
            self.slot.attend(cx.waker());
            Poll::Pending
        })
        .await
    }
}

impl Drop for Requester {
    fn drop(&mut self) {
        self.leave();
    }
}
