//! What one thing does to a figure beside another, from observations in pairs; and what that means.
//!
//! Each pair is of one moment (a round, a block), so whatever drifts on the machine meets both. Times, rates and sizes vary by
//! factors: their ratios are compared on logarithms. Fractions are compared by difference. Every statement is read off one
//! interval: it differs when the interval excludes "no effect", it is equal when the whole interval lies within a margin fixed
//! before (two one-sided tests: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987; an interval of 1 - alpha
//! where his has 1 - 2 alpha, so more careful), and else nobody can tell. Of several statements each interval leaves out its part
//! of the error rate (Bonferroni), so that all hold together.

use std::collections::BTreeMap;

use genkai_model::finding::{Call, Estimate, RankedPair};
use genkai_model::units::Range;

use crate::statistics::{self, Counts};

/// Least half-width of a ratio's interval that is told.
const DIGITS: f64 = 0.001;

/// Observations of a figure in pairs: before, after.
#[derive(Clone, Debug, PartialEq)]
pub enum Paired {
    /// Positive quantities, compared by ratio.
    Ratios(Vec<(f64, f64)>),
    /// Quantities compared by difference.
    Differences(Vec<(f64, f64)>),
    /// Failed and finished requests, whose fractions are compared by difference.
    Failures(Vec<(Counts, Counts)>),
}

impl Paired {
    /// After by before, or after minus before, with `alpha` left outside of its interval. None for fewer than two pairs, or a
    /// ratio of what is not positive.
    pub fn effect(&self, alpha: f64) -> Option<Estimate> {
        match self {
            Paired::Ratios(pairs) => {
                let ratios: Vec<f64> = pairs.iter().map(|(before, after)| after / before).collect();
                statistics::geometric(&ratios, alpha)
            }
            Paired::Differences(pairs) => statistics::paired(pairs, alpha),
            Paired::Failures(pairs) => statistics::failures_difference(pairs, alpha),
        }
    }

    /// The same, no narrower than what can be told: histograms tell values to three digits, so that equal ratios are no certainty.
    pub fn told(&self, alpha: f64) -> Option<Estimate> {
        let effect = self.effect(alpha)?;
        if !matches!(self, Paired::Ratios(_)) {
            return Some(effect);
        }
        let (low, high) = (effect.value * (1.0 - DIGITS), effect.value * (1.0 + DIGITS));
        let interval = Range { low: effect.interval.low.min(low), high: effect.interval.high.max(high) };
        Some(Estimate { interval, ..effect })
    }

    /// The effect at a look that leaves `now` outside of its interval, and what it means; `later` is what the last look leaves outside,
    /// `more` whether more of the figure is better.
    pub fn judge(&self, margin: Range, more: bool, (now, later): (f64, f64)) -> (Option<Estimate>, Call) {
        let effect = self.told(now);
        let call = call(effect, self.none(), margin, more, |effect| needed(effect, self.none(), margin, now, later));
        (effect, call)
    }

    /// What the effect is where there is none.
    pub fn none(&self) -> f64 {
        if matches!(self, Paired::Ratios(_)) { 1.0 } else { 0.0 }
    }
}

/// Two of several that were compared each with each: who has more of a figure, and how many times as much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// Place of the one with more.
    pub more: usize,
    /// Place of the one with less.
    pub less: usize,
    /// How many times as much, at least 1, with an interval that holds for all pairs together.
    pub ratio: Estimate,
}

impl Match {
    /// The first by the second: keys that only one of them has can turn the order of their means around.
    pub fn of(first: usize, second: usize, ratio: Estimate) -> Match {
        match ratio.value >= 1.0 {
            true => Match { more: first, less: second, ratio },
            false => Match { more: second, less: first, ratio: inverse(ratio) },
        }
    }

    /// Whether they differ for certain.
    pub fn is_certain(&self) -> bool {
        excludes(self.ratio, 1.0)
    }
}

/// Each two of `all`, observations of the same key (a round, a start) with each other: whatever drifts meets both. Pairs without two
/// common keys are left out; the error rate is shared by all that there could be.
pub fn each_with_each<K: Ord>(all: &[&BTreeMap<K, f64>]) -> Vec<Match> {
    let count = all.len() * all.len().saturating_sub(1) / 2;
    let mut matches = Vec::with_capacity(count);
    for (n, one) in all.iter().enumerate() {
        for (m, other) in all.iter().enumerate().skip(n + 1) {
            let both = one.iter().filter_map(|(key, one)| Some((*other.get(key)?, *one))).collect();
            let Some(ratio) = Paired::Ratios(both).effect(statistics::ALPHA / count as f64) else { continue };
            matches.push(Match::of(n, m, ratio));
        }
    }
    matches
}

