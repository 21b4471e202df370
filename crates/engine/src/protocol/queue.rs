//! Planned requests and the connections that carry them (open model).
//!
//! A due request takes the connection that became idle last (so few stay warm and the rest may be closed); else opens another
//! while there may be more; else waits its turn. Waiting counts into its latency, which began when it was planned. The
//! queue is bounded twice, in length and in time: beyond either a request is [`Dropped`](ErrorKind::Dropped), which is the client's
//! doing and said so.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use genkai_model::error::ErrorKind;

use super::core::Core;
use super::request::{Channel, ScheduledRequest};
use crate::clock::Moment;
use crate::transport::deadline::Slot;

/// Most requests that wait, in one thread: half a megabyte.
const LONGEST: usize = 65_536;

/// Requests that wait and connections that do, of one thread.
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: RefCell<VecDeque<Moment>>,
    /// Connections that became idle; some may have been closed since. No more than `most` in all, because a new connection
    /// is opened only when none is left here.
    idle: RefCell<Vec<Rc<Slot>>>,
    /// Connections that exist (open, opening).
    open: Cell<u32>,
    /// Connections that may exist.
    most: u32,
}

/// What became of a due request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// An idle connection has it.
    Placed,
    /// It waits for a busy one.
    Queued,
    /// It needs a new connection.
    Open,
    /// There is no room to wait.
    Dropped,
}

impl Queue {
    pub(crate) fn new(most: u32) -> Queue {
        Queue { waiting: RefCell::default(), idle: RefCell::default(), open: Cell::new(0), most }
    }

    /// Places a request that is due.
    pub(crate) fn place(&self, planned: Moment) -> Due {
        while let Some(slot) = self.idle.borrow_mut().pop() {
            if slot.idle.take() {
                slot.handed.set(Some(planned));
                slot.wake();
                return Due::Placed;
            }
        }
        if self.open.get() < self.most {
            self.open.set(self.open.get() + 1);
            return Due::Open;
        }
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() >= LONGEST {
            return Due::Dropped;
        }
        waiting.push_back(planned);
        Due::Queued
    }

    /// The next request for `connection`, which has just ended one; `None` when it is closed and nothing waits.
    pub(crate) async fn next(&self, connection: &mut impl Channel) -> Option<ScheduledRequest> {
        let core = Rc::clone(connection.core());
        if let Some(planned) = self.first_in_time(&core) {
            return Some(ScheduledRequest { planned, prompt: false });
        }
        if !connection.is_open() {
            self.open.set(self.open.get() - 1);
            return None;
        }
        connection.slot().idle.set(true);
        self.idle.borrow_mut().push(Rc::clone(connection.slot()));
        let handed = connection.await_hand_over().await;
        if handed.is_none() {
            connection.slot().idle.set(false);
            self.open.set(self.open.get() - 1);
        }
        handed.map(|planned| ScheduledRequest { planned, prompt: true })
    }

    /// The request that waits longest, dropping those that have waited too long to be worth sending.
    fn first_in_time(&self, core: &Core) -> Option<Moment> {
        first_in_time(&self.waiting, core)
    }
}

/// The instant that waits longest in `planned`, dropping those that have waited too long to be worth sending. None once the load is over: what waits then
/// is told as never sent, and is not.
pub(crate) fn first_in_time(planned: &RefCell<VecDeque<Moment>>, core: &Core) -> Option<Moment> {
    if core.ledger.borrow_mut().over(core.clock.now()) {
        return None;
    }
    loop {
        let planned = planned.borrow_mut().pop_front()?;
        core.ledger.borrow_mut().unqueued(1);
        let now = core.clock.now();
        if now.saturating_sub(planned) <= core.timeout {
            return Some(planned);
        }
        core.ledger.borrow_mut().failed(now, planned, ErrorKind::Dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_first_then_new_then_wait_then_drop() {
        let queue = Queue::new(2);
        assert_eq!([queue.place(0), queue.place(1), queue.place(2)], [Due::Open, Due::Open, Due::Queued]);
        assert_eq!(queue.waiting.borrow().front(), Some(&2));
        let [long_idle, just_idle, closed] = [true, true, false].map(|idle| {
            let slot = Slot::default();
            slot.idle.set(idle);
            Rc::new(slot)
        });
        queue.idle.borrow_mut().extend([&long_idle, &just_idle, &closed].map(Rc::clone));
        assert_eq!(queue.place(3), Due::Placed);
        assert_eq!((just_idle.handed.take(), long_idle.handed.take()), (Some(3), None));
        assert_eq!(queue.place(4), Due::Placed);
        assert_eq!((long_idle.handed.take(), closed.handed.take()), (Some(4), None));
        for n in 1..LONGEST as u64 {
            assert_eq!(queue.place(n), Due::Queued);
        }
        assert_eq!(queue.place(9), Due::Dropped);
    }
}
