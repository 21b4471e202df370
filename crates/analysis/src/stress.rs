//! Whether a load was more than who bore it noticed. Where nobody noticed it, what was offered was the limit: differences in throughput
//! say what was asked for, not what anybody can do.

use genkai_model::finding::{Estimate, OneSided};

/// Part of the servers' cores (or of a disk's time) from which on one is busy enough to be stressed: with less it waited for requests.
const BUSY: f64 = 0.7;
/// Part of what was planned that may not be answered before a rate is not borne; and so many requests, which may be under way.
const SHORT: f64 = 0.03;
const FEW: f64 = 5.0;
/// Who is slower for certain by this factor has met a limit, whoever's processor was busy.
const SLOWER: f64 = 1.5;

/// Whether such a part of the time is much.
pub(crate) fn is_busy(part: f64) -> bool {
    part >= BUSY
}

/// Whether fewer requests were answered than were planned.
pub(crate) fn falls_short(planned: f64, answered: f64) -> bool {
    planned - answered > (SHORT * planned).max(FEW)
}

/// Whether one is so far from another that a load must have been felt; whether they differ for certain is another question.
pub(crate) fn is_far(ratio: Estimate) -> bool {
    !(1.0 / SLOWER..=SLOWER).contains(&ratio.value)
}

/// The same of a ratio of which only a bound is known.
pub(crate) fn is_beyond(ratio: OneSided) -> bool {
    match ratio {
        OneSided::MoreThan(bound) => bound > SLOWER,
        OneSided::LessThan(bound) => bound < 1.0 / SLOWER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_requests_may_be_under_way() {
        assert!(!falls_short(100.0, 95.0) && falls_short(100.0, 94.0));
        assert!(!falls_short(1_000.0, 970.0) && falls_short(1_000.0, 969.0));
    }
}
