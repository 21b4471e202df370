//! How long a request takes lately, from those that finished: what a request that hangs is told by where the objective
//! allows any latency.

use std::collections::VecDeque;

use genkai_model::event::Tick;
use hdrhistogram::Histogram;

use crate::window::US;

/// What finished in so many microseconds counts as lately.
const LATELY_US: u64 = 10_000_000;
/// A request hangs when it waits for more than so many times the 95th percentile of what finishes (the last twentieth may
/// have hung and come through after all). In a queue that is served in order nobody waits for longer than about once
/// what the last ones took, however long that has become; of service times that are spread exponentially, one in 10^6
/// reaches it.
const TIMES: f64 = 5.0;
/// Least time to call it hanging, seconds.
const LEAST: f64 = 1.0;
/// Fewest finished requests to know the pace by.
const ENOUGH: u64 = 10;
/// Classes of time: eight for each doubling (9 % wide) from a microsecond on.
const CLASSES: usize = 8 * 40;

/// Requests finished in one tick, by class of latency.
#[derive(Clone, Debug)]
struct Finished {
    to_us: u64,
    counts: Vec<(usize, u64)>,
}

/// Follows the latency of what finishes.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    recent: VecDeque<Finished>,
    /// The last percentile known, seconds: it stands while nothing finishes.
    usual: Option<f64>,
}

impl Pace {
    /// Takes the next tick and its latencies. Gives how long most requests take (the percentile), and the time beyond
    /// which one hangs, seconds; none before enough requests have finished.
    pub(super) fn tick(&mut self, tick: &Tick, latency: &Histogram<u64>) -> Option<(f64, f64)> {
        let counts = latency.iter_recorded().map(|v| (class(v.value_iterated_to()), v.count_at_value())).collect();
        self.recent.push_back(Finished { to_us: tick.to_us, counts });
        while self.recent.front().is_some_and(|f| f.to_us + LATELY_US < tick.to_us) {
            self.recent.pop_front();
        }
        self.usual = self.p95().or(self.usual);
        self.usual.map(|p95| (p95, (p95 * TIMES).max(LEAST)))
    }

    /// The 95th percentile of what finished lately, seconds (the end of its class); none where too few did.
    fn p95(&self) -> Option<f64> {
        let mut classes = [0u64; CLASSES];
        for (class, count) in self.recent.iter().flat_map(|f| &f.counts) {
            classes[*class] += count;
        }
        let all: u64 = classes.iter().sum();
        let mut left = all / 20;
        let found = classes.iter().rposition(|count| {
            let is = *count > left;
            left = left.saturating_sub(*count);
            is
        })?;
        (all >= ENOUGH).then(|| ((found + 1) as f64 / 8.0).exp2() / US)
    }
}

/// The class of a latency in nanoseconds.
fn class(nanoseconds: u64) -> usize {
    let micros = (nanoseconds as f64 / 1e3).max(1.0);
    ((micros.log2() * 8.0) as usize).min(CLASSES - 1)
}
