//! Requests that hang: nothing that finished tells of them.
//!
//! When a server lets clients wait for ever, the requests that do finish may be as fast as always, and the percentiles
//! fine. What shows is that clients wait for longer than the finished requests account for.

use std::collections::VecDeque;

use genkai_model::event::Tick;
use genkai_model::units::Span;
use hdrhistogram::Histogram;

use super::pace::Pace;
use crate::window::{self, US};

/// Lengths of time over which requests that hang are looked for, in times the latency allowed.
const TIMES: [f64; 3] = [2.0, 4.0, 10.0];
/// Shortest of these, seconds: a few ticks.
const SHORTEST: f64 = 1.0;
/// Least part of the requests in flight that must hang, where only the pace of the others tells: fewer are stragglers
/// (a connection that was asked for twice, a request that is dearer than others).
const PART: f64 = 0.1;
/// What sums may be off by, which must not decide whether a whole number is reached.
const ROUNDING: f64 = 1e-9;
/// Parts of the present excess of waiting at which its rise is timed.
const RISE: [f64; 2] = [0.25, 0.75];

/// The time that clients waited in a tick, and how much of it the requests that ended in it account for.
#[derive(Clone, Copy, Debug)]
struct Waited {
    from_us: u64,
    to_us: u64,
    /// Client-seconds: requests in flight, over time.
    waited: f64,
    /// Ages of the requests that ended, summed, seconds.
    ended: f64,
    /// Requests that ended and whose age was not noted.
    unknown: f64,
}

impl Waited {
    fn of(tick: &Tick, latency: &Histogram<u64>, in_flight_before: u64) -> Waited {
        let failed = window::decode(&tick.failed_after);
        let sum = |h: &Histogram<u64>| if h.is_empty() { 0.0 } else { h.mean() * h.len() as f64 / 1e9 };
        Waited {
            from_us: tick.from_us,
            to_us: tick.to_us,
            waited: (in_flight_before as f64 + tick.in_flight as f64) / 2.0 * window::length(tick),
            ended: sum(latency) + sum(&failed),
            unknown: window::failed(tick).saturating_sub(failed.len()) as f64,
        }
    }

    /// Clients in flight on average, beyond those that the ended requests account for.
    fn excess(&self) -> f64 {
        let seconds = seconds(self.from_us, self.to_us);
        if seconds > 0.0 { (self.waited - self.ended) / seconds } else { 0.0 }
    }
}

fn seconds(from_us: u64, to_us: u64) -> f64 {
    to_us.saturating_sub(from_us) as f64 / US
}

/// How many requests were certainly waiting for longer than `bound` seconds when a load with `ticks` ended.
pub(crate) fn at_end(ticks: &[Tick], bound: f64) -> u64 {
    left(ticks, Hang::new(bound)).0
}

/// How many requests had no answer when a load with `ticks` ended, although they had waited for longer than is patient while the load
/// did not rise; and since when (microseconds), where any did. Records of older versions do not tell how long each waited: of them, those
/// that waited for far longer than what finished took.
pub(crate) fn unanswered(ticks: &[Tick], patience: Span) -> (u64, Option<u64>) {
    let mut steady = Steady::new(patience);
    ticks.iter().for_each(|tick| steady.tick(tick));
    match ticks.last().and_then(|last| last.waiting) {
        None => left(ticks, Hang::by_pace()),
        Some(waiting) if steady.is_long() => (waiting.overdue, waiting.since_us.filter(|_| waiting.overdue > 0)),
        Some(_) => (0, None),
    }
}

/// How many requests had waited for longer than is patient, while the load did not rise, when it ended; none where nobody noted it.
pub(crate) fn overdue(ticks: &[Tick], patience: Span) -> u64 {
    let noted = ticks.last().is_some_and(|last| last.waiting.is_some());
    if noted { unanswered(ticks, patience).0 } else { 0 }
}

/// Since when a load has not risen. Requests that wait while it rises may wait because of a higher level than the one they met.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steady {
    /// How long it is to have been so, microseconds.
    long_us: u64,
    level: f64,
    risen_us: u64,
    now_us: u64,
}

impl Steady {
    /// For as long as a half of `patience`: that something hangs is noticed in the other one.
    pub(super) fn new(patience: Span) -> Steady {
        Steady { long_us: patience.0 / 2_000, level: 0.0, risen_us: 0, now_us: 0 }
    }

    /// Takes the next tick.
    pub(super) fn tick(&mut self, tick: &Tick) {
        if tick.level > self.level {
            self.risen_us = tick.to_us;
        }
        (self.level, self.now_us) = (tick.level, tick.to_us);
    }

