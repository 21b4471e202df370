//! Connections that end after just the silence a timer allows: nothing in a log tells of that (httpd and nginx write nothing at their
//! usual level), but the client knows how long it had said and heard nothing.

use genkai_model::event::Tick;
use genkai_model::finding::Evidence;
use genkai_model::limit::{Law, Limit};
use hdrhistogram::Histogram;

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
    just(&silent, of, after)
}

/// Evidence that requests met the end of kept connections, most of which the server closed after just this silence, seconds.
pub(super) fn kept(after: f64, ticks: &[Tick]) -> Option<Evidence> {
    let silent = window::merge(ticks, |t| &t.kept_silent);
    let is_met = ticks.iter().any(|tick| window::met_end(tick) > 0);
    is_met.then(|| just(&silent, silent.len(), after)).flatten()
}

/// That most of `of` connections ended after just this silence, seconds.
fn just(silent: &Histogram<u64>, of: u64, after: f64) -> Option<Evidence> {
    let nanoseconds = |seconds: f64| (seconds.max(0.0) * 1e9) as u64;
    let (low, high) = (after * (1.0 - TOLERANCE), after * (1.0 + TOLERANCE) + SLACK);
    let count = if silent.is_empty() { 0 } else { silent.count_between(nanoseconds(low), nanoseconds(high)) };
    let seen = window::quantile(silent, 0.5)?;
    (count >= FEWEST && count * 2 > of).then_some(Evidence::Silence { count, of, seen, allowed: after })
}

#[cfg(test)]
mod tests {
    use genkai_model::error::{ErrorCount, ErrorKind};
    use genkai_model::histogram::{self, Payload};

    use super::*;

    /// Connections that were closed after these seconds of silence, and requests that met such an end.
    fn tick(silent: &[f64], retried: u64, lost: u64) -> Tick {
        let mut all = histogram::empty();
        silent.iter().for_each(|seconds| all.record((seconds * 1e9) as u64).unwrap());
        let errors = vec![ErrorCount { kind: ErrorKind::ResetReused, count: lost }];
        Tick { kept_silent: Payload::encode(&all), retried, errors, ..Tick::default() }
    }

    #[test]
    fn the_time_of_kept_connections_is_told_by_the_silence_before_their_end() {
        let ticks = [tick(&[5.0, 5.1], 1, 0), tick(&[4.9], 0, 0)];
        let Some(Evidence::Silence { count: 3, of: 3, allowed, .. }) = kept(5.0, &ticks) else { panic!() };
        assert_eq!(allowed, 5.0);
        assert!(kept(5.0, &[tick(&[5.0; 3], 0, 2)]).is_some(), "asked once only, they failed");
        assert_eq!(kept(75.0, &ticks), None, "another time");
        assert_eq!(kept(5.0, &[tick(&[5.0; 3], 0, 0)]), None, "nobody met the end of one");
        assert_eq!(kept(5.0, &[tick(&[5.0, 0.1, 0.3, 0.2, 5.0, 5.0, 0.1], 3, 0)]), None, "most ended otherwise");
    }
}
