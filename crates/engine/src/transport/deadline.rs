//! Deadlines of requests: coarse, and free of charge to requests that keep them.
//!
//! A timer per request would cost each request what only the failing ones need. Here a request writes its deadline into its
//! connection's slot; the thread looks over all slots now and then and wakes the tasks whose time is up. So a timeout is noticed up to a
//! sixteenth of its length (at most 100 ms) late.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

use crate::clock::{Moment, NEVER};

/// What the rest of the thread knows of one connection's task.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    deadline: Cell<Option<Moment>>,
    /// Since when a request has waited here for its answer.
    since: Cell<Option<Moment>>,
    expired: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    /// Whether the connection is idle and waits for a request (open model).
    pub(crate) idle: Cell<bool>,
    /// A planned request handed over while it was.
    pub(crate) handed: Cell<Option<Moment>>,
}

impl Slot {
    /// Sets the deadline of what begins now and is no request.
    #[inline]
    pub(crate) fn arm(&self, deadline: Moment) {
        self.deadline.set(Some(deadline));
        self.since.set(None);
        self.expired.set(false);
    }

    /// Sets the deadline of a part of what has begun.
    pub(crate) fn until(&self, deadline: Moment) {
        self.deadline.set(Some(deadline));
        self.expired.set(false);
    }

    /// Sets the deadline of a request that waits for its answer since then.
    #[inline]
    pub(crate) fn ask(&self, since: Moment, deadline: Moment) {
        self.arm(deadline);
        self.since.set(Some(since));
    }

    /// It waits for something of the generator's own first: nobody was asked yet.
    pub(crate) fn not_asked(&self) {
        self.since.set(None);
    }

    /// Nothing to time.
    #[inline]
    pub(crate) fn disarm(&self) {
        self.deadline.set(None);
        self.since.set(None);
    }

    /// Whether the deadline has passed and been noticed.
    #[inline]
    pub(crate) fn expired(&self) -> bool {
        self.expired.get()
    }

    /// Whether there is a deadline to come.
    pub(crate) fn is_armed(&self) -> bool {
        self.deadline.get().is_some()
    }

    /// Remembers whom to wake. A task's waker stays the same, so this is a comparison almost always.
    #[inline]
    pub(crate) fn attend(&self, waker: &Waker) {
        let mut known = self.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
    }

    /// Wakes the task.
    pub(crate) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }
}

/// All slots of a thread.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    slots: RefCell<Vec<Rc<Slot>>>,
    next: Cell<Moment>,
}

impl Deadlines {
    /// A slot that is looked at for as long as somebody else holds it.
    pub(crate) fn slot(&self) -> Rc<Slot> {
        let slot = Rc::new(Slot::default());
        self.slots.borrow_mut().push(Rc::clone(&slot));
        slot
    }

    /// Since when the request has waited that waits longest, and how many began to wait before `before`.
    pub(crate) fn waiting(&self, before: Option<Moment>) -> (Option<Moment>, u64) {
        let slots = self.slots.borrow();
        let since = || slots.iter().filter_map(|slot| slot.since.get());
        let overdue = before.map_or(0, |before| since().filter(|since| *since < before).count() as u64);
        (since().min(), overdue)
    }

    /// How long each has waited for its answer by `now`.
    pub(crate) fn waited(&self, now: Moment, mut take: impl FnMut(Moment)) {
        let slots = self.slots.borrow();
        slots.iter().filter_map(|slot| slot.since.get()).for_each(|since| take(now.saturating_sub(since)));
    }

    /// Wakes everybody.
    pub(crate) fn wake_all(&self) {
        self.slots.borrow().iter().for_each(|slot| slot.wake());
    }

    /// How often to look, for a timeout of this length.
    pub(crate) fn period(timeout: Moment) -> Moment {
        (timeout / 16).clamp(1_000_000, 100_000_000)
    }

    /// Wakes those whose deadline has passed, if it is time to look. Returns when to look again.
    pub(crate) fn sweep(&self, now: Moment, period: Moment) -> Moment {
        if now < self.next.get() {
            return self.next.get();
        }
        self.next.set(now.checked_add(period).unwrap_or(NEVER));
        self.slots.borrow_mut().retain(|slot| {
            if slot.deadline.get().is_some_and(|deadline| deadline <= now) {
                slot.deadline.set(None);
                slot.expired.set(true);
                slot.wake();
            }
            Rc::strong_count(slot) > 1
        });
        self.next.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_an_answer_is_counted_and_nobody_else() {
        let watch = Deadlines::default();
        let (first, second, ping) = (watch.slot(), watch.slot(), watch.slot());
        assert_eq!(watch.waiting(Some(100)), (None, 0));
        first.ask(10, 90);
        second.ask(30, 90);
        ping.arm(5);
        assert_eq!(watch.waiting(Some(10)), (Some(10), 0), "waiting just as long is not longer");
        assert_eq!(watch.waiting(Some(11)), (Some(10), 1));
        assert_eq!(watch.waiting(None), (Some(10), 0), "the load is younger than its patience");
        first.disarm();
        assert_eq!(watch.waiting(Some(100)), (Some(30), 1));
        watch.sweep(95, 5);
        assert_eq!(watch.waiting(Some(100)), (Some(30), 1), "noticed, but not yet counted as failed");
    }

    #[test]
    fn only_what_is_overdue_expires() {
        let watch = Deadlines::default();
        let (late, early, idle) = (watch.slot(), watch.slot(), watch.slot());
        early.arm(10);
        late.arm(30);
        assert_eq!(watch.sweep(20, 5), 25);
        assert_eq!([early.expired(), late.expired(), idle.expired()], [true, false, false]);
        early.arm(40);
        assert!(!early.expired(), "a new deadline is a new start");
        watch.sweep(22, 5);
        late.disarm();
        watch.sweep(100, 5);
        assert_eq!([early.expired(), late.expired()], [true, false]);
        drop(idle);
        watch.sweep(200, 5);
        assert_eq!(watch.slots.borrow().len(), 2, "dropped tasks are forgotten");
    }
}
