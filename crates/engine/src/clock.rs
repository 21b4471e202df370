//! The clock of a load.

use std::time::Duration;

use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// Nanoseconds since the load began.
pub(crate) type Moment = u64;

/// Never.
pub(crate) const NEVER: Moment = Moment::MAX;

const SECOND: i64 = 1_000_000_000;

/// The instant at which a load begins, the same for all processes of a machine: nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start(pub i64);

impl Start {
    /// At once.
    pub fn now() -> Start {
        Start(monotonic())
    }

    /// The same instant on a clock that is so many nanoseconds ahead of this one.
    pub fn on(self, ahead_ns: i64) -> Start {
        Start(self.0.saturating_add(ahead_ns))
    }

    /// So much later.
    pub fn after(self, wait: Duration) -> Start {
        Start(self.0.saturating_add(i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX)))
    }
}

impl From<Start> for Clock {
    fn from(start: Start) -> Clock {
        Clock { zero: start.0 }
    }
}

/// CLOCK_MONOTONIC, counted from the start of the load. (`Instant` is the same clock, but does not tell its value, which
/// timerfd needs.)
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// CLOCK_MONOTONIC at moment zero, nanoseconds.
    zero: i64,
}

impl Clock {
    /// Moment zero is now.
    #[cfg(test)]
    pub(crate) fn start() -> Clock {
        Clock::from(Start::now())
    }

    /// Waits until moment zero, if that is to come.
    pub(crate) fn await_zero(&self) {
        let zero = self.absolute(0);
        // Interrupted by a signal, it is called again; any other failure means there is nothing to wait for.
        while clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &zero) == Err(Errno::EINTR)
        {
        }
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
