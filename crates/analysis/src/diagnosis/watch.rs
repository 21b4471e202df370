//! Finds the first sustained violation, a tick at a time.
//!
//! Every condition is judged over a sliding window of about a second, because an objective speaks of fractions and
//! percentiles, which single intervals are too short for. A window is smeared by its own length, so that one stray error
//! would violate `errors < 0.1%` for a whole second; how long a violation lasts is therefore taken from the first to
//! the last interval with bad requests *in* them, while the windows in between never recover.

use std::collections::VecDeque;

use genkai_model::event::Tick;
use genkai_model::load::{Arrivals, Load};
use genkai_model::objective::{Bound, Condition, Objective};
use genkai_model::plan::Procedure;
use genkai_model::record::Trial;

use super::chance;
use super::hang::{self, Hang, Steady};
use super::onset::Onset;
use crate::capacity::demand;
use crate::sockets::{self, Share, Waiting};
use crate::window::{self, Tally, US};

/// From how many times the longest answered request on one that waits, with the whole load there, is suspected to get no answer.
const UNLIKE: u64 = 2;

/// Length of the sliding window, microseconds.
const WINDOW_US: u64 = 1_000_000;
/// Fewest ticks in a window, and (where they are short enough) with bad requests in a violation.
const TICKS: usize = 3;
/// Fewest bad requests in a violation: fewer are strays, whatever fraction they make of few requests.
const STRAYS: f64 = 3.0;
/// Fewest requests that were left without an answer at a trial's end, to call it violated by them.
const SCATTERED: u64 = 5;

/// Watches one trial. Feed it every tick in order.
#[derive(Debug)]
pub struct Watch {
    trackers: Vec<Tracker>,
}

impl Watch {
    /// For a trial with `load`.
    pub fn new(load: &Load, objective: &Objective, procedure: &Procedure) -> Watch {
        let ramp_us = (demand::ramp(load) * US) as u64;
        let sustained_us = procedure.sustained.0 / 1000;
        let tracker = |c: &Condition| Tracker {
            condition: *c,
            ramp_us,
            sustained_us,
            window: VecDeque::new(),
            steady: Steady::new(load.patience()),
            patience_us: load.patience().0 / 1_000,
            full: demand::asked(load),
            open: is_open(load),
            in_flight: 0,
            suspected: false,
            longest_us: 0,
            hang: match c {
                Condition::LatencyBelow(_, bound) => Hang::new(bound.at.as_secs_f64()),
                _ => Hang::by_pace(),
            },
            waiting: Waiting::new(load),
            sockets: 0.0,
            stretch: None,
        };
        Watch { trackers: objective.0.iter().map(tracker).collect() }
    }

    /// Takes the next tick. Once a violation is certain, gives where it began: the earliest of those that became certain
    /// with this tick.
    pub fn tick(&mut self, tick: &Tick) -> Option<Onset> {
        let found: Vec<Onset> = self.trackers.iter_mut().filter_map(|t| t.tick(tick)).collect();
        found.into_iter().min_by_key(|o| o.at_us)
    }

    /// Whether requests wait for so long that more of the same load would tell whether they get an answer at all.
    pub fn suspects(&self) -> bool {
        self.trackers.iter().any(|tracker| tracker.suspected)
    }
}

/// What a tick says about one condition.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    from_us: u64,
    to_us: u64,
    /// Requests that count.
    all: f64,
    /// Of these, bad ones.
    bad: f64,
    /// Requests that have been waiting for longer than allowed at the end of the tick (where any latency is allowed: far
    /// longer than what finishes takes).
    stuck: f64,
    /// Where the first bad one began.
    at_us: u64,
    /// When the first failure was seen, where that may have been later.
    seen_us: Option<u64>,
    /// The level then, where it is known exactly.
    level: Option<f64>,
    /// Whether the record tells how long each has waited.
    told: bool,
    /// Requests planned in the interval, where they are planned whatever the server does.
    planned: f64,
}

impl Look {
    fn is_bad(&self) -> bool {
        self.bad + self.stuck > 0.0
    }
}

/// A violation that lasts so far.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first: Look,
    last_us: u64,
    ticks: usize,
    all: f64,
    bad: f64,
    stuck: f64,
}

impl Stretch {
    fn new(first: Look) -> Stretch {
        Stretch { first, last_us: first.to_us, ticks: 0, all: 0.0, bad: 0.0, stuck: 0.0 }
    }

