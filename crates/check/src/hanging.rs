//! Requests that had no answer for long, told by the time that clients waited in all: records of older versions have nothing better, and
//! latencies are judged by it too.
//!
//! In the last W seconds clients waited some client-seconds; what the requests that ended do not account for is the time of those that
//! still wait. Of n that wait, those within the time allowed, L, account for L each at most; so `(rest - n L) / (W - L)` are beyond it.

use crate::distribution::Distribution;
use crate::events::{Line, failed, merged};

/// Lengths looked back over, in times L.
const BACK: [f64; 3] = [2.0, 4.0, 10.0];

/// What is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Allowed {
    /// So many seconds.
    Seconds(f64),
    /// Whatever is not far longer than others took: five times the 95th percentile of the last ten seconds, a second at least.
    Pace,
}

/// An interval as far as waiting goes.
#[derive(Clone, Debug)]
struct Part {
    from: f64,
    to: f64,
    in_flight: f64,
    waited: f64,
    ended: f64,
    unknown: f64,
    classes: Vec<(u32, u64)>,
}

/// How many hang at the end of an interval, and since when, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Hanging {
    /// How many.
    pub(crate) count: f64,
    /// Since when those that wait do.
    pub(crate) since_us: u64,
    /// Whether it is known how long requests take.
    pub(crate) known: bool,
}

/// For each interval of a load, how many hang at its end.
pub(crate) fn of(ticks: &[&Line], allowed: Allowed) -> Vec<Hanging> {
    let parts = parts(ticks);
    let (mut begin, mut pace) = (0, None);
    let mut all = Vec::new();
    for now in 0..parts.len() {
        let (within, bound) = match allowed {
            Allowed::Seconds(bound) => (bound, bound),
            Allowed::Pace => {
                pace = usual(&parts[..=now]).or(pace);
                pace.map_or((f64::INFINITY, f64::INFINITY), |p95| (p95, (5.0 * p95).max(1.0)))
            }
        };
        let longest = (BACK[2] * bound).max(1.0);
        while begin < now && (parts[now].to - parts[begin + 1].from) / 1e6 > longest {
            begin += 1;
        }
        let recent = &parts[begin..=now];
        let most = BACK.iter().map(|times| beyond(recent, (times * bound).max(1.0), within, bound)).fold(0.0, f64::max);
        let few = allowed == Allowed::Pace && most < 0.1 * parts[now].in_flight;
        all.push(Hanging { count: if few { 0.0 } else { most }, since_us: since(recent), known: bound.is_finite() });
    }
    all
}

fn parts(ticks: &[&Line]) -> Vec<Part> {
    let mut before = 0.0;
    let part = |tick: &&Line| {
        let (from, to) = (tick.number("/from_us"), tick.number("/to_us"));
        let (ok, bad) = (merged(&[tick], "/latency"), merged(&[tick], "/failed_after"));
        let in_flight = tick.number("/in_flight");
        let waited = (before + in_flight) / 2.0 * (to - from) / 1e6;
        before = in_flight;
        let unknown = (failed(tick) - bad.count() as f64).max(0.0);
        Part { from, to, in_flight, waited, ended: ok.sum() + bad.sum(), unknown, classes: classes(&ok) }
    };
    ticks.iter().map(part).collect()
}

/// Latencies in classes of an eighth of a doubling, from a microsecond on.
fn classes(latency: &Distribution) -> Vec<(u32, u64)> {
    latency.steps().map(|(highest, count)| (((highest as f64 / 1e3).max(1.0).log2() * 8.0) as u32, count)).collect()
}

/// The upper end of the class in which the 95th percentile of the last ten seconds lies, seconds; none for fewer than ten responses.
fn usual(parts: &[Part]) -> Option<f64> {
    let now = parts.last()?.to;
    let mut all: Vec<(u32, u64)> =
        parts.iter().filter(|part| part.to + 1e7 >= now).flat_map(|part| part.classes.iter().copied()).collect();
    all.sort_by_key(|(class, _)| std::cmp::Reverse(*class));
    let count: u64 = all.iter().map(|(_, n)| n).sum();
    let mut above = 0;
    let class = all.iter().find(|(_, n)| {
        above += n;
        above > count / 20
    })?;
    (count >= 10).then(|| (f64::from(class.0 + 1) / 8.0).exp2() / 1e6)
}

fn beyond(recent: &[Part], back: f64, within: f64, bound: f64) -> f64 {
    let Some(now) = recent.last() else { return 0.0 };
    let inside = |part: &&Part| (now.to - part.from) / 1e6 <= back + 1e-9;
    let looked: Vec<&Part> = recent.iter().filter(inside).collect();
    let span = looked.first().map_or(0.0, |first| (now.to - first.from) / 1e6);
    if !bound.is_finite() || span < 2.0 * bound || span <= bound {
        return 0.0;
    }
    let rest: f64 = looked.iter().map(|part| part.waited - part.ended - part.unknown * back).sum();
    // What sums are off by must not decide.
    ((rest - now.in_flight * within) / (span - within) + 1e-9).clamp(0.0, now.in_flight).floor()
}

/// The foot of the rise of what waits beyond what ended: a line through a quarter and three quarters of it.
fn since(recent: &[Part]) -> u64 {
    let excess = |part: &Part| {
        let long = (part.to - part.from) / 1e6;
        if long > 0.0 { (part.waited - part.ended) / long } else { 0.0 }
    };
    let (Some(first), Some(last)) = (recent.first(), recent.last()) else { return 0 };
    let low = recent.iter().map(excess).fold(f64::INFINITY, f64::min).max(0.0);
    let reached = |part: f64| {
        let mark = low + part * (excess(last) - low);
        recent.iter().rev().find(|one| excess(one) <= mark + 1e-9).map_or(first.from, |one| one.to) as u64
    };
    let (quarter, most) = (reached(0.25), reached(0.75));
    quarter.saturating_sub(most.saturating_sub(quarter) / 2).min(last.from as u64)
}
