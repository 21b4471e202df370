//! Distributions by a walk over their values, not by a library's quantiles.

use std::collections::BTreeMap;

use genkai_model::histogram::{Payload, empty};

use crate::expected::Expected;

/// Nanoseconds in a second.
const NS: f64 = 1e9;

/// How often each value was seen: the smallest and the largest that a histogram does not tell from it, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distribution {
    values: BTreeMap<u64, (u64, u64)>,
}

impl Distribution {
    /// Adds the values of a payload; one that cannot be read has none.
    pub(crate) fn add(&mut self, payload: &str) {
        let Ok(histogram) = Payload(payload.into()).decode() else { return };
        for step in histogram.iter_recorded() {
            let value = step.value_iterated_to();
            let entry = self
                .values
                .entry(histogram.highest_equivalent(value))
                .or_insert((histogram.lowest_equivalent(value), 0));
            entry.1 += step.count_at_value();
        }
    }

    /// Adds `count` times a value of so many nanoseconds.
    pub(crate) fn record(&mut self, value: u64, count: u64) {
        let steps = empty();
        if count > 0 {
            let entry =
                self.values.entry(steps.highest_equivalent(value)).or_insert((steps.lowest_equivalent(value), 0));
            entry.1 += count;
        }
    }

    /// How many values.
    pub(crate) fn count(&self) -> u64 {
        self.values.values().map(|(_, count)| count).sum()
    }

    /// The smallest value below which or at which a part `q` of all values lies, seconds.
    pub(crate) fn quantile(&self, q: f64) -> Option<f64> {
        let wanted = (q * self.count() as f64 - 1e-6).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (highest, (_, count)) in &self.values {
            seen += count;
            if seen >= wanted {
                return Some(*highest as f64 / NS);
            }
        }
        None
    }

    /// The smallest value, seconds.
    pub(crate) fn least(&self) -> Option<f64> {
        self.values.values().next().map(|(lowest, _)| *lowest as f64 / NS)
    }

    /// Values at or above `bound` nanoseconds, at least and at most: a value may be anywhere in its step of the histogram.
    pub(crate) fn from(&self, bound: u64) -> (u64, u64) {
        let sum = |counts: &dyn Fn(u64, u64) -> bool| {
            self.values.iter().filter(|(high, (low, _))| counts(*low, **high)).map(|(_, (_, n))| n).sum()
        };
        (sum(&|low, _| low >= bound), sum(&|_, high| high >= bound))
    }

    /// All values added up, seconds.
    pub(crate) fn sum(&self) -> f64 {
        if self.values.is_empty() { 0.0 } else { self.moments().0 * self.count() as f64 }
    }

    /// Each step of the histogram that has values: the largest that belongs to it, nanoseconds, and how many.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.values.iter().map(|(highest, (_, count))| (*highest, *count))
    }

    /// Values that are not below `bound` nanoseconds as it is written: within the histogram's step, or above it where the bound itself
    /// is allowed.
    pub(crate) fn over(&self, bound: u64, allowed: bool) -> f64 {
        let counts = |low: u64, high: u64| if allowed { low > bound } else { high >= bound };
        self.values.iter().filter(|(high, (low, _))| counts(*low, **high)).map(|(_, (_, n))| *n as f64).sum()
    }

    /// Mean and standard deviation, seconds.
    pub(crate) fn moments(&self) -> (f64, f64) {
        let all = self.count() as f64;
        let middle = empty();
        let at = |high: &u64| middle.median_equivalent(*high) as f64 / NS;
        let mean = self.values.iter().map(|(high, (_, n))| at(high) * *n as f64).sum::<f64>() / all;
        let squares = self.values.iter().map(|(high, (_, n))| (at(high) - mean).powi(2) * *n as f64).sum::<f64>();
        (mean, (squares / all).sqrt())
    }

    /// What a report says of it, seconds: every quantile and moment.
    pub(crate) fn expect(&self, address: &str, line: Option<usize>, expected: &mut Expected) {
        expected.is(format!("{address}/count"), self.count() as f64, line);
        let quantiles = [
            ("p50", 0.5),
            ("p75", 0.75),
            ("p90", 0.9),
            ("p95", 0.95),
            ("p99", 0.99),
            ("p999", 0.999),
            ("p9999", 0.9999),
        ];
        for (name, q) in quantiles {
            expected.is(format!("{address}/{name}"), self.quantile(q), line);
        }
        let there = self.count() > 0;
        let (mean, stdev) = self.moments();
        expected.is(format!("{address}/mean"), there.then_some(mean), line);
        expected.is(format!("{address}/stdev"), there.then_some(stdev), line);
        let min = self.values.values().next().map(|(low, _)| *low as f64 / NS);
        expected.is(format!("{address}/min"), min, line);
        expected.is(format!("{address}/max"), self.values.keys().next_back().map(|high| *high as f64 / NS), line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_a_walk_over_the_values() {
        let mut histogram = empty();
        (1..=1000u64).for_each(|i| histogram.record(i * 1_000_000).unwrap());
        let mut all = Distribution::default();
        all.add(&Payload::encode(&histogram).0);
        assert_eq!(all.count(), 1000);
        for (q, wanted) in [(0.5, 0.5), (0.99, 0.99), (1.0, 1.0)] {
            let seen = all.quantile(q).unwrap();
            assert!((seen - wanted).abs() <= wanted * 0.001, "{q}: {seen}");
        }
        let (least, most) = all.from(500_000_000);
        assert!(least <= 501 && most >= 501 && most - least <= 2, "{least} {most}");
        assert_eq!(Distribution::default().quantile(0.5), None);
    }
}