    fn add(&mut self, look: &Look) {
        self.all += look.all;
        if look.is_bad() {
            self.last_us = look.to_us;
            self.ticks += 1;
            self.bad += look.bad;
            self.stuck = self.stuck.max(look.stuck);
        }
    }
}

/// Follows one condition.
#[derive(Debug)]
struct Tracker {
    condition: Condition,
    ramp_us: u64,
    sustained_us: u64,
    window: VecDeque<Look>,
    steady: Steady,
    patience_us: u64,
    /// The level when the ramp is over.
    full: f64,
    /// Whether requests are planned whatever the server does.
    open: bool,
    /// Requests in flight at the end of the last interval.
    in_flight: u64,
    /// Whether requests wait of which it is not known yet whether they get an answer.
    suspected: bool,
    /// The longest that a request took which was answered, microseconds.
    longest_us: u64,
    hang: Hang,
    /// Users without a WebSocket.
    waiting: Waiting,
    /// WebSockets open at the end of the last interval.
    sockets: f64,
    stretch: Option<Stretch>,
}

impl Tracker {
    fn tick(&mut self, tick: &Tick) -> Option<Onset> {
        let before = std::mem::replace(&mut self.in_flight, tick.in_flight);
        let planned = if self.open { planned(std::slice::from_ref(tick), before) } else { f64::INFINITY };
        let look = Look { planned, ..self.look(tick)? };
        self.window.push_back(look);
        let span = self.window_us();
        while self.window.len() > TICKS && look.to_us.saturating_sub(self.window[1].from_us) >= span {
            self.window.pop_front();
        }
        match self.violated() {
            None => return None,
            Some(false) => self.stretch = None,
            Some(true) => self.extend(look),
        }
        self.certain(look.to_us)
    }

    /// What the tick says; none where it says nothing (a rate before the ramp is over).
    fn look(&mut self, tick: &Tick) -> Option<Look> {
        let told = tick.waiting.is_some();
        let look = Look { from_us: tick.from_us, to_us: tick.to_us, at_us: tick.from_us, told, ..Look::default() };
        match self.condition {
            Condition::ErrorsBelow(_) => {
                let bad = window::failed(tick) as f64;
                let (stuck, since_us, since_level) = self.stuck(tick);
                let at_us = tick.first_error_us.or(since_us).unwrap_or(tick.from_us);
                let level = tick.first_error_level.or(since_level);
                Some(Look { all: tick.ok as f64 + bad, bad, stuck, at_us, level, seen_us: failed_us(tick), ..look })
            }
            Condition::LatencyBelow(_, bound) => {
                let latency = window::decode(&tick.latency);
                let stuck = self.hang.tick(tick, &latency);
                let bad = window::beyond(&latency, bound) as f64;
                // A request that was too slow was planned at least the bound before it ended.
                let planned_us = tick.to_us.saturating_sub(bound.at.0 / 1000);
                let hung_us = self.hang.since().filter(|_| stuck > 0.0 && bad == 0.0);
                let at_us = hung_us.unwrap_or(planned_us);
                Some(Look { all: latency.len() as f64, bad, stuck, at_us, ..look })
            }
            Condition::ConnectsAbove(_) | Condition::DeliveredAbove(_) | Condition::DisconnectsBelow(_) => {
                let share = Share::after(self.sockets, &self.condition, std::slice::from_ref(tick));
                self.sockets += sockets::change(tick);
                let opens = matches!(self.condition, Condition::ConnectsAbove(_));
                let (stuck, since) = if opens { self.waiting.tick(tick) } else { (0.0, 0) };
                let first = tick.first_error_us.filter(|_| share.bad > 0.0);
                let at_us = first.unwrap_or(if stuck > 0.0 { since } else { tick.from_us });
                let level = tick.first_error_level.filter(|_| first.is_some());
                Some(Look { all: share.all, bad: share.bad, stuck, at_us, level, ..look })
            }
            // A load that was held reaches its level later.
            Condition::RateAbove(_) if tick.from_us < self.ramp_us => None,
            Condition::RateAbove(_) if self.ramp_us > 0 && tick.waiting.is_some() && tick.level < self.full => None,
            Condition::RateAbove(bound) => {
                let slow = !bound.is_below(tick.ok as f64 / window::length(tick).max(1e-9));
                Some(Look { all: tick.ok as f64, bad: if slow { STRAYS } else { 0.0 }, ..look })
            }
        }
    }

