//! What arrivals are where WebSocket is spoken: users with a connection each (closed model), or messages for the connections of a
//! pool (open model).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use genkai_model::units::Spread;

use super::loops::{Outbox, carry, converse, hold};
use super::plan::Plan;
use super::session::Session;
use crate::clock::Moment;
use crate::protocol::core::Core;
use crate::protocol::dispatch::Protocol;
use crate::protocol::request::ScheduledRequest;
use crate::protocol::users::Thinker;
use crate::schedule::pacer::Arrival;
use crate::schedule::share::Share;
use crate::transport::reactor::spawn;

/// Closed model: users who wait for the echo of each message; or who hold a connection, where there are no messages.
pub(crate) struct Users {
    core: Rc<Core>,
    plan: Rc<Plan>,
    share: Share,
    think: Spread,
}

impl Users {
    /// The users of `share`, who pause as `think` says.
    pub(crate) fn new(core: &Rc<Core>, plan: Rc<Plan>, share: &Share, think: Spread) -> Users {
        Users { core: Rc::clone(core), plan, share: share.clone(), think }
    }
}

impl Protocol for Users {
    fn arrive(&self, n: usize, arrival: Arrival) -> bool {
        let core = &self.core;
        if !core.claim() {
            return false;
        }
        let session = Session::new(Rc::clone(core), Rc::clone(&self.plan), self.share.connection_number(n));
        if self.plan.message.is_none() {
            spawn(hold(Box::new(session), arrival.at, arrival.until));
            return true;
        }
        let thinker = Thinker::new(self.think, core.seed, self.share.thread, n, arrival.until);
        spawn(converse(Rc::clone(core), session, thinker, ScheduledRequest::first(core, arrival.at)));
        true
    }
}

/// Open model: connections that are opened one after the other; each message goes to the next of them, in turn.
pub(crate) struct Pool {
    core: Rc<Core>,
    outboxes: Rc<RefCell<Vec<Rc<Outbox>>>>,
    turn: Cell<usize>,
}

impl Pool {
    /// Opens the connections of `share`.
    pub(crate) fn new(core: &Rc<Core>, plan: Rc<Plan>, share: &Share) -> Pool {
        let outboxes: Rc<RefCell<Vec<Rc<Outbox>>>> = Rc::default();
        let (mine, share, all) = (Rc::clone(core), share.clone(), Rc::clone(&outboxes));
        let mut openings = share.openings.clone().enumerate();
        let open = move |n| {
            let session = Session::new(Rc::clone(&mine), Rc::clone(&plan), share.connection_number(n));
            let outbox = Rc::new(Outbox::new(&session));
            all.borrow_mut().push(Rc::clone(&outbox));
            spawn(carry(Rc::clone(&mine), session, outbox));
        };
        // The first is there before the first message.
        openings.next().into_iter().for_each(|(n, _)| open(n));
        let waits = Rc::clone(core);
        spawn(async move {
            for (n, Arrival { at, .. }) in openings {
                waits.alarm.until(at).await;
                if waits.is_ending() {
                    return;
                }
                open(n);
            }
        });
        Pool { core: Rc::clone(core), outboxes, turn: Cell::new(0) }
    }

    /// Hands over a message that is due; whether there was a connection with room for it.
    fn place(&self, planned: Moment) -> bool {
        let outboxes = self.outboxes.borrow();
        let turn = self.turn.get();
        self.turn.set(turn.wrapping_add(1));
        turn.checked_rem(outboxes.len()).is_some_and(|at| outboxes[at].push(planned))
    }
}

impl Protocol for Pool {
    fn arrive(&self, _: usize, arrival: Arrival) -> bool {
        if !self.core.claim() {
            return false;
        }
        if self.place(arrival.at) {
            self.core.ledger.borrow_mut().queued();
        } else {
            self.core.dropped(arrival.at);
        }
        true
    }
}
