//! Connections that end after just the silence a timer allows: nothing in a log tells of that (httpd and nginx write nothing at their
//! usual level), but the client knows how long it had said and heard nothing.

use genkai_model::finding::Evidence;
use genkai_model::limit::{Law, Limit};

use super::case::Case;
use crate::capacity::TOLERANCE;
use crate::window;

/// Beyond the tolerance in parts, seconds: servers look at their timers seldom (nginx and httpd within a second).
const SLACK: f64 = 1.0;
/// Fewest connections that make a time.
const FEWEST: u64 = 3;

/// Evidence that most of the connections which were cut had been silent for just as long as `limit` allows. None for other laws, or
/// where it is not so.
pub(super) fn evidence(limit: &Limit, case: &Case<'_>) -> Option<Evidence> {
    let Law::Idle { after } = limit.law else { return None };
    let silent = window::merge_some(&case.trial.ticks, |t| t.disconnects.as_ref().map(|d| &d.silent));
    let of = case.trial.ticks.iter().filter_map(|t| t.disconnects.as_ref()).map(|d| d.count()).sum();
    let nanoseconds = |seconds: f64| (seconds.max(0.0) * 1e9) as u64;
    let (low, high) = (after * (1.0 - TOLERANCE), after * (1.0 + TOLERANCE) + SLACK);
    let count = if silent.is_empty() { 0 } else { silent.count_between(nanoseconds(low), nanoseconds(high)) };
    let seen = window::quantile(&silent, 0.5)?;
    (count >= FEWEST && count * 2 > of).then_some(Evidence::Silence { count, of, seen, allowed: after })
}