    /// How many requests have no answer that count like failed ones, since when, and the level then. Those that have waited for longer
    /// than is patient, while the load did not rise; of records that do not tell how long each waited, those that have waited for far
    /// longer than others took.
    fn stuck(&mut self, tick: &Tick) -> (f64, Option<u64>, Option<f64>) {
        let latency = window::decode(&tick.latency);
        let hanging = self.hang.tick(tick, &latency);
        self.steady.tick(tick);
        let Some(waiting) = tick.waiting else {
            return (hanging, self.hang.since().filter(|_| hanging > 0.0), None);
        };
        let long = |since: u64| tick.to_us.saturating_sub(since) >= self.patience_us / 2;
        let silent = !self.hang.has_pace() && waiting.since_us.is_some_and(long);
        self.longest_us = self.longest_us.max(latency.max() / 1_000);
        let waited = waiting.since_us.map_or(0, |since| tick.to_us.saturating_sub(since));
        let all = tick.level >= self.full && tick.in_flight as f64 >= STRAYS;
        let unlike = all && self.longest_us > 0 && waited > (self.longest_us * UNLIKE).max(WINDOW_US);
        self.suspected = silent || unlike || hanging.max(waiting.overdue as f64) >= STRAYS;
        match self.steady.is_long() && waiting.overdue > 0 {
            true => (waiting.overdue as f64, waiting.since_us, waiting.since_level),
            false => (0.0, None, None),
        }
    }

    /// Whether the window violates the condition; none where it has nothing to judge.
    fn violated(&self) -> Option<bool> {
        let stuck = self.window.back().map_or(0.0, |l| l.stuck);
        let all = self.window.iter().map(|l| l.all).sum::<f64>() + stuck;
        let bad = self.window.iter().map(|l| l.bad).sum::<f64>() + stuck;
        match self.condition {
            Condition::RateAbove(bound) => {
                let seconds = self.seconds();
                let planned = self.window.iter().map(|l| l.planned).sum::<f64>();
                (seconds >= self.window_us() as f64 / US).then(|| is_short(bound, all, planned, seconds))
            }
            _ if all == 0.0 => None,
            Condition::ErrorsBelow(bound) => Some(bad > 0.0 && !bound.is_above(bad / all)),
            Condition::LatencyBelow(q, _) => Some(bad > (1.0 - q) * all + 1e-9),
            Condition::DisconnectsBelow(bound) => {
                let open = self.window.iter().map(|l| l.all - l.bad).fold(0.0, f64::max);
                Some(bad > 0.0 && !bound.is_above(bad / (open + bad)))
            }
            Condition::ConnectsAbove(_) | Condition::DeliveredAbove(_) => {
                Some(bad > 0.0 && !self.condition.holds(1.0 - bad / all))
            }
        }
    }

    /// About a second; longer where a violation must last long, so that slow systems have enough requests in it.
    fn window_us(&self) -> u64 {
        WINDOW_US.min(self.sustained_us.max(1)).max(self.sustained_us / 4)
    }

    fn seconds(&self) -> f64 {
        let ends = self.window.front().zip(self.window.back());
        ends.map_or(0.0, |(first, last)| last.to_us.saturating_sub(first.from_us) as f64 / US)
    }

    fn extend(&mut self, newest: Look) {
        if let Some(stretch) = &mut self.stretch {
            return stretch.add(&newest);
        }
        let mut looks = self.window.range(self.beginning()..);
        if let Some(first) = looks.next() {
            let mut stretch = Stretch::new(*first);
            stretch.add(first);
            looks.for_each(|look| stretch.add(look));
            self.stretch = Some(stretch);
        }
    }

    /// Where in the window the bad requests begin that lead up to now without a pause of half a window.
    fn beginning(&self) -> usize {
        let mut begin = self.window.len().saturating_sub(1);
        for (i, look) in self.window.iter().enumerate().rev() {
            if self.window[begin].from_us.saturating_sub(look.to_us) > self.window_us() / 2 {
                break;
            }
            if look.is_bad() {
                begin = i;
            }
        }
        begin
    }

