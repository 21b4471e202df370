//! What one thing does to a figure beside another, from pairs; and what that means.

use genkai_model::figure::Figure;
use serde_json::Value as Json;

use crate::expected::Expected;
use crate::intervals::{self, ALPHA, Counts, Interval};

/// The figure of a name.
pub(crate) fn figure_of(name: &str) -> Option<Figure> {
    serde_json::from_value(name.into()).ok()
}

/// Observations in pairs: before, after.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Pairs {
    /// Positive quantities, by their ratio.
    Ratios(Vec<(f64, f64)>),
    /// Failed of finished requests, by the difference of the parts.
    Failures(Vec<(Counts, Counts)>),
}

/// What pairs say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// The effect; none of fewer than two pairs.
    pub(crate) effect: Option<Interval>,
    /// What it is beyond, where nothing more is known.
    pub(crate) bound: Option<Bound>,
    /// What it means.
    pub(crate) call: &'static str,
    /// How many more pairs would decide, where they can.
    pub(crate) more: Option<u32>,
}

/// One end of what a figure may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    More(f64),
    Less(f64),
}

impl Call {
    /// Of no effect.
    pub(crate) fn none(call: &'static str) -> Call {
        Call { effect: None, bound: None, call, more: None }
    }
}

/// What ratios say in which values of the base, or of the other, are bounds: only how far from 1 they are on one side; nothing where both are.
pub(crate) fn bounded(ratios: Vec<(f64, f64)>, [base, other]: [bool; 2], now: f64) -> Call {
    let Some(e) = Pairs::Ratios(ratios).effect(now).filter(|_| base != other) else { return Call::none("cannot_tell") };
    let (bound, call) = match other {
        true => (Bound::More(e.low), if e.low > 1.0 { "worse" } else { "cannot_tell" }),
        false => (Bound::Less(e.high), if e.high < 1.0 { "better" } else { "cannot_tell" }),
    };
    Call { bound: Some(bound), ..Call::none(call) }
}

/// What a finding must say of a bound.
pub(crate) fn bound(address: &str, bound: Option<Bound>, line: Option<usize>, expected: &mut Expected) {
    match bound {
        Some(Bound::More(bound)) => expected.more_than(address, bound, line),
        Some(Bound::Less(bound)) => expected.less_than(address, bound, line),
        None => expected.is(address, None, line),
    }
}

/// How pairs are judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// What does not matter: a part.
    pub(crate) margin: f64,
    /// Whether more of the figure is better.
    pub(crate) more: bool,
    /// What is left outside at this look.
    pub(crate) now: f64,
    /// What is left outside at the last one.
    pub(crate) last: f64,
}

/// Most further pairs that are told.
const MOST: u32 = 1_000;
/// Values of histograms are told to three digits.
const DIGITS: f64 = 0.001;

impl Pairs {
    /// The effect with what is left outside of its interval: a ratio's is no narrower than its digits.
    fn effect(&self, alpha: f64) -> Option<Interval> {
        match self {
            Pairs::Failures(pairs) => intervals::failures_differ(pairs, alpha),
            Pairs::Ratios(pairs) => {
                let ratios: Vec<f64> = pairs.iter().map(|(before, after)| after / before).collect();
                let e = intervals::geometric(&ratios, alpha)?;
                let (low, high) = (e.value * (1.0 - DIGITS), e.value * (1.0 + DIGITS));
                Some(Interval { low: e.low.min(low), high: e.high.max(high), ..e })
            }
        }
    }

    /// The effect and what it means: all of it within the margin is the same, "no effect" inside of it is nothing told, else better or worse.
    pub(crate) fn said(&self, rules: Rules) -> Call {
        let ratio = matches!(self, Pairs::Ratios(_));
        let none = if ratio { 1.0 } else { 0.0 };
        let margin = match ratio {
            true => (1.0 / (1.0 + rules.margin), 1.0 + rules.margin),
            false => (-rules.margin, rules.margin),
        };
        let Some(e) = self.effect(rules.now) else { return Call::none("missing") };
        let (call, more) = match () {
            () if margin.0 <= e.low && e.high <= margin.1 => ("same", None),
            () if e.low <= none && none <= e.high => ("cannot_tell", needed(e, ratio, margin.1, rules)),
            () if (e.value > none) == rules.more => ("better", None),
            () => ("worse", None),
        };
        Call { effect: Some(e), bound: None, call, more }
    }
}

