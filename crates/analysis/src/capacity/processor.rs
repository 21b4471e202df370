//! The rate at which processor time runs out, told from how much of it a known rate used.

use genkai_model::evidence::metric;
use genkai_model::finding::ProcessorUse;
use genkai_model::limit::{Law, Limit, Sign, Strength};
use genkai_model::record::Trial;
use genkai_model::units::Range;

use super::TOLERANCE;
use crate::window::{self, Tally, US};

/// Over how long before `until` the use is taken, microseconds: the highest load that was still well served.
const SPAN_US: u64 = 3_000_000;
/// Fewest looks at the gauge.
const LOOKS: usize = 5;
/// How many times as much a request took just before what is told from, where that is not settled yet.
const FALLING: f64 = 1.25;
/// Least use, as a part of the mark, from which a rate can be told: below it, idle work and rounding are most of it.
const LEAST: f64 = 0.1;

/// Requests a second that fill the processor time of `limit`, as `trial` used it up to `until` microseconds (its end for
/// none): by the utilisation law (Denning and Buzen, Computing Surveys 10, 1978), use grows in proportion to the rate.
/// Give or take a tenth. With the use and the rate that it was told from. None for other laws, without a gauge, or when
/// hardly anything was used.
pub fn fills(limit: &Limit, trial: &Trial, until: Option<u64>) -> Option<(Range, ProcessorUse)> {
    let Law::Cpu { .. } = limit.law else { return None };
    // A gauge that merely fits shows what others use too.
    let mut own = limit.signatures.iter().filter(|s| s.strength >= Strength::Supports);
    let (metric, mark) = own.find_map(|s| match &s.sign {
        // Periods in which a quota was used up do not grow with the rate.
        Sign::Reached { metric, value } if !metric::is_throttling(metric) => Some((metric, *value)),
        _ => None,
    })?;
    let end = until.or(trial.ticks.last().map(|t| t.to_us))?;
    let from = end.saturating_sub(SPAN_US);
    let now = used(trial, metric, (from, end))?;
    if now.cores < mark * LEAST || end as f64 / US < 1.0 || falls(trial, metric, from, &now) {
        return None;
    }
    let full = now.rate * mark / now.cores;
    let range = Range { low: full * (1.0 - TOLERANCE), high: full * (1.0 + TOLERANCE) };
    Some((range, now))
}

/// Whether a request took much more at about that rate just before: a server that still compiles what it runs, or fills a cache, has not come to
/// what a request will take.
fn falls(trial: &Trial, metric: &str, until: u64, now: &ProcessorUse) -> bool {
    let Some(before) = used(trial, metric, (until.saturating_sub(SPAN_US), until)) else { return false };
    before.rate >= now.rate / 2.0 && before.cores / before.rate > FALLING * now.cores / now.rate
}

/// What was used between two instants, and by how many requests a second; none without looks enough.
fn used(trial: &Trial, metric: &str, (from, end): (u64, u64)) -> Option<ProcessorUse> {
    let within = |at: i64| at > from as i64 && at <= end as i64;
    let looks = trial.samples.iter().filter(|(at, _)| within(*at));
    let values: Vec<f64> = looks.filter_map(|(_, s)| s.metrics.get(metric)).copied().collect();
    let rate = Tally::of(window::between(&trial.ticks, from, end.saturating_sub(1))).rate();
    let cores = values.iter().sum::<f64>() / values.len() as f64;
    (values.len() >= LOOKS && rate > 0.0).then_some(ProcessorUse { cores, rate })
}
