//! Holding a load as it is for a while: no further user comes and its end waits, while those who are there go on.
//!
//! A load that rises while requests wait cannot tell which level they wait because of. So the plan of a load has a time of its own, which
//! stands still while it is held; what is planned then is due as much later. When it begins and ends is decided a moment ahead, so that
//! all threads do it at the same instant.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::clock::{Clock, Moment, NEVER};

/// How far ahead: threads look several times in it.
const AHEAD: Moment = 60_000_000;

/// A wish to hold a load as it is, shared by who may have it and the load's threads. Loads of several processes do not know of it.
#[derive(Clone, Debug, Default)]
pub struct Hold(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    clock: OnceLock<Clock>,
    /// Counts changes, so that who looks often need not lock.
    version: AtomicU32,
    pauses: Mutex<Pauses>,
}

impl Hold {
    /// Not held.
    pub fn new() -> Hold {
        Hold::default()
    }

    /// Holds the load from now on. Before it has begun, and while it is held, this does nothing.
    pub fn begin(&self) {
        self.change(Pauses::begin);
    }

    /// Lets the load go on.
    pub fn end(&self) {
        self.change(Pauses::end);
    }

    fn change(&self, how: fn(&mut Pauses, Moment)) {
        let Some(clock) = self.0.clock.get() else { return };
        how(&mut self.0.pauses.lock().unwrap_or_else(PoisonError::into_inner), clock.now().saturating_add(AHEAD));
        self.0.version.fetch_add(1, Ordering::Release);
    }

    /// The load begins, by this clock.
    pub(crate) fn start(&self, clock: Clock) {
        let _ = self.0.clock.set(clock);
    }

    /// Changes so far.
    pub(crate) fn version(&self) -> u32 {
        self.0.version.load(Ordering::Acquire)
    }

    /// The pauses so far.
    pub(crate) fn pauses(&self) -> Pauses {
        self.0.pauses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// When a load was held: from, to ([`NEVER`]: it still is), in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pauses(Vec<(Moment, Moment)>);

impl Pauses {
    fn begin(&mut self, at: Moment) {
        if self.0.last().is_none_or(|(_, to)| *to <= at) {
            self.0.push((at, NEVER));
        }
    }

    fn end(&mut self, at: Moment) {
        if let Some((from, to)) = self.0.last_mut().filter(|(_, to)| *to == NEVER) {
            *to = at.max(*from);
        }
    }

    /// When what is planned for `planned` is due; never, as far as is known, while the load is held.
    pub(crate) fn due(&self, planned: Moment) -> Moment {
        let mut due = planned;
        for (from, to) in &self.0 {
            if due < *from {
                break;
            }
            due = if *to == NEVER { NEVER } else { due.saturating_add(to - from) };
        }
        due
    }

    /// The moment of the plan at `now`.
    pub(crate) fn planned(&self, now: Moment) -> Moment {
        let held = self.0.iter().map(|(from, to)| now.min(*to).saturating_sub(*from)).sum();
        now.saturating_sub(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_planned_waits_while_the_load_is_held() {
        let mut pauses = Pauses::default();
        assert_eq!((pauses.due(70), pauses.planned(70)), (70, 70));
        pauses.begin(100);
        pauses.begin(150);
        assert_eq!([50, 99, 100, 300].map(|at| pauses.due(at)), [50, 99, NEVER, NEVER]);
        assert_eq!([50, 100, 180].map(|now| pauses.planned(now)), [50, 100, 100]);
        pauses.end(130);
        assert_eq!([99, 100, 300].map(|at| pauses.due(at)), [99, 130, 330]);
        pauses.begin(140);
        pauses.end(150);
        assert_eq!([100, 109, 110, 300].map(|at| pauses.due(at)), [130, 139, 150, 340]);
        assert_eq!([120, 135, 145, 340].map(|now| pauses.planned(now)), [100, 105, 110, 300]);
    }

    #[test]
    fn before_the_load_begins_there_is_nothing_to_hold() {
        let hold = Hold::new();
        hold.begin();
        assert_eq!((hold.version(), hold.pauses()), (0, Pauses::default()));
        hold.start(Clock::start());
        hold.begin();
        assert_eq!((hold.version(), hold.pauses().due(NEVER - 1)), (1, NEVER));
    }

    proptest! {
        /// The two are each other's inverse, and the order of the plan is kept.
        #[test]
        fn what_is_due_was_planned(steps in proptest::collection::vec(1u64..1_000, 0..9), at in 0u64..10_000, more in 1u64..100) {
            let mut pauses = Pauses::default();
            let mut now = 0;
            for (n, step) in steps.iter().enumerate() {
                now += step;
                if n % 2 == 0 { pauses.begin(now) } else { pauses.end(now) }
            }
            let due = pauses.due(at);
            prop_assert!(due >= at && pauses.due(at + more) >= due);
            if due != NEVER {
                prop_assert_eq!(pauses.planned(due), at);
            }
        }
    }
}