fn inverse(ratio: Estimate) -> Estimate {
    let interval = Range { low: 1.0 / ratio.interval.high, high: 1.0 / ratio.interval.low };
    Estimate { value: 1.0 / ratio.value, interval, n: ratio.n }
}

/// Whether the interval leaves `none` outside.
pub fn excludes(effect: Estimate, none: f64) -> bool {
    effect.interval.low > none || effect.interval.high < none
}

/// What does not matter: a factor of `1 + margin` either way.
pub fn ratio_margin(margin: f64) -> Range {
    Range { low: 1.0 / (1.0 + margin), high: 1.0 + margin }
}

/// What does not matter: a difference of `margin` either way.
pub fn difference_margin(margin: f64) -> Range {
    Range { low: -margin, high: margin }
}

/// Whether something is known of an effect.
pub fn is_decided(call: Call) -> bool {
    !matches!(call, Call::CannotTell { .. } | Call::Missing | Call::NotJudged)
}

/// What the effect means; `more` is whether more of the figure is better, `needed` how many more pairs would decide it.
pub fn call(
    effect: Option<Estimate>,
    none: f64,
    margin: Range,
    more: bool,
    needed: impl Fn(Estimate) -> Option<u32>,
) -> Call {
    let Some(effect) = effect else { return Call::Missing };
    let interval = effect.interval;
    if margin.low <= interval.low && interval.high <= margin.high {
        Call::Same
    } else if !excludes(effect, none) {
        Call::CannotTell { more: needed(effect) }
    } else if (effect.value > none) == more {
        Call::Better
    } else {
        Call::Worse
    }
}

/// Most pairs that are told.
const MOST: u32 = 1_000;

/// How many more pairs would decide an effect that is not decided, if its estimate and the spread between pairs stay as they are:
/// so many that the interval (with `later` left out) excludes "no effect", or lies within the margin. `now` is what the
/// effect's own interval leaves out. None for more than 1,000.
pub fn needed(effect: Estimate, none: f64, margin: Range, now: f64, later: f64) -> Option<u32> {
    // On the scale on which intervals are even.
    let scale = |x: f64| if none == 1.0 { x.ln() } else { x };
    let half = (scale(effect.interval.high) - scale(effect.interval.low)) / 2.0;
    let error = half / statistics::student_at(effect.n as usize, now)?;
    let spread = error * f64::from(effect.n).sqrt();
    let distance = (scale(effect.value) - scale(none)).abs();
    let wanted = distance.max((scale(margin.high) - distance).max(0.0));
    let enough = |n: u32| {
        let student = statistics::student_at(n as usize, later);
        student.is_some_and(|student| student * spread / f64::from(n).sqrt() < wanted)
    };
    let (mut short, mut long) = (effect.n, effect.n + MOST);
    if !enough(long) {
        return None;
    }
    // The interval shrinks with every pair.
    while long - short > 1 {
        let middle = short.midpoint(long);
        if enough(middle) { long = middle } else { short = middle }
    }
    Some(long - effect.n)
}

/// The later half of a series by its earlier half, by number of its observation: whether it still rises or falls. None for fewer than two
/// observations in a half.
pub fn drift(series: &[(u32, f64)], alpha: f64) -> Option<Estimate> {
    let half = series.iter().map(|(number, _)| number).sum::<u32>() / series.len().max(1) as u32;
    let side = |later: bool| -> Vec<f64> {
        series.iter().filter(|(number, _)| (*number > half) == later).map(|(_, value)| *value).collect()
    };
    statistics::factor(&side(false), &side(true), alpha)
}

/// Drift that matters: the later half is so many times the earlier, or the other way round.
const DRIFT: f64 = 1.1;

/// Whether a drift is certain, and large enough to matter.
pub fn drifts(ratio: Estimate) -> bool {
    excludes(ratio, 1.0) && !(1.0 / DRIFT..=DRIFT).contains(&ratio.value)
}

/// Best and worst rank of each of `names`, from 1: as many are certainly before it, as many certainly after. `ahead` are the pairs of
/// which the first is certainly before the second.
pub fn ranks<'a>(names: &[&'a str], ahead: &[(&str, &str)]) -> BTreeMap<&'a str, (u32, u32)> {
    let count = names.len() as u32;
    let rank = |name: &'a str| {
        let before = ahead.iter().filter(|(_, slower)| *slower == name).count() as u32;
        let after = ahead.iter().filter(|(faster, _)| *faster == name).count() as u32;
        (name, (1 + before, count.saturating_sub(after).max(1)))
    };
    names.iter().copied().map(rank).collect()
}

