//! What workers report becomes intervals of a record: pure. An interval ends when each worker has reported in it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::{Tick, Waiting};
use genkai_model::histogram::{self, Payload};
use genkai_model::units::Span;
use hdrhistogram::Histogram;

use super::failures;
use crate::locust_wire::stats::Stats;

const US: f64 = 1e6;
/// In what steps it is known when a request failed, microseconds.
const SECOND_US: u64 = 1_000_000;
/// How many times the mean pause of a user its pauses last at most: of `between(0, X)` twice as long; of `constant(X)` as long.
const LONGEST_PAUSE: u64 = 2;

/// The intervals of a load in the making.
#[derive(Debug)]
pub(super) struct Windows {
    /// How long a request must have waited to count as left without an answer, and how long a user pauses at most, microseconds.
    patience_us: u64,
    pause_us: u64,
    /// Seconds of the epoch at which the load began, where the workers' clock is ours.
    began: Option<f64>,
    from_us: u64,
    reported: BTreeSet<String>,
    sum: Sum,
    /// How many users there were to be from when on, microseconds.
    asked: Vec<(u64, u32)>,
    /// Intervals so far: where each ended, its level, and requests that ended in it.
    past: VecDeque<(u64, f64, u64)>,
}

/// What was reported since the last interval.
#[derive(Debug)]
struct Sum {
    times: Histogram<u64>,
    requests: u64,
    failed: u64,
    /// Of all requests, milliseconds.
    took: f64,
    errors: BTreeMap<ErrorKind, u64>,
    bytes: u64,
    /// The first second of the epoch in which a request failed.
    first: Option<u64>,
}

impl Default for Sum {
    fn default() -> Sum {
        let (times, errors) = (histogram::empty(), BTreeMap::new());
        Sum { times, requests: 0, failed: 0, took: 0.0, errors, bytes: 0, first: None }
    }
}

/// Processor time in an interval, microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    pub(super) all_us: u64,
    pub(super) busiest_us: u64,
}

impl Windows {
    /// Of a load whose users are patient for so long and pause so long in the mean; `began` is when it began by the workers' clock, if that is
    /// known.
    pub(super) fn new(patience: Span, pause: Span, began: Option<f64>) -> Windows {
        Windows {
            patience_us: patience.0 / 1_000,
            pause_us: LONGEST_PAUSE * pause.0 / 1_000,
            began,
            from_us: 0,
            reported: BTreeSet::new(),
            sum: Sum::default(),
            asked: Vec::new(),
            past: VecDeque::new(),
        }
    }

    /// Takes note that there are to be so many users from now on.
    pub(super) fn ask(&mut self, now_us: u64, users: u32) {
        self.asked.push((now_us, users));
    }

    /// Takes what a worker reports. Whether all of so many have reported since the last interval.
    pub(super) fn add(&mut self, worker: &str, stats: &Stats, workers: usize) -> bool {
        self.sum.add(stats);
        self.reported.insert(worker.to_owned());
        self.reported.len() >= workers
    }

    /// When the interval began, microseconds since the load began.
    pub(super) fn since_us(&self) -> u64 {
        self.from_us
    }

    /// Ends the interval at `to_us` with so many users.
    pub(super) fn end(&mut self, to_us: u64, level: f64, used: Used) -> Tick {
        self.reported.clear();
        let sum = std::mem::take(&mut self.sum);
        let from_us = std::mem::replace(&mut self.from_us, to_us);
        let seconds = to_us.saturating_sub(from_us).max(1) as f64 / US;
        self.past.push_back((to_us, level, sum.requests));
        let failed = self.failed_us(&sum, from_us, to_us);
        let first_error_us = failed.map(|(first, _)| first);
        let first_error_level = failed.and_then(|(_, last)| self.most(last));
        let (ok, latency) = (sum.requests.saturating_sub(sum.failed), Payload::encode(&sum.times));
        Tick {
            from_us,
            to_us,
            level,
            // Little's law: requests at once, in the mean over those that ended.
            in_flight: (sum.took / 1_000.0 / seconds).round().min(level) as u64,
            waiting: Some(self.waiting(to_us)),
            sent: sum.requests,
            ok,
            errors: sum.errors(),
            bytes_in: sum.bytes,
            latency,
            cpu_us: used.all_us,
            cpu_max_us: used.busiest_us,
            first_error_us,
            first_error_level,
            ..Tick::default()
        }
    }

    /// Between which moments a request failed first: in a second by the workers' clock, or somewhen in the interval where that is not ours.
    fn failed_us(&self, sum: &Sum, from_us: u64, to_us: u64) -> Option<(u64, u64)> {
        let first = sum.first?;
        let Some(began) = self.began else { return Some((from_us, to_us)) };
        let since = (((first as f64 - began) * US).max(0.0) as u64).clamp(from_us, to_us);
        Some((since, since + SECOND_US))
    }

    /// The most users that there may have been by then.
    fn most(&self, until_us: u64) -> Option<f64> {
        self.asked.iter().rev().find(|(at, _)| *at <= until_us).map(|(_, users)| f64::from(*users))
    }

    /// Users who have waited for longer than is patient, where users do nothing but ask and pause. Each of those who were there all the time ends a request in any time that is as
    /// long as the longest pause and the patience together, unless it waits for so long; so where fewer requests ended than there were users,
    /// the others do.
    fn waiting(&mut self, now_us: u64) -> Waiting {
        let long = self.patience_us + self.pause_us;
        // The last interval that ended before all that time is where it begins.
        while self.past.get(1).is_some_and(|next| next.0 + long <= now_us) {
            self.past.pop_front();
        }
        let Some(&(since, level, _)) = self.past.front().filter(|first| first.0 + long <= now_us) else {
            return Waiting::default();
        };
        let there = self.past.iter().map(|one| one.1).fold(level, f64::min);
        let ended: u64 = self.past.iter().skip(1).map(|one| one.2).sum();
        let overdue = (there as u64).saturating_sub(ended);
        let since_us = (overdue > 0).then(|| since + self.pause_us);
        Waiting { since_us, since_level: since_us.map(|_| level), overdue, unsent: 0 }
    }
}

