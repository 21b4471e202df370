//! Processor time of programs that are no part of the run. That the whole machine is full is a sign of the load only where the load filled
//! it: else whoever runs beside it would be told as what the servers lack.

use genkai_model::evidence::metric;
use genkai_model::limit::{Law, Limit, Sign};
use genkai_model::record::Trial;

use super::signs::Seconds;
use crate::window::{self, US};

/// From which part of the machine's cores others use on, it is theirs that it is full.
const MOST: f64 = 0.5;

/// Whether `limit` is the processor time of the whole machine, and others used most of it in these seconds: all that was in use, less what
/// servers and generator used. (A backend that was not started for the run is no server of it.) Not where it was not looked at.
pub(crate) fn filled(limit: &Limit, trial: &Trial, seconds: &Seconds) -> bool {
    let Law::Cpu { cores } = limit.law else { return false };
    let whole = |sign: &Sign| matches!(sign, Sign::Reached { metric, .. } if metric == metric::MACHINE_CPU);
    limit.signatures.iter().any(|one| whole(&one.sign))
        && used(trial, seconds).is_some_and(|others| others >= MOST * cores)
}

/// Cores that others used around the break.
fn used(trial: &Trial, seconds: &Seconds) -> Option<f64> {
    let mean = |name: &str| {
        let within = trial.samples.iter().filter(|(at, _)| (seconds.from..=seconds.to).contains(at));
        let values: Vec<f64> = within.filter_map(|(_, sample)| sample.metrics.get(name).copied()).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let at = |us: i64| us.max(0).unsigned_abs();
    let ticks = window::between(&trial.ticks, at(seconds.from), at(seconds.to));
    let lasted: f64 = ticks.iter().map(window::length).sum();
    let generator: f64 = ticks.iter().map(|t| t.cpu_us as f64 / US).sum();
    let generator = if lasted > 0.0 { generator / lasted } else { 0.0 };
    Some(mean(metric::MACHINE_CPU)? - mean(metric::SERVERS_CPU)? - generator)
}
