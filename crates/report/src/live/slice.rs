//! Stretches of a load in figures that can be added up: what a moving window and a time scale are made of.

use std::collections::VecDeque;

use genkai_model::event::Tick;
use genkai_model::histogram::Payload;

/// Fewest values from which a p99 is shown.
const FEW: u64 = 10;
/// Rates and percentiles of the present moment are those of so long, microseconds: of one interval they would only flicker.
const PRESENT_US: u64 = 2_000_000;
/// Significant bits of the times that are kept: within 0.8 %, enough for a screen.
const BITS: u32 = 7;

/// A distribution of times, nanoseconds, in few numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Times {
    /// Middle of a range of values, how many; in order.
    counts: Vec<(u64, u64)>,
    total: u64,
    max: u64,
}

impl Times {
    /// Of a histogram; a damaged one counts as empty.
    pub(super) fn of(payload: &Payload) -> Times {
        let Ok(histogram) = payload.decode() else { return Times::default() };
        let mut times = Times { counts: Vec::new(), total: histogram.len(), max: 0 };
        for one in histogram.iter_recorded() {
            let (middle, count) = (middle(one.value_iterated_to()), one.count_at_value());
            match times.counts.last_mut() {
                Some(last) if last.0 == middle => last.1 += count,
                _ => times.counts.push((middle, count)),
            }
        }
        times.max = if histogram.is_empty() { 0 } else { histogram.max() };
        times
    }

    pub(super) fn add(&mut self, other: &Times) {
        let mut sum = Vec::with_capacity(self.counts.len().max(other.counts.len()));
        let (mut mine, mut theirs) = (self.counts.as_slice(), other.counts.as_slice());
        while let (Some(a), Some(b)) = (mine.first(), theirs.first()) {
            let (left, right) = (a.0 <= b.0, b.0 <= a.0);
            sum.push((a.0.min(b.0), if left { a.1 } else { 0 } + if right { b.1 } else { 0 }));
            (mine, theirs) = (&mine[usize::from(left)..], &theirs[usize::from(right)..]);
        }
        sum.extend_from_slice(mine);
        sum.extend_from_slice(theirs);
        self.counts = sum;
        self.total += other.total;
        self.max = self.max.max(other.max);
    }

    /// The value at quantile `q`, seconds; none without values.
    pub(super) fn quantile(&self, q: f64) -> Option<f64> {
        let rank = ((q * self.total as f64).ceil() as u64).max(1);
        let mut passed = 0;
        let found = self.counts.iter().find(|(_, count)| {
            passed += count;
            passed >= rank
        });
        found.map(|(value, _)| (*value).min(self.max) as f64 / 1e9)
    }

    /// The largest, seconds; none without values.
    pub(super) fn largest(&self) -> Option<f64> {
        (self.total > 0).then_some(self.max as f64 / 1e9)
    }

    /// The same, but only where there are enough values for a percentile near the end.
    pub(super) fn tail(&self, q: f64) -> Option<f64> {
        self.quantile(q).filter(|_| self.total >= FEW)
    }

    /// How many lie in each of `n` ranges that grow by the same factor from the smallest to the largest value: upper end
    /// in seconds, how many. Empty without values.
    pub(super) fn ranges(&self, n: usize) -> Vec<(f64, u64)> {
        let (Some(first), Some(last)) = (self.counts.first(), self.counts.last()) else { return Vec::new() };
        let (low, high) = (first.0 as f64, (last.0 as f64).max(first.0 as f64 * 1.02));
        let factor = (high / low).powf(1.0 / n as f64);
        let mut all: Vec<(f64, u64)> = (1..=n).map(|i| (low * factor.powi(i as i32) / 1e9, 0)).collect();
        for (value, count) in &self.counts {
            let place = ((*value as f64 / low).ln() / factor.ln()).ceil() as usize;
            all[place.clamp(1, n) - 1].1 += count;
        }
        all
    }
}

/// Middle of the range that `value` is kept as.
fn middle(value: u64) -> u64 {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BITS);
    let low = value >> shift << shift;
    low + (1 << shift) / 2
}

/// A stretch of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Slice {
    pub(super) from_us: u64,
    pub(super) to_us: u64,
    pub(super) level: f64,
    pub(super) in_flight: u64,
    pub(super) connections: u64,
    /// WebSocket messages sent.
    pub(super) sent: u64,
    /// Requests answered, or messages that came back; in chat rooms deliveries.
    pub(super) ok: u64,
    pub(super) failed: u64,
    pub(super) bytes_in: u64,
    /// Processor time of the busiest generator thread, microseconds.
    pub(super) busy_us: u64,
    pub(super) times: Times,
}

