//! Words that all comparisons share: figures, effects on them, ranks.

use genkai_model::figure::Figure;
use genkai_model::finding::{Call, Effect, OneSided, RankedPair};
use genkai_model::units::Range;

use crate::{clean, figure};

/// The ranks that a comparison leaves open: `1`, `2-3`.
pub(super) fn ranks(best: u32, worst: u32) -> String {
    if best == worst { best.to_string() } else { format!("{best}-{worst}") }
}

/// Two that are ranked, `first / second`: how they differ, as cells of a table.
pub(super) fn ranked([first, second]: [&str; 2], pair: &RankedPair) -> [String; 4] {
    [
        format!("{} / {}", clean::line(first), clean::line(second)),
        format!("{}×", figure::number(pair.ratio.value)),
        ratios(pair.ratio.interval),
        if pair.certain { "yes" } else { "not measurably" }.to_owned(),
    ]
}

/// `x1.23 (interval 1.10-1.37)`; `more than x40`.
pub(super) fn brief(effect: &Effect) -> String {
    if effect.bound.is_some() {
        return size(effect);
    }
    effect.effect.map_or_else(String::new, |_| format!("{} (interval {})", size(effect), interval(effect)))
}

/// The size of an effect: `x1.23`, `-3.2 percentage points`, `more than x40`.
pub(crate) fn size(effect: &Effect) -> String {
    match effect.bound {
        Some(OneSided::MoreThan(ratio)) => return format!("more than x{}", figure::number(ratio)),
        Some(OneSided::LessThan(ratio)) => return format!("less than x{}", figure::number(ratio)),
        None => {}
    }
    let Some(seen) = effect.effect else { return "-".to_owned() };
    match effect.figure.is_fraction() {
        true => format!("{} points", points(seen.value)),
        false => format!("x{}", figure::number(seen.value)),
    }
}

/// A difference of fractions in percentage points, with its sign.
pub(crate) fn points(x: f64) -> String {
    figure::signed(x * 100.0, figure::number)
}

/// Its interval.
pub(crate) fn interval(effect: &Effect) -> String {
    let Some(seen) = effect.effect else { return "-".to_owned() };
    match effect.figure.is_fraction() {
        true => figure::range(seen.interval, points),
        false => ratios(seen.interval),
    }
}

/// Factors beyond this, and below its inverse, are no sizes of an effect but what little was measured leaves open.
const BOUND: f64 = 1_000.0;

/// An interval of ratios: of an end so far out that it bounds nothing, only that it is.
fn ratios(interval: Range) -> String {
    let (low, high) = (interval.low < BOUND.recip(), interval.high > BOUND);
    match (low, high) {
        (false, false) => figure::range(interval, figure::number),
        (true, false) => format!("up to {}, no lower bound", figure::number(interval.high)),
        (false, true) => format!("from {} on, no upper bound", figure::number(interval.low)),
        (true, true) => "no bounds".to_owned(),
    }
}

/// What an effect means, in a few words.
pub(crate) fn call(effect: &Effect) -> String {
    match effect.call {
        Call::CannotTell { .. } if is_open(effect) => "cannot tell: answers are missing".to_owned(),
        call => called(call, ["block", "blocks"]),
    }
}

/// Whether requests without an answer leave it open, so that more blocks would not decide it.
pub(crate) fn is_open(effect: &Effect) -> bool {
    matches!(effect.call, Call::CannotTell { .. }) && effect.effect.is_none()
}

/// The same where something else than blocks is counted: one of it, and many.
pub(crate) fn called(call: Call, [one, many]: [&str; 2]) -> String {
    match call {
        Call::Better => "better".to_owned(),
        Call::Worse => "worse".to_owned(),
        Call::Same => "no measurable difference".to_owned(),
        Call::CannotTell { more: Some(more) } => {
            let unit = if more == 1 { one } else { many };
            format!("cannot tell (about {} more {unit} needed)", figure::count(more.into()))
        }
        Call::CannotTell { more: None } => format!("cannot tell (more than 1,000 more {many})"),
        Call::Missing => "nothing to compare".to_owned(),
        Call::NotJudged => "not judged".to_owned(),
    }
}

/// What a figure is called.
pub(crate) fn title(figure: Figure) -> &'static str {
    match figure {
        Figure::Failures => "failures",
        Figure::Throughput => "throughput",
        Figure::P50 => "p50 latency",
        Figure::P95 => "p95 latency",
        Figure::P99 => "p99 latency",
        Figure::Max => "a turn's longest latency",
        Figure::Cpu => "CPU per request",
        Figure::Memory => "memory",
    }
}

/// A value of a figure with its unit.
pub(crate) fn unit(figure: Figure, value: f64) -> String {
    match figure {
        Figure::Failures => figure::percent(value),
        Figure::Throughput => format!("{}/s", figure::number(value)),
        Figure::Memory => figure::bytes(value),
        _ => figure::seconds(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_bounds_nothing_is_no_number() {
        let said = |low, high| ratios(Range { low, high });
        assert_eq!(said(0.752, 0.996), "0.752-0.996");
        assert_eq!(said(0.001, 1_000.0), "0.001-1,000");
        assert_eq!(said(4.8e-13, 2.07e12), "no bounds");
        assert_eq!(said(0.3, 2.07e12), "from 0.3 on, no upper bound");
        assert_eq!(said(4.8e-13, 1.2), "up to 1.2, no lower bound");
    }
}