impl Sum {
    fn add(&mut self, stats: &Stats) {
        let all = &stats.stats_total;
        self.requests += all.num_requests;
        self.failed += all.num_failures.min(all.num_requests);
        self.took += all.total_response_time;
        self.bytes += all.total_content_length;
        for (ms, count) in &all.response_times {
            // Of what is beyond an hour only that is kept.
            let ns = ms.saturating_mul(1_000_000).clamp(histogram::LOWEST_NS, histogram::HIGHEST_NS);
            let _ = self.times.record_n(ns, *count);
        }
        for failure in stats.errors.values() {
            *self.errors.entry(failures::kind(&failure.error)).or_default() += failure.occurrences;
        }
        self.first = self.first.into_iter().chain(all.num_fail_per_sec.keys().copied()).min();
    }

    /// As many as failed: what Locust named none of is among those without a name.
    fn errors(&self) -> Vec<ErrorCount> {
        let mut errors = self.errors.clone();
        let named: u64 = errors.values().sum();
        if self.failed > named {
            *errors.entry(ErrorKind::Unnamed).or_default() += self.failed - named;
        }
        errors.into_iter().map(|(kind, count)| ErrorCount { kind, count }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locust_wire::stats::{Entry, Failures};
    use crate::locust_wire::users::Users;

    /// Requests of 150 ms each, so many of them failed in a second of the epoch.
    fn stats(requests: u64, failed: u64, second: u64) -> Stats {
        let total = Entry {
            num_requests: requests,
            num_failures: failed,
            total_response_time: requests as f64 * 153.0,
            response_times: BTreeMap::from([(150, requests)]),
            num_fail_per_sec: if failed > 0 { BTreeMap::from([(second, failed)]) } else { BTreeMap::new() },
            ..Entry::new("Aggregated", "", 0.0)
        };
        let failure = Failures {
            method: "GET".to_owned(),
            name: "/".to_owned(),
            error: "HTTPError('500 Server Error')".to_owned(),
            occurrences: failed,
            first_seen: None,
            last_seen: None,
        };
        let errors = if failed > 0 { BTreeMap::from([("key".to_owned(), failure)]) } else { BTreeMap::new() };
        Stats { stats: Vec::new(), stats_total: total, errors, users: Users::default() }
    }

    fn windows(began: Option<f64>) -> Windows {
        Windows::new(Span::from_secs(10), Span::from_secs(1), began)
    }

    #[test]
    fn an_interval_is_what_all_workers_report() {
        let mut windows = windows(Some(1_000.5));
        windows.ask(0, 20);
        windows.ask(1_400_000, 30);
        windows.ask(2_400_000, 40);
        assert!(!windows.add("a", &stats(20, 0, 0), 2));
        assert!(!windows.add("a", &stats(10, 0, 0), 2), "the other has not");
        assert!(windows.add("b", &stats(30, 3, 1_002), 2));
        let tick = windows.end(3_000_000, 40.0, Used { all_us: 5, busiest_us: 4 });
        assert_eq!((tick.from_us, tick.to_us, tick.ok, tick.level), (0, 3_000_000, 57, 40.0));
        assert_eq!(tick.errors, [ErrorCount { kind: ErrorKind::Status500, count: 3 }]);
        assert_eq!(tick.first_error_us, Some(1_500_000), "the beginning of its second");
        assert_eq!(tick.first_error_level, Some(40.0), "the most by its end");
        assert_eq!(tick.in_flight, 3, "60 requests of 153 ms in 3 s");
        let times = tick.latency.decode().unwrap();
        assert_eq!((times.len(), times.max() / 1_000_000), (60, 150), "those that failed have a time, too");
        assert_eq!(windows.since_us(), 3_000_000);
        assert_eq!(windows.end(6_000_000, 40.0, Used::default()).ok, 0);
    }

    #[test]
    fn another_clock_says_nothing_of_when_requests_failed() {
        let mut windows = windows(None);
        windows.ask(0, 3);
        windows.ask(2_900_000, 5);
        windows.add("a", &stats(5, 5, 1_002), 1);
        let tick = windows.end(3_000_000, 5.0, Used::default());
        assert_eq!((tick.first_error_us, tick.first_error_level), (Some(0), Some(5.0)), "somewhen in the interval");
    }

    #[test]
    fn users_of_whom_nothing_ends_wait() {
        let mut windows = windows(Some(0.0));
        let mut waiting = Vec::new();
        for n in 1..=7u64 {
            windows.add("a", &stats(if n < 3 { 90 } else { 2 }, 0, 0), 1);
            let tick = windows.end(n * 3_000_000, 30.0, Used::default());
            waiting.push(tick.waiting.map(|waiting| waiting.overdue).unwrap_or_default());
        }
        // Patience and the longest pause are 12 s: from the end of the second interval (6 s) to that of the sixth eight requests ended.
        assert_eq!(waiting, [0, 0, 0, 0, 0, 22, 22]);
    }

    #[test]
    fn users_who_come_later_are_not_missed() {
        let mut windows = windows(Some(0.0));
        for n in 1..=6u64 {
            windows.add("a", &stats(4, 0, 0), 1);
            let tick = windows.end(n * 3_000_000, n as f64 * 2.0, Used::default());
            assert_eq!(tick.waiting.unwrap().overdue, 0, "{n}");
        }
    }
}