/// How many more pairs would decide, if they are as those so far: so many that the interval excludes "no effect" or lies in the margin.
pub(crate) fn needed(e: Interval, ratio: bool, margin: f64, rules: Rules) -> Option<u32> {
    let scale = |x: f64| if ratio { x.ln() } else { x };
    let none = if ratio { 1.0 } else { 0.0 };
    let t = intervals::student(f64::from(e.n) - 1.0, rules.now)?;
    let spread = (scale(e.high) - scale(e.low)) / 2.0 / t * f64::from(e.n).sqrt();
    let far = (scale(e.value) - scale(none)).abs();
    let wanted = far.max((scale(margin) - far).max(0.0));
    let decides = |n: u32| {
        let t = intervals::student(f64::from(n) - 1.0, rules.last);
        t.is_some_and(|t| t * spread / f64::from(n).sqrt() < wanted)
    };
    let (mut no, mut yes) = (e.n, e.n + MOST);
    if !decides(yes) {
        return None;
    }
    while yes - no > 1 {
        let middle = no.midpoint(yes);
        if decides(middle) { yes = middle } else { no = middle }
    }
    Some(yes - e.n)
}

/// The part of an error rate that is left outside at a look after so many pairs or blocks: in proportion to those since the look before.
pub(crate) fn spent(looks: &[u32], done: u32, alpha: f64) -> f64 {
    let Some(last) = looks.last() else { return alpha };
    let done = done.clamp(1, *last);
    let before = looks.iter().filter(|look| **look < done).max().copied().unwrap_or(0);
    alpha * f64::from(done - before) / f64::from(*last)
}

/// What a finding must say of an effect.
pub(crate) fn expect(address: &str, said: &Call, line: Option<usize>, expected: &mut Expected) {
    expected.estimate(format!("{address}/effect"), said.effect, line);
    bound(&format!("{address}/bound"), said.bound, line, expected);
    expected.word(format!("{address}/call"), said.call, "by the interval and the margin", line);
    expected.is(format!("{address}/more"), said.more.map(f64::from), line);
}

/// Best and worst rank of `name` among so many, where `ahead` are the pairs of which the first is certainly before the second.
pub(crate) fn ranks(name: &Json, count: usize, ahead: &[(Json, Json)]) -> (f64, f64) {
    let before = ahead.iter().filter(|(_, slower)| slower == name).count();
    let after = ahead.iter().filter(|(faster, _)| faster == name).count();
    (1.0 + before as f64, (count.saturating_sub(after)).max(1) as f64)
}

/// Observations of one of several, each with its key (a round, a start).
pub(crate) type Observations = Vec<((u32, u32), f64)>;

/// The ratio of two, over the keys that both have: how many times as much the one with more has.
pub(crate) fn ratio(more: &Observations, less: &Observations, alpha: f64) -> Option<Interval> {
    let both = more.iter().filter_map(|(key, a)| Some(a / less.iter().find(|(other, _)| other == key)?.1));
    intervals::geometric(&both.collect::<Vec<_>>(), alpha)
}

/// What is left outside of the interval of each two of so many.
pub(crate) fn shared(count: usize) -> f64 {
    ALPHA / ((count * count.saturating_sub(1) / 2).max(1)) as f64
}

/// Ranks of `name` among `names`, by the pairs of a finding that are certain.
pub(crate) fn certain_ranks(name: &Json, names: &[&Json], pairs: &[Json]) -> (f64, f64) {
    let ahead = pairs.iter().filter_map(|pair| {
        let (faster, slower) = (pair.get("faster")?, pair.get("slower")?);
        let both = names.contains(&faster) && names.contains(&slower);
        (both && pair.get("certain") == Some(&Json::Bool(true))).then(|| (faster.clone(), slower.clone()))
    });
    ranks(name, names.len(), &ahead.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_says_one_of_four_things() {
        let said = |pairs: &[(f64, f64)], margin: f64, more: bool| {
            Pairs::Ratios(pairs.to_vec()).said(Rules { margin, more, now: 0.05, last: 0.05 }).call
        };
        let twice = [(1.0, 2.0), (1.0, 2.1), (1.0, 1.9)];
        assert_eq!((said(&twice, 0.05, true), said(&twice, 0.05, false)), ("better", "worse"));
        assert_eq!(said(&[(1.0, 1.0), (1.0, 1.01), (1.0, 0.99)], 0.05, true), "same");
        assert_eq!(said(&[(1.0, 1.0), (1.0, 2.0), (1.0, 0.6)], 0.05, true), "cannot_tell");
        assert_eq!(said(&[(1.0, 1.0)], 0.05, true), "missing");
    }

    #[test]
    fn looks_spend_what_came_due_since_the_last() {
        let all: f64 = [4, 6, 10].iter().map(|look| spent(&[4, 6, 10], *look, 0.05)).sum();
        assert!((all - 0.05).abs() < 1e-12);
        assert!((spent(&[4, 6, 10], 5, 0.05) - 0.005).abs() < 1e-12);
    }
}
