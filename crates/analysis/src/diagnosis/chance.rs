//! Whether bad requests are more than chance makes where a condition holds: an objective speaks of a load, and a second of it has a part of its requests
//! only.

use genkai_model::objective::Condition;
use statrs::distribution::{Beta, ContinuousCDF};

/// What is less likely is no chance. A load has many seconds.
const CHANCE: f64 = 1e-3;

/// Whether `bad` of `all` requests exclude that no larger part is bad than `condition` allows (binomial; its upper tail is a beta distribution). Other
/// conditions than those on errors and latencies are held against what is seen alone.
pub(super) fn is_excluded(condition: &Condition, bad: f64, all: f64) -> bool {
    let allowed = match condition {
        Condition::ErrorsBelow(bound) => bound.at,
        Condition::LatencyBelow(q, _) => 1.0 - q,
        _ => return true,
    };
    allowed <= 0.0 || Beta::new(bad, all - bad + 1.0).is_ok_and(|tail| tail.cdf(allowed) < CHANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excluded(condition: &str, bad: f64, all: f64) -> bool {
        is_excluded(&condition.parse::<genkai_model::objective::Objective>().unwrap().0[0], bad, all)
    }

    #[test]
    fn what_chance_makes_of_a_server_that_holds_is_no_violation() {
        // Six of a thousand fail at random: a second of 324 requests has four of them often enough.
        assert!(!excluded("errors < 1%", 4.0, 324.0) && !excluded("errors < 1%", 5.0, 144.0));
        assert!(excluded("errors < 1%", 12.0, 324.0));
        assert!(excluded("errors < 0.1%", 4.0, 300.0) && !excluded("errors < 0.1%", 3.0, 1_000.0));
        assert!(!excluded("p99 < 300ms", 4.0, 100.0) && excluded("p99 < 300ms", 9.0, 100.0));
        // Half of ten is what half allows; all of them are not.
        assert!(!excluded("p50 < 10ms", 7.0, 10.0) && excluded("p50 < 10ms", 10.0, 10.0));
        assert!(excluded("errors <= 0%", 1.0, 1_000.0) && excluded("rate > 10", 3.0, 3.0));
    }
}
