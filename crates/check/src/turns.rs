//! Turns that requests take at a rate.

use genkai_model::limit::{Law, Limit};

use crate::events::Line;

/// Seconds that the last one of an interval waits, all of its requests and those still waiting having come at its beginning; the longest of them. More
/// than the burst holds beyond those who need not wait are refused.
pub(crate) fn longest(limit: &Limit, ticks: &[&Line]) -> Option<f64> {
    let Law::Rate { value, burst, at_once: Some(passes) } = limit.law else { return None };
    let room = burst - passes;
    if room <= 0.0 {
        return None;
    }
    let (mut waiting, mut longest) = (0.0f64, 0.0f64);
    for tick in ticks {
        let came = waiting + tick.number("/sent");
        longest = longest.max((came - 1.0 - passes) / value);
        waiting = (came - (tick.number("/to_us") - tick.number("/from_us")) / 1e6 * value).max(0.0);
    }
    Some(longest.min(room / value))
}
