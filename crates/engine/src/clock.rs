//! The clock of a load.

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

/// Nanoseconds since the load began.
pub(crate) type Moment = u64;

/// Never.
pub(crate) const NEVER: Moment = Moment::MAX;

const SECOND: i64 = 1_000_000_000;

/// CLOCK_MONOTONIC, counted from the start of the load. (`Instant` is the same clock, but does not tell its value, which
/// timerfd needs.)
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// CLOCK_MONOTONIC at moment zero, nanoseconds.
    zero: i64,
}

impl Clock {
    /// Moment zero is now.
    pub(crate) fn start() -> Clock {
        Clock { zero: monotonic() }
    }

    /// The present moment.
    #[inline]
    pub(crate) fn now(&self) -> Moment {
        (monotonic() - self.zero).max(0) as Moment
    }

    /// `at` as CLOCK_MONOTONIC knows it.
    pub(crate) fn absolute(&self, at: Moment) -> TimeSpec {
        let at = self.zero.saturating_add(i64::try_from(at).unwrap_or(i64::MAX));
        TimeSpec::new(at / SECOND, at % SECOND)
    }
}

#[inline]
fn monotonic() -> i64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("CLOCK_MONOTONIC exists on Linux");
    now.tv_sec() * SECOND + now.tv_nsec()
}