    /// Whether it has not risen for long.
    pub(super) fn is_long(&self) -> bool {
        self.now_us.saturating_sub(self.risen_us) >= self.long_us
    }
}

fn left(ticks: &[Tick], mut hang: Hang) -> (u64, Option<u64>) {
    let count = ticks.iter().fold(0.0, |_, tick| hang.tick(tick, &window::decode(&tick.latency))) as u64;
    (count, if count > 0 { hang.since() } else { None })
}

/// Follows the waiting in a trial.
#[derive(Debug)]
pub(super) struct Hang {
    /// Latency allowed, seconds.
    bound: f64,
    /// The longest that those in flight which do not hang may have waited, seconds.
    others: f64,
    /// What tells the bound, where the objective does not.
    pace: Option<Pace>,
    recent: VecDeque<Waited>,
    /// Requests in flight at the end of the last tick.
    in_flight: u64,
}

impl Hang {
    /// With the latency allowed, seconds.
    pub(super) fn new(bound: f64) -> Hang {
        Hang { bound, others: bound, pace: None, recent: VecDeque::new(), in_flight: 0 }
    }

    /// With the bound that the requests which finish tell.
    pub(super) fn by_pace() -> Hang {
        Hang { pace: Some(Pace::default()), ..Hang::new(f64::INFINITY) }
    }

    /// Takes the next tick and its latencies. Gives how many requests have certainly been waiting for longer than the
    /// latency allowed, L, at its end.
    ///
    /// Over the last W seconds clients waited some client-seconds in all; what the requests that ended do not account
    /// for is the time that those still in flight have waited, at most W for each. Of the n in flight, those that wait
    /// for no longer than L account for at most L each, so `(unaccounted - n L) / (W - L)` wait for longer. A short W
    /// shows at once when everything hangs, a long one also when a tenth does; the largest answer counts. (Where the pace
    /// of what finishes tells the bound, the others are taken to wait for no longer than that takes.)
    pub(super) fn tick(&mut self, tick: &Tick, latency: &Histogram<u64>) -> f64 {
        self.recent.push_back(Waited::of(tick, latency, self.in_flight));
        self.in_flight = tick.in_flight;
        if let Some(pace) = &mut self.pace {
            (self.others, self.bound) = pace.tick(tick, latency).unwrap_or((f64::INFINITY, f64::INFINITY));
        }
        let longest = (TIMES[TIMES.len() - 1] * self.bound).max(SHORTEST);
        while self.recent.get(1).is_some_and(|w| seconds(w.from_us, tick.to_us) > longest) {
            self.recent.pop_front();
        }
        let over = |times: &f64| self.overdue(tick, (times * self.bound).max(SHORTEST));
        let most = TIMES.iter().map(over).fold(0.0, f64::max);
        let stragglers = self.pace.is_some() && most < PART * tick.in_flight as f64;
        if stragglers { 0.0 } else { most }
    }

    fn overdue(&self, now: &Tick, longest: f64) -> f64 {
        let within = self.recent.iter().rev().take_while(|w| seconds(w.from_us, now.to_us) <= longest + 1e-9);
        let (mut open, mut span) = (0.0, 0.0);
        for w in within {
            span = seconds(w.from_us, now.to_us);
            open += w.waited - w.ended - w.unknown * longest;
        }
        // A load that is too young to tell.
        if span < TIMES[0] * self.bound || span <= self.bound || !self.bound.is_finite() {
            return 0.0;
        }
        let n = now.in_flight as f64;
        ((open - n * self.others) / (span - self.others) + ROUNDING).clamp(0.0, n).floor()
    }

    /// Whether it is known what a request takes lately.
    pub(super) fn has_pace(&self) -> bool {
        self.bound.is_finite()
    }

    /// When the requests that hang now began to: the excess of waiting is followed back to where it rose. A step rises
    /// at once; clients that join a full server one by one make it rise in a line, which is drawn back to its foot.
    pub(super) fn since(&self) -> Option<u64> {
        let last = self.recent.back()?;
        let low = self.recent.iter().map(Waited::excess).fold(f64::INFINITY, f64::min).max(0.0);
        let reached = |part: f64| {
            let mark = low + part * (last.excess() - low);
            let below = self.recent.iter().rev().find(|w| w.excess() <= mark + ROUNDING);
            below.map_or(self.recent.front().map_or(0, |w| w.from_us), |w| w.to_us)
        };
        let (quarter, most) = (reached(RISE[0]), reached(RISE[1]));
        let foot = quarter.saturating_sub(most.saturating_sub(quarter) / 2);
        Some(foot.min(last.from_us))
    }
}