    fn certain(&self, now_us: u64) -> Option<Onset> {
        let s = self.stretch.as_ref()?;
        let tick_us = s.first.to_us.saturating_sub(s.first.from_us).max(1);
        let ticks = (self.sustained_us.div_ceil(tick_us) as usize).clamp(2, TICKS);
        let lasted = s.last_us.saturating_sub(s.first.from_us) >= self.sustained_us;
        let told = matches!(self.condition, Condition::ErrorsBelow(_)) && s.first.told;
        let onset = Onset::new(Some(self.condition), (s.first.at_us, s.first.level), now_us);
        // A request that only waited by then was seen to when its time was over.
        let over = told.then(|| s.first.at_us + self.patience_us).filter(|_| s.first.stuck > 0.0);
        let seen_us = s.first.seen_us.or(over).map(|us| us.min(now_us));
        let bad = s.bad + s.stuck;
        // Who hangs does not hang by chance.
        let enough = bad >= STRAYS && (s.stuck > 0.0 || chance::is_excluded(&self.condition, bad, s.all));
        (lasted && s.ticks >= ticks && enough).then_some(Onset {
            seen_us: seen_us.filter(|us| us.saturating_sub(s.first.at_us) > tick_us),
            hung: s.stuck,
            patience_us: match self.condition {
                Condition::ConnectsAbove(_) => Some(sockets::STALL_US),
                _ => told.then_some(self.patience_us),
            },
            ..onset
        })
    }
}

/// Part of the planned requests that a server has answered that keeps up: the others may only be under way.
const KEEPS_UP: f64 = 0.9;

/// Whether requests are planned whatever the server does.
fn is_open(load: &Load) -> bool {
    matches!(load.arrivals, Arrivals::Rate { .. })
}

/// Requests planned in `ticks`, with so many in flight before.
fn planned(ticks: &[Tick], before: u64) -> f64 {
    let after = ticks.last().map_or(before, |t| t.in_flight);
    Tally::of(ticks).finished() as f64 + after as f64 - before as f64
}

/// Whether a rate is too low by the server: one that answered what was planned is not to blame that less was planned.
fn is_short(bound: Bound<f64>, ok: f64, planned: f64, seconds: f64) -> bool {
    let unasked = !bound.is_below(planned / seconds) && ok >= planned * KEEPS_UP;
    !bound.is_below(ok / seconds) && !unasked
}

/// When the first failure of `tick` was seen: as long after its plan as the one that failed soonest.
fn failed_us(tick: &Tick) -> Option<u64> {
    let after = window::decode(&tick.failed_after);
    let us = tick.first_error_us? + after.min() / 1_000;
    (!after.is_empty()).then(|| us.clamp(tick.from_us, tick.to_us.max(tick.from_us)))
}

/// A condition that the whole trial violates although no violation lasted: from the first bad tick on, however few and short. Nothing holds in
/// a search that does not hold in a load. Requests that were
/// left unanswered at its end are failures, and so are those that were still waiting for a connection.
pub(super) fn overall(trial: &Trial, objective: &Objective, sustained_us: u64) -> Option<Onset> {
    let ticks = &trial.ticks;
    let (length, last) = (ticks.first()?.to_us.saturating_sub(ticks.first()?.from_us), ticks.last()?);
    let found = objective.0.iter().filter_map(|c| {
        let (hung, since) = match c {
            Condition::ErrorsBelow(_) => hang::unanswered(ticks, trial.started.load.patience()),
            Condition::ConnectsAbove(_) => sockets::left_out(trial),
            _ => (0, None),
        };
        let left = since.filter(|_| hung >= SCATTERED).map(|us| (us, None));
        let (first, level) = scattered(trial, c).or(left)?;
        let told = matches!(c, Condition::ErrorsBelow(_)) && last.waiting.is_some();
        let patience_us = match c {
            Condition::ConnectsAbove(_) => Some(sockets::STALL_US),
            _ => told.then_some(trial.started.load.patience().0 / 1_000),
        };
        let failing = ticks.iter().find(|t| window::failed(t) > 0).filter(|_| matches!(c, Condition::ErrorsBelow(_)));
        let seen_us = failing.and_then(failed_us).filter(|us| us.saturating_sub(first) > length);
        let hung = hung as f64;
        Some(Onset { hung, seen_us, patience_us, ..Onset::new(Some(*c), (first, level), last.to_us) })
    });
    found.chain(unsent(trial, objective, sustained_us)).min_by_key(|o| o.at_us)
}

/// An open load that was never all sent: requests waited for a connection for as long as a violation must last, up to the
/// load's end, and were more by then than the errors allowed.
fn unsent(trial: &Trial, objective: &Objective, sustained_us: u64) -> Option<Onset> {
    let most = demand::most(&trial.started.load);
    let (ticks, end) = (&trial.ticks, trial.ticks.last()?);
    let waiting = |t: &Tick| t.waiting.map_or(t.in_flight as f64 > most, |waiting| waiting.unsent > 0);
    let first = ticks.iter().rev().take_while(|t| waiting(t)).last()?;
    let condition = objective.0.iter().find_map(|c| match c {
        Condition::ErrorsBelow(bound) => Some((*c, *bound)),
        _ => None,
    });
    let (condition, bound) = condition?;
    let left = end.waiting.map_or(end.in_flight as f64 - most, |waiting| waiting.unsent as f64);
    let all = Tally::of(ticks).finished() as f64 + left;
    let lasted = end.to_us.saturating_sub(first.from_us) >= sustained_us;
    (lasted && left >= SCATTERED as f64 && !bound.is_above(left / all))
        .then_some(Onset { unsent: left as u64, ..Onset::new(Some(condition), (first.from_us, None), end.to_us) })
}

