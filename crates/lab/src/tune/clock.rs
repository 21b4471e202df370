//! The time that a search among directives has: what it begins must end by then.

use std::time::{Duration, Instant};

/// An answer is waited for at least so long.
const LEAST: Duration = Duration::from_millis(500);

/// When it began, and what it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    begun: Instant,
    budget: Duration,
}

impl Clock {
    pub(super) fn of(budget: Duration) -> Clock {
        Clock { begun: Instant::now(), budget }
    }

    /// What is left of it.
    pub(super) fn left(self) -> Duration {
        self.budget.saturating_sub(self.begun.elapsed())
    }

    /// Whether what takes so long ends in time.
    pub(super) fn has(self, time: Duration) -> bool {
        self.begun.elapsed() + time <= self.budget
    }

    /// How long one answer is waited for that may take `wanted`, before anything was tried: half of what is left, at most.
    pub(super) fn wait(self, wanted: Duration) -> Duration {
        wanted.min(self.left() / 2).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_never_come_are_not_waited_for_beyond_the_time() {
        let seconds = Duration::from_secs;
        let begun = |ago: u64| Instant::now().checked_sub(seconds(ago)).unwrap();
        let mut spent = 0;
        for _ in 0..9 {
            let clock = Clock { begun: begun(spent), budget: seconds(60) };
            spent += clock.wait(seconds(90)).as_secs();
        }
        assert!((50..60).contains(&spent), "{spent}");
        let clock = Clock { begun: begun(40), budget: seconds(60) };
        assert!(clock.has(seconds(19)) && !clock.has(seconds(21)) && clock.wait(seconds(5)) == seconds(5));
        assert_eq!(Clock { begun: begun(70), budget: seconds(60) }.left(), Duration::ZERO);
    }
}
