//! Ticks added up: counters are summed and histograms merged, never percentiles averaged.
//!
//! A payload that cannot be decoded (a damaged record) counts as empty: the counters beside it are still true, and an
//! analysis must not fail on the one line of a record that is broken.

use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::Tick;
use genkai_model::finding::Quantiles;
use genkai_model::histogram::{self, Payload};
use genkai_model::objective::Bound;
use genkai_model::units::Span;
use hdrhistogram::Histogram;

/// Nanoseconds in a second.
const NS: f64 = 1e9;
/// Microseconds in a second.
pub(crate) const US: f64 = 1e6;

/// Counters of several ticks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Seconds the ticks cover.
    pub seconds: f64,
    /// Requests written.
    pub sent: u64,
    /// Successful responses.
    pub ok: u64,
    /// Failed requests.
    pub failed: u64,
    /// Failed requests by kind, most frequent first.
    pub errors: Vec<ErrorCount>,
}

impl Tally {
    /// Adds up `ticks`.
    pub fn of<'t>(ticks: impl IntoIterator<Item = &'t Tick>) -> Tally {
        let mut kinds = [0u64; ErrorKind::COUNT];
        let mut tally = Tally::default();
        for tick in ticks {
            tally.seconds += length(tick);
            tally.sent += tick.sent;
            tally.ok += tick.ok;
            for error in &tick.errors {
                kinds[error.kind.index()] += error.count;
            }
        }
        tally.errors = ErrorKind::ALL.iter().map(|k| ErrorCount { kind: *k, count: kinds[k.index()] }).collect();
        tally.errors.retain(|e| e.count > 0);
        tally.errors.sort_by_key(|e| std::cmp::Reverse(e.count));
        tally.failed = tally.errors.iter().map(|e| e.count).sum();
        tally
    }

    /// Finished requests, well or not.
    pub fn finished(&self) -> u64 {
        self.ok + self.failed
    }

    /// Failed requests as a fraction of finished ones; 0 when none finished.
    pub fn failed_fraction(&self) -> f64 {
        if self.finished() == 0 { 0.0 } else { self.failed as f64 / self.finished() as f64 }
    }

    /// Successful responses a second; 0 when no time passed.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.ok as f64 / self.seconds } else { 0.0 }
    }

    /// How often `kinds` occurred.
    pub fn count(&self, kinds: &[ErrorKind]) -> u64 {
        self.errors.iter().filter(|e| kinds.contains(&e.kind)).map(|e| e.count).sum()
    }
}

/// Seconds a tick covers.
pub fn length(tick: &Tick) -> f64 {
    tick.to_us.saturating_sub(tick.from_us) as f64 / US
}

/// How many requests had certainly waited for longer than `bound` allows when a load with `ticks` ended.
pub(crate) fn left(ticks: &[Tick], bound: Bound<Span>) -> u64 {
    beyond(&merge(ticks, |t| &t.unanswered), bound).max(waited(ticks, bound.at))
}

/// The same by counts alone, for records without ages: those that were in flight when the last
/// interval had ended that is as long ago, but for as many as ended since. None where it did not last as long.
fn waited(ticks: &[Tick], bound: Span) -> u64 {
    let end = ticks.last().map_or(0, |t| t.to_us);
    let Some(reached) = end.checked_sub(bound.0.div_ceil(1_000)) else { return 0 };
    let (mut before, mut ended) = (0, 0);
    for tick in ticks {
        match tick.to_us <= reached {
            true => before = tick.in_flight,
            false => ended += tick.ok + failed(tick),
        }
    }
    before.saturating_sub(ended)
}

/// Failed requests of a tick.
pub fn failed(tick: &Tick) -> u64 {
    tick.errors.iter().map(|e| e.count).sum()
}

/// One histogram of a tick, in nanoseconds.
pub fn decode(payload: &Payload) -> Histogram<u64> {
    payload.decode().unwrap_or_else(|_| histogram::empty())
}

/// One histogram of several ticks, in nanoseconds.
pub fn merge<'t>(ticks: impl IntoIterator<Item = &'t Tick>, pick: impl Fn(&Tick) -> &Payload) -> Histogram<u64> {
    let mut all = histogram::empty();
    for payload in ticks.into_iter().map(pick) {
        // A damaged payload adds nothing.
        let _ = payload.add_to(&mut all);
    }
    all
}

/// Requests that met the end of a kept connection in a tick: made again, or failed.
pub fn met_end(tick: &Tick) -> u64 {
    let lost = |e: &&ErrorCount| matches!(e.kind, ErrorKind::EofReused | ErrorKind::ResetReused);
    tick.retried + tick.errors.iter().filter(lost).map(|e| e.count).sum::<u64>()
}

/// As [`merge`], of a histogram that not every tick has.
pub fn merge_some<'t>(
    ticks: impl IntoIterator<Item = &'t Tick>,
    pick: impl Fn(&Tick) -> Option<&Payload>,
) -> Histogram<u64> {
    let mut all = histogram::empty();
    for payload in ticks.into_iter().filter_map(pick) {
        let _ = payload.add_to(&mut all);
    }
    all
}

/// How many values of `histogram` reach `bound` nanoseconds (within the histogram's three digits).
pub fn reaching(histogram: &Histogram<u64>, bound: u64) -> u64 {
    if histogram.is_empty() || histogram.max() < bound { 0 } else { histogram.count_between(bound, u64::MAX) }
}

/// How many values of `histogram` are not below `bound`, as it is written (within the histogram's three digits).
pub fn beyond(histogram: &Histogram<u64>, bound: Bound<Span>) -> u64 {
    let at = histogram.highest_equivalent(bound.at.0);
    reaching(histogram, if bound.included { at.saturating_add(1) } else { bound.at.0 })
}

