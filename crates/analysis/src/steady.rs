//! When a load's warm-up is over: found in the figures, not assumed.
//!
//! MSER-5: of all points at which a series could be cut, the one after which the mean is known best (its standard error, as if
//! observations were independent, is smallest); observations are first averaged by fives. K. P. White, "An effective truncation
//! heuristic for bias reduction in simulation output", Simulation 69 (1997); K. P. White, M. J. Cobb, S. C. Spratt, "A comparison of
//! five steady-state truncation heuristics for simulation", Winter Simulation Conference 2000. A cut in the later half is no
//! steady state: the series was still on its way.

use genkai_model::event::Tick;
use genkai_model::histogram;

use crate::window;

/// Observations averaged to one.
const BATCH: usize = 5;
/// Fewest batches to judge by.
const FEWEST: usize = 4;

/// Where a series became steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steady {
    /// From this observation on.
    From(usize),
    /// Nowhere in its first half.
    Never,
    /// There are too few observations to tell.
    TooShort,
}

/// Where `values` become steady.
pub fn mser5(values: &[f64]) -> Steady {
    let means: Vec<f64> = values.chunks_exact(BATCH).map(|five| five.iter().sum::<f64>() / BATCH as f64).collect();
    if means.len() < FEWEST {
        return Steady::TooShort;
    }
    let error = |from: usize| {
        let rest = &means[from..];
        let n = rest.len() as f64;
        let mean = rest.iter().sum::<f64>() / n;
        rest.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n.powi(2)
    };
    // The last batches are left out: of one or two the error is small by chance.
    let all: Vec<f64> = (0..means.len() - 2).map(error).collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let cut = all.iter().position(|e| *e <= least).unwrap_or(0);
    if cut <= means.len() / 2 { Steady::From(cut * BATCH) } else { Steady::Never }
}

/// Where a load became steady: the rate of its successful responses and their mean latency both, by intervals.
pub fn of(ticks: &[Tick]) -> Steady {
    let rates: Vec<f64> = ticks.iter().map(|tick| tick.ok as f64 / window::length(tick).max(1e-9)).collect();
    match (mser5(&rates), mser5(&latencies(ticks))) {
        (Steady::From(one), Steady::From(other)) => Steady::From(one.max(other)),
        (Steady::Never, _) | (_, Steady::Never) => Steady::Never,
        (Steady::TooShort, _) | (_, Steady::TooShort) => Steady::TooShort,
    }
}

/// The mean latency of each tick; where nothing came back, that of the one before.
fn latencies(ticks: &[Tick]) -> Vec<f64> {
    let mut last = 0.0;
    let mean = |tick: &Tick| {
        let mut all = histogram::empty();
        // A damaged payload counts as empty, as everywhere.
        let _ = tick.latency.add_to(&mut all);
        if !all.is_empty() {
            last = all.mean();
        }
        last
    };
    ticks.iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_that_is_steady_at_once_is_kept_whole() {
        assert_eq!(mser5(&[3.0; 40]), Steady::From(0));
        assert_eq!(mser5(&[3.0; 19]), Steady::TooShort);
        assert_eq!(mser5(&[]), Steady::TooShort);
    }

    #[test]
    fn a_transient_is_cut_off_with_its_batch() {
        let series: Vec<f64> = (0..60).map(|n| if n < 12 { 50.0 - n as f64 } else { 10.0 + (n % 3) as f64 }).collect();
        assert_eq!(mser5(&series), Steady::From(15));
    }

    #[test]
    fn what_changes_in_its_later_half_is_not_steady() {
        let step: Vec<f64> = (0..60).map(|n| if n < 45 { 100.0 } else { 1.0 }).collect();
        // The long constant part before the step has no error of its own, but the step is in every rest until it is cut.
        assert_eq!(mser5(&step), Steady::Never);
    }

    #[test]
    fn the_rule_is_whites() {
        // By hand: batch means 9, 3, 1, 1, 2. Errors of the rests: 1: (9-3.2)^2+.. = 44.8/25, 2: 2.75/16, 3: 0.667/9 -> cut at 2.
        let series: Vec<f64> = [9.0, 3.0, 1.0, 1.0, 2.0].iter().flat_map(|mean| [*mean; 5]).collect();
        assert_eq!(mser5(&series), Steady::From(10));
    }
}