fn scattered(trial: &Trial, condition: &Condition) -> Option<(u64, Option<f64>)> {
    let ticks = &trial.ticks;
    match *condition {
        Condition::ErrorsBelow(bound) => {
            let first = ticks.iter().find(|t| window::failed(t) > 0)?;
            let many = !bound.is_above(Tally::of(ticks).failed_fraction());
            many.then_some((first.first_error_us.unwrap_or(first.from_us), first.first_error_level))
        }
        Condition::LatencyBelow(q, bound) => {
            let (all, left) = (window::merge(ticks, |t| &t.latency), window::left(ticks, bound));
            let many = (window::beyond(&all, bound) + left) as f64 > (1.0 - q) * (all.len() + left) as f64 + 1e-9;
            let fails = !condition.holds(window::quantile(&all, q)?) || left > 0 && many;
            let reaches = |t: &&Tick| window::beyond(&window::decode(&t.latency), bound) > 0;
            let first = ticks.iter().find(reaches).or(ticks.last().filter(|_| left > 0)).filter(|_| fails)?;
            Some((first.to_us.saturating_sub(bound.at.0 / 1000), None))
        }
        Condition::ConnectsAbove(_) | Condition::DeliveredAbove(_) | Condition::DisconnectsBelow(_) => {
            let share = Share::of(condition, ticks);
            let bad = |t: &&Tick| Share::of(condition, std::slice::from_ref(*t)).bad > 0.0;
            let many = share.figure(condition).is_some_and(|figure| !condition.holds(figure));
            ticks
                .iter()
                .find(bad)
                .filter(|_| many)
                .map(|t| (t.first_error_us.unwrap_or(t.from_us), t.first_error_level))
        }
        Condition::RateAbove(bound) => {
            let ramp_us = (demand::ramp(&trial.started.load) * US) as u64;
            let (rise, held) = ticks.split_at(ticks.partition_point(|t| t.from_us < ramp_us));
            let first = held.first()?;
            let tally = Tally::of(held);
            let planned = match is_open(&trial.started.load) {
                true => planned(held, rise.last().map_or(0, |t| t.in_flight)),
                false => f64::INFINITY,
            };
            is_short(bound, tally.ok as f64, planned, tally.seconds).then_some((first.from_us, None))
        }
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::event::{Tick, Waiting};
    use genkai_model::histogram::{self, Payload};
    use genkai_model::load::Load;
    use genkai_model::units::Span;

    use super::*;

    /// 25 WebSockets of 60 are served, 35 wait since 0.85 s: answers that took a second made the others' waiting look usual, so that a
    /// trial of five seconds ended before anything could be told of them.
    #[test]
    fn who_waits_far_longer_than_any_answer_took_is_suspected() {
        let spans = Span::from_secs(1);
        let procedure = Procedure {
            max_limits: 1,
            min_pairs: 3,
            max_pairs: 3,
            hold: spans,
            proof_ramp: spans,
            proof_hold: spans,
            headroom: 1.2,
            sustained: spans,
            seed: 1,
            bisect: Span(0),
            smaller: 0,
        };
        let suspected = |answered_ms: u64, in_flight: u64| {
            let mut watch = Watch::new(&Load::users(60, 1e6), &Objective::default(), &procedure);
            for at in 1..25u64 {
                let mut latency = histogram::empty();
                latency.record(answered_ms * 1_000_000).unwrap();
                let since_us = (at > 4).then_some(847_933);
                let waiting = Waiting { since_us, since_level: since_us.map(|_| 26.0), overdue: 0, unsent: 0 };
                watch.tick(&Tick {
                    from_us: (at - 1) * 200_000,
                    to_us: at * 200_000,
                    level: 60.0,
                    in_flight,
                    ok: 25,
                    latency: Payload::encode(&latency),
                    waiting: Some(waiting),
                    ..Tick::default()
                });
            }
            watch.suspects()
        };
        assert!(suspected(1_000, 35));
        assert!(!suspected(3_000, 35), "answers take as long");
        assert!(!suspected(1_000, 2), "two are strays");
    }
}
