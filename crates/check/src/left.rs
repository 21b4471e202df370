//! What a load leaves without an answer, as far as a condition speaks of it.

use genkai_model::objective::Condition;

use crate::events::{Line, all_failed, merged, sum};

/// Of those in flight at the end: who were in flight as long before it as a latency may be, less all that ended since; messages that were
/// waited for in vain.
pub(crate) fn waiting(condition: Condition, ticks: &[&Line]) -> f64 {
    let end = ticks.last().map_or(0.0, |tick| tick.number("/to_us"));
    match condition {
        Condition::LatencyBelow(_, bound) => {
            let is_early = |tick: &&&Line| tick.number("/to_us") <= end - (bound.at.0 as f64 / 1e3).ceil();
            let early = ticks.iter().filter(is_early).count();
            let before = early.checked_sub(1).map_or(0.0, |last| ticks[last].number("/in_flight"));
            let ended = sum(&ticks[early..], "/ok") + all_failed(&ticks[early..]);
            merged(ticks, "/unanswered").over(bound.at.0, bound.included).max(before - ended)
        }
        Condition::ErrorsBelow(_) => sum(ticks, "/messages/unanswered"),
        _ => 0.0,
    }
}

/// Whether a condition is violated where so many more were too slow, or failed.
pub(crate) fn fails_with(condition: Condition, more: f64, ticks: &[&Line]) -> bool {
    match condition {
        Condition::LatencyBelow(q, bound) => {
            let all = merged(ticks, "/latency");
            all.over(bound.at.0, bound.included) + more > (1.0 - q) * (all.count() as f64 + more) + 1e-9
        }
        _ => {
            let bad = all_failed(ticks) + more;
            !condition.holds(bad / (sum(ticks, "/ok") + bad))
        }
    }
}

/// Requests that had waited at the end for a second and for more than twice as long as anything that ended; none where some were never sent.
pub(crate) fn lasting(ticks: &[&Line]) -> f64 {
    if ticks.last().is_some_and(|last| last.number("/waiting/unsent") > 0.0) {
        return 0.0;
    }
    let took = ["/latency", "/failed_after"].map(|of| merged(ticks, of).quantile(1.0).unwrap_or(0.0));
    let longest = took[0].max(took[1]);
    let long = genkai_model::units::Span(((2.0 * longest * 1e9).round() as u64).max(1_000_000_000));
    let bound = genkai_model::objective::Bound::excluding(long);
    waiting(Condition::LatencyBelow(1.0, bound), ticks)
}
