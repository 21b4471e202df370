//! What intervals tell of an instant, or of a part of a load.

use crate::events::Line;

/// Intervals that begin by a moment, microseconds.
pub(crate) fn before<'e>(ticks: &[&'e Line], us: u64) -> Vec<&'e Line> {
    ticks.iter().copied().filter(|tick| tick.number("/from_us") <= us as f64).collect()
}

/// Intervals that end after one instant and begin no later than another, microseconds.
pub(crate) fn between<'e>(ticks: &[&'e Line], from: f64, to: f64) -> Vec<&'e Line> {
    let inside = |tick: &&Line| tick.number("/to_us") > from && tick.number("/from_us") <= to;
    ticks.iter().copied().filter(inside).collect()
}

/// A gauge between the ends of intervals, in a straight line.
pub(crate) fn gauge(ticks: &[&Line], at: f64, pointer: &str) -> f64 {
    let Some(next) = ticks.iter().position(|tick| tick.number("/to_us") >= at) else {
        return ticks.last().map_or(0.0, |tick| tick.number(pointer));
    };
    let (begin, low) = match next.checked_sub(1) {
        Some(i) => (ticks[i].number("/to_us"), ticks[i].number(pointer)),
        None => (ticks[0].number("/from_us"), 0.0),
    };
    let (end, high) = (ticks[next].number("/to_us"), ticks[next].number(pointer));
    if end > begin { low + (high - low) * ((at - begin).max(0.0) / (end - begin)).min(1.0) } else { high }
}

/// What intervals count at their ends: the first one tells of all of it.
pub(crate) fn counted_at(ticks: &[&Line], at: f64, pointer: &str) -> f64 {
    let first = ticks.first().filter(|first| at <= first.number("/to_us"));
    first.map_or_else(|| gauge(ticks, at, pointer), |first| first.number(pointer))
}