/// The same by pairs of which both are among `names`: those that are certain.
pub fn ranks_by<'a>(names: impl Iterator<Item = &'a String>, pairs: &[RankedPair]) -> BTreeMap<String, (u32, u32)> {
    let names: Vec<&str> = names.map(String::as_str).collect();
    let among = |name: &String| names.contains(&name.as_str());
    let certain = pairs.iter().filter(|pair| pair.certain && among(&pair.faster) && among(&pair.slower));
    let ranks = ranks(&names, &certain.map(|pair| (pair.faster.as_str(), pair.slower.as_str())).collect::<Vec<_>>());
    ranks.into_iter().map(|(name, ranks)| (name.to_owned(), ranks)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64, n: u32) -> Estimate {
        Estimate { value, interval: Range { low, high }, n }
    }

    #[test]
    fn an_interval_says_one_of_four_things() {
        let margin = ratio_margin(0.05);
        let said = |value, low, high, more| call(Some(estimate(value, low, high, 5)), 1.0, margin, more, |_| Some(7));
        assert_eq!(said(1.2, 1.1, 1.3, true), Call::Better);
        assert_eq!(said(1.2, 1.1, 1.3, false), Call::Worse);
        assert_eq!(said(0.8, 0.7, 0.9, false), Call::Better);
        assert_eq!(said(1.01, 0.98, 1.04, true), Call::Same);
        assert_eq!(said(1.01, 1.002, 1.02, true), Call::Same, "certain, and too little to matter");
        assert_eq!(said(1.03, 0.97, 1.10, true), Call::CannotTell { more: Some(7) });
        assert_eq!(said(1.06, 1.001, 1.12, true), Call::Better, "certain, and it may matter");
        assert_eq!(call(None, 1.0, margin, true, |_| None), Call::Missing);
    }

    #[test]
    fn more_pairs_decide_by_difference_or_by_equality() {
        let margin = difference_margin(0.05);
        let half = |n: usize, sd: f64| statistics::student_at(n, 0.05).unwrap() * sd / (n as f64).sqrt();
        let seen = |value: f64, sd: f64| estimate(value, value - half(10, sd), value + half(10, sd), 10);
        let more = needed(seen(0.10, 0.30), 0.0, margin, 0.05, 0.05).unwrap();
        // (1.96 x 0.3 / 0.1)^2 = 34.6 by the normal law, a few more by Student's.
        assert!((36..=39).contains(&(10 + more)), "{more}");
        assert_eq!(needed(seen(0.025, 10.0), 0.0, margin, 0.05, 0.05), None);
        let stricter = needed(seen(0.10, 0.30), 0.0, margin, 0.05, 0.001).unwrap();
        assert!(stricter > more, "{stricter} against {more}");
    }

    #[test]
    fn each_two_are_matched_by_key() {
        let of = |values: &[(u32, f64)]| values.iter().copied().collect::<BTreeMap<u32, f64>>();
        let slow = of(&[(1, 10.0), (2, 20.0), (3, 40.0)]);
        let fast = of(&[(1, 20.2), (2, 39.8), (3, 80.0), (4, 1.0)]);
        let alone = of(&[(3, 5.0)]);
        let all = each_with_each(&[&slow, &fast, &alone]);
        assert_eq!(all.len(), 1, "two need two common keys");
        assert_eq!((all[0].more, all[0].less, all[0].ratio.n), (1, 0, 3));
        assert!((all[0].ratio.value - 2.0).abs() < 0.01 && all[0].is_certain(), "{all:?}");
        assert!(each_with_each::<u32>(&[]).is_empty());
    }

    /// Student's data (as in `statistics`): R's t.test with conf.level = 0.95 gives 0.70 to 2.46 hours, so that the drugs are equal within
    /// three hours, by two one-sided tests, and not within two.
    #[test]
    fn equality_needs_the_whole_interval_within_the_margin() {
        let one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let effect = Paired::Differences(one.into_iter().zip(two).collect()).effect(0.05);
        let said = |hours: f64| call(effect, 0.0, difference_margin(hours), true, |_| None);
        assert_eq!((said(3.0), said(2.46), said(2.0)), (Call::Same, Call::Same, Call::Better));
    }

    #[test]
    fn ranks_are_ranges_where_nothing_is_certain() {
        let ranks = ranks(&["a", "b", "c"], &[("a", "b"), ("a", "c")]);
        assert_eq!((ranks["a"], ranks["b"], ranks["c"]), ((1, 1), (2, 3), (2, 3)));
    }

    #[test]
    fn a_rise_is_seen_between_halves() {
        let rising: Vec<(u32, f64)> = (1..=10).map(|n| (n, 100.0 + f64::from(n))).collect();
        let ratio = drift(&rising, 0.05).unwrap();
        assert!(excludes(ratio, 1.0) && (1.04..1.06).contains(&ratio.value), "{ratio:?}");
        assert_eq!(drift(&rising[..3], 0.05), None);
    }
}