/// A histogram of nanoseconds in a few figures, in seconds.
pub fn quantiles(histogram: &Histogram<u64>) -> Quantiles {
    if histogram.is_empty() {
        return Quantiles::default();
    }
    let at = |q: f64| histogram.value_at_quantile(q) as f64 / NS;
    Quantiles {
        count: histogram.len(),
        min: histogram.min() as f64 / NS,
        p50: at(0.5),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        max: histogram.max() as f64 / NS,
        mean: histogram.mean() / NS,
    }
}

/// The value at quantile `q` in seconds; none for an empty histogram.
pub fn quantile(histogram: &Histogram<u64>, q: f64) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(q) as f64 / NS)
}

/// The ticks that overlap `from..=to` microseconds.
pub fn between(ticks: &[Tick], from: u64, to: u64) -> &[Tick] {
    let first = ticks.partition_point(|t| t.to_us <= from);
    let last = ticks.partition_point(|t| t.from_us <= to);
    &ticks[first.min(last)..last]
}

/// The ticks that begin before `until` microseconds; all for none.
pub fn before(ticks: &[Tick], until: Option<u64>) -> &[Tick] {
    match until {
        Some(us) => &ticks[..ticks.partition_point(|t| t.from_us <= us)],
        None => ticks,
    }
}

/// A gauge that ticks carry for their end, at an instant between two ends (linear in between; zero at time zero).
pub fn gauge(ticks: &[Tick], at_us: u64, pick: impl Fn(&Tick) -> f64) -> f64 {
    let next = ticks.partition_point(|t| t.to_us < at_us);
    let Some(after) = ticks.get(next) else { return ticks.last().map_or(0.0, pick) };
    let (from_us, from) = next.checked_sub(1).map_or((after.from_us, 0.0), |i| (ticks[i].to_us, pick(&ticks[i])));
    let whole = after.to_us.saturating_sub(from_us) as f64;
    let part = at_us.saturating_sub(from_us) as f64;
    if whole > 0.0 { from + (pick(after) - from) * (part / whole).min(1.0) } else { pick(after) }
}

/// How many there were of what ticks count at their ends, at an instant: as [`gauge`], but nobody counted before the first interval's end,
/// so that its count is all that is known of the interval.
pub fn counted(ticks: &[Tick], at_us: u64, pick: impl Fn(&Tick) -> f64) -> f64 {
    match ticks.first() {
        Some(first) if at_us <= first.to_us => pick(first),
        _ => gauge(ticks, at_us, pick),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(i: u64, values: &[u64], failed: u64) -> Tick {
        let mut h = histogram::empty();
        values.iter().for_each(|v| h.record(*v).unwrap());
        let errors = if failed > 0 { vec![ErrorCount { kind: ErrorKind::Reset, count: failed }] } else { Vec::new() };
        Tick {
            from_us: i * 200_000,
            to_us: (i + 1) * 200_000,
            ok: values.len() as u64,
            in_flight: 10 * (i + 1),
            errors,
            latency: Payload::encode(&h),
            ..Tick::default()
        }
    }

    #[test]
    fn merging_differs_from_averaging_percentiles() {
        let fast: Vec<u64> = vec![1_000_000; 99];
        let ticks = [tick(0, &fast, 0), tick(1, &[900_000_000], 3)];
        let all = quantiles(&merge(&ticks, |t| &t.latency));
        assert_eq!(all.count, 100);
        assert!(all.p90 < 0.0011, "the average of both p90 would be 0.45 s, it is {}", all.p90);
        assert!(all.max > 0.89);
        let tally = Tally::of(&ticks);
        assert_eq!((tally.finished(), tally.failed, tally.seconds), (103, 3, 0.4));
    }

    #[test]
    fn damaged_payloads_count_as_empty() {
        let broken = Tick { latency: Payload("not base64!".into()), ok: 1, ..tick(0, &[], 0) };
        assert_eq!(merge([&broken], |t| &t.latency).len(), 0);
    }

    #[test]
    fn gauges_are_read_between_ticks() {
        let ticks = [tick(0, &[], 0), tick(1, &[], 0)];
        let in_flight = |t: &Tick| t.in_flight as f64;
        assert_eq!(gauge(&ticks, 100_000, in_flight), 5.0);
        assert_eq!(gauge(&ticks, 300_000, in_flight), 15.0);
        assert_eq!(gauge(&ticks, 9_000_000, in_flight), 20.0);
        assert_eq!(gauge(&[], 1, in_flight), 0.0);
        assert_eq!(counted(&ticks, 1, in_flight), 10.0, "not next to none: nobody looked before");
        assert_eq!(counted(&ticks, 300_000, in_flight), 15.0);
        assert_eq!(counted(&[], 1, in_flight), 0.0);
    }

    #[test]
    fn ranges_of_ticks() {
        let ticks: Vec<Tick> = (0..5).map(|i| tick(i, &[], 0)).collect();
        assert_eq!(between(&ticks, 200_000, 500_000).len(), 2);
        assert_eq!(between(&ticks, 2_000_000, 3_000_000).len(), 0);
        assert_eq!(before(&ticks, Some(200_000)).len(), 2);
        assert_eq!(before(&ticks, None).len(), 5);
    }

    #[test]
    fn values_reaching_a_bound() {
        let h = merge([&tick(0, &[1_000_000, 500_000_000, 2_000_000_000], 0)], |t| &t.latency);
        assert_eq!(reaching(&h, 500_000_000), 2);
        assert_eq!(reaching(&h, 3_000_000_000), 0);
    }
}