impl Slice {
    pub(super) fn of(tick: &Tick) -> Slice {
        let (ok, times) = match &tick.deliveries {
            Some(heard) => (heard.count, &heard.latency),
            None => (tick.ok, &tick.latency),
        };
        Slice {
            from_us: tick.from_us,
            to_us: tick.to_us,
            level: tick.level,
            in_flight: tick.in_flight,
            connections: tick.connections,
            sent: tick.messages.as_ref().map_or(0, |messages| messages.sent),
            ok,
            failed: tick.errors.iter().map(|e| e.count).sum(),
            bytes_in: tick.bytes_in,
            busy_us: tick.cpu_max_us,
            times: Times::of(times),
        }
    }

    /// Goes on with the stretch that follows.
    pub(super) fn add(&mut self, next: &Slice) {
        if self.length_us() == 0 {
            self.from_us = next.from_us;
        }
        self.to_us = next.to_us;
        (self.level, self.in_flight, self.connections) = (next.level, next.in_flight, next.connections);
        self.sent += next.sent;
        self.ok += next.ok;
        self.failed += next.failed;
        self.bytes_in += next.bytes_in;
        self.busy_us += next.busy_us;
        self.times.add(&next.times);
    }

    pub(super) fn length_us(&self) -> u64 {
        self.to_us.saturating_sub(self.from_us)
    }

    /// So many a second.
    pub(super) fn rate(&self, n: u64) -> f64 {
        let us = self.length_us();
        if us > 0 { n as f64 / (us as f64 / 1e6) } else { 0.0 }
    }

    /// The busiest generator thread, fraction of a core.
    pub(super) fn busy(&self) -> f64 {
        self.rate(self.busy_us) / 1e6
    }
}

/// The present moment: the last two seconds.
#[derive(Default)]
pub(super) struct Present(VecDeque<Slice>);

impl Present {
    pub(super) fn push(&mut self, slice: Slice) {
        self.0.push_back(slice);
        let span = |all: &VecDeque<Slice>| all.iter().skip(1).map(Slice::length_us).sum::<u64>();
        while self.0.len() > 1 && span(&self.0) >= PRESENT_US {
            self.0.pop_front();
        }
    }

    pub(super) fn sum(&self) -> Slice {
        sum(self.0.iter())
    }
}

/// Slices in order as one.
pub(super) fn sum<'a>(all: impl Iterator<Item = &'a Slice>) -> Slice {
    let mut sum = Slice::default();
    all.for_each(|slice| sum.add(slice));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::histogram;

    fn times(values: &[u64]) -> Times {
        let mut all = histogram::empty();
        values.iter().for_each(|v| all.record(*v).unwrap());
        Times::of(&Payload::encode(&all))
    }

    fn slice(i: u64, ok: u64) -> Slice {
        Slice { from_us: i * 200_000, to_us: (i + 1) * 200_000, ok, ..Slice::default() }
    }

    #[test]
    fn added_times_are_those_of_all_values() {
        let (one, two) = (vec![1_000_000; 99], [3_000_000, 3_000_000, 5_000_000, 900_000_000]);
        let mut sum = times(&one);
        sum.add(&times(&two));
        assert_eq!(sum, times(&[one.as_slice(), two.as_slice()].concat()));
        let near = |q: f64, wanted: f64| {
            let seen = sum.quantile(q).unwrap();
            assert!((seen / wanted - 1.0).abs() < 0.009, "{q}: {seen}, not {wanted}");
        };
        near(0.5, 0.001);
        near(0.98, 0.003);
        near(0.99, 0.005);
        near(1.0, 0.9);
        assert_eq!((Times::default().quantile(0.5), times(&two).tail(0.99)), (None, None));
    }

    #[test]
    fn ranges_hold_every_value() {
        for values in [vec![1_000], vec![1_000_000; 5], vec![1_000, 2_000_000, 3_599_000_000_000]] {
            let times = times(&values);
            let ranges = times.ranges(8);
            assert_eq!(ranges.iter().map(|r| r.1).sum::<u64>(), times.total);
            assert!(ranges.is_sorted_by(|a, b| a.0 < b.0) && ranges[0].1 > 0);
        }
        assert!(Times::default().ranges(4).is_empty());
    }

    #[test]
    fn the_present_is_two_seconds() {
        let mut present = Present::default();
        (0..30).for_each(|i| present.push(slice(i, if i < 20 { 1000 } else { 10 })));
        let sum = present.sum();
        assert_eq!((sum.length_us(), sum.ok, sum.rate(sum.ok)), (2_000_000, 100, 50.0));
    }
}
