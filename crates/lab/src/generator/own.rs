//! A worker's account of itself: whether it kept up. In the sum of many workers, one that did not would be lost.

use std::collections::VecDeque;

use genkai_model::event::{Tick, WorkerEnd};
use genkai_model::histogram::{self, Payload};
use genkai_model::units::Span;
use hdrhistogram::Histogram;

/// The time over which processor use is judged, microseconds: shorter bursts are normal.
const SECOND_US: u64 = 1_000_000;

/// What a worker notes of itself while it makes its part.
pub(super) struct Own {
    lateness: Histogram<u64>,
    /// The last intervals, a second of them: length and time of the busiest thread, microseconds.
    recent: VecDeque<(u64, u64)>,
    busiest: f64,
}

impl Default for Own {
    fn default() -> Own {
        Own { lateness: histogram::empty(), recent: VecDeque::new(), busiest: 0.0 }
    }
}

impl Own {
    /// Takes an interval.
    pub(super) fn look(&mut self, tick: &Tick) {
        // What it made itself can be read; otherwise it is the one who joins that says so.
        let _ = tick.lateness.add_to(&mut self.lateness);
        self.recent.push_back((tick.to_us.saturating_sub(tick.from_us), tick.cpu_max_us));
        while self.length() - self.recent[0].0 >= SECOND_US {
            self.recent.pop_front();
        }
        if self.length() >= SECOND_US {
            let busy: u64 = self.recent.iter().map(|(_, busy)| busy).sum();
            self.busiest = self.busiest.max(busy as f64 / self.length() as f64);
        }
    }

    fn length(&self) -> u64 {
        self.recent.iter().map(|(length, _)| length).sum()
    }

    /// The account of a part whose threads had all begun so long after the start.
    pub(super) fn end(self, began: Span) -> WorkerEnd {
        WorkerEnd { began_ns: began.0, busiest: self.busiest, lateness: Payload::encode(&self.lateness) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(from_ms: u64, to_ms: u64, busy_ms: u64) -> Tick {
        Tick { from_us: from_ms * 1000, to_us: to_ms * 1000, cpu_max_us: busy_ms * 1000, ..Tick::default() }
    }

    #[test]
    fn the_busiest_second_is_kept() {
        let mut own = Own::default();
        for n in 0..5 {
            own.look(&tick(n * 200, n * 200 + 200, 20));
        }
        assert!((own.busiest - 0.1).abs() < 1e-9);
        own.look(&tick(1000, 1200, 200));
        assert!((own.busiest - 0.28).abs() < 1e-9, "{}", own.busiest);
        own.look(&tick(1200, 4200, 300));
        let end = own.end(Span(7));
        assert!((end.busiest - 0.28).abs() < 1e-9 && end.began_ns == 7 && end.lateness.is_empty());
    }

    #[test]
    fn less_than_a_second_says_nothing() {
        let mut own = Own::default();
        own.look(&tick(0, 900, 900));
        assert_eq!(own.end(Span(0)).busiest, 0.0);
    }
}
