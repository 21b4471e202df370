//! Users whom somebody asks for while the load is made: how many of each flow, from when on.
//!
//! A plan knows its levels beforehand. Who follows another's wishes (a Locust master's) learns them one by one; each is taken up a moment
//! ahead, so that all threads do so at the same instant, and is kept: the level at any time can be told afterwards.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::clock::{Clock, Moment};

/// How far ahead: threads look several times in it.
const AHEAD: Moment = 60_000_000;

/// How many users of each flow there are to be, shared by who says so and the load's threads.
#[derive(Clone, Debug)]
pub struct LiveUsers(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: OnceLock<Clock>,
    /// Counts wishes, so that who looks often need not lock.
    version: AtomicU32,
    wishes: Mutex<Vec<Wish>>,
}

/// Users of each flow from a moment on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) at: Moment,
    pub(crate) users: Vec<u32>,
}

impl LiveUsers {
    /// So many of each flow, in the scenario's order, from the beginning.
    pub fn starting(users: Vec<u32>) -> LiveUsers {
        LiveUsers(Arc::new(Shared {
            clock: OnceLock::new(),
            version: AtomicU32::new(1),
            wishes: Mutex::new(vec![Wish { at: 0, users }]),
        }))
    }

    /// So many of each flow from a moment hence; before the load has begun, from its beginning.
    pub fn ask(&self, users: Vec<u32>) {
        let at = self.0.clock.get().map_or(0, |clock| clock.now().saturating_add(AHEAD));
        let mut wishes = self.0.wishes.lock().unwrap_or_else(PoisonError::into_inner);
        if at == 0 {
            wishes.clear();
        }
        wishes.push(Wish { at, users });
        self.0.version.store(wishes.len() as u32, Ordering::Release);
    }

    /// The load begins, by this clock.
    pub(crate) fn start(&self, clock: Clock) {
        let _ = self.0.clock.set(clock);
    }

    /// The wishes after the first so many, if there are any.
    pub(crate) fn after(&self, known: usize) -> Vec<Wish> {
        if self.0.version.load(Ordering::Acquire) as usize == known {
            return Vec::new();
        }
        self.wishes(|wishes| wishes.get(known..).unwrap_or_default().to_vec())
    }

    /// Users of all flows just before `at`.
    pub(crate) fn level(&self, at: Moment) -> f64 {
        self.wishes(|wishes| {
            let due = wishes.partition_point(|wish| wish.at < at).max(1);
            wishes.get(due - 1).map_or(0.0, |wish| wish.users.iter().copied().map(f64::from).sum())
        })
    }

    fn wishes<T>(&self, look: impl FnOnce(&[Wish]) -> T) -> T {
        look(&self.0.wishes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_before_the_beginning_are_its_level() {
        let live = LiveUsers::starting(vec![1, 0]);
        assert_eq!(live.after(0), [Wish { at: 0, users: vec![1, 0] }]);
        live.ask(vec![2, 3]);
        assert_eq!((live.level(0), live.level(10)), (5.0, 5.0));
        assert_eq!(live.after(0), [Wish { at: 0, users: vec![2, 3] }]);
        assert!(live.after(1).is_empty());
    }

    #[test]
    fn a_later_wish_holds_from_its_moment_on() {
        let live = LiveUsers::starting(vec![4]);
        live.start(Clock::start());
        live.ask(vec![1]);
        let wishes = live.after(1);
        let [Wish { at, users }] = &wishes[..] else { panic!("{wishes:?}") };
        assert!(*at >= AHEAD && users == &[1]);
        assert_eq!((live.level(*at), live.level(at + 1)), (4.0, 1.0));
    }
}
