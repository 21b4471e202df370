//! The beginning of a violation, in figures.

use genkai_model::error::{ErrorCount, Side};
use genkai_model::event::{Purpose, Tick};
use genkai_model::finding::{Break, Later, Seen, Unanswered};
use genkai_model::load::{Arrivals, Protocol};
use genkai_model::objective::{Condition, Objective};
use genkai_model::record::Trial;

use super::hang;
use crate::capacity::demand;
use crate::sockets::{self, Share, most_open};
use crate::window::{self, Tally, US};

/// Over how many microseconds before the break the rate is taken.
const RATE_US: u64 = 1_000_000;

/// Where a violation began, and when it was certain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Onset {
    /// The condition violated; none when a server died and the objective is empty.
    pub condition: Option<Condition>,
    /// The moment it began, microseconds since the load began.
    pub at_us: u64,
    /// The level at that moment, where the client noted it.
    pub level: Option<f64>,
    /// The moment at which the first failure was seen; none where it was not later than the violation began.
    pub seen_us: Option<u64>,
    /// When it had lasted long enough to be certain.
    pub certain_us: u64,
    /// The most requests that were seen to hang by then: unanswered for longer than allowed.
    pub hung: f64,
    /// All of which had certainly waited for so long, microseconds, where the record tells.
    pub patience_us: Option<u64>,
    /// Requests that waited for a connection when the load ended, where that is what was wrong.
    pub unsent: u64,
    /// Whether it was the death of a server.
    pub died: bool,
}

impl Onset {
    /// A violation that began at that moment and level, and is certain by another.
    pub(super) fn new(condition: Option<Condition>, (at_us, level): (u64, Option<f64>), certain_us: u64) -> Onset {
        Onset {
            condition,
            at_us,
            level,
            seen_us: None,
            certain_us,
            hung: 0.0,
            patience_us: None,
            unsent: 0,
            died: false,
        }
    }

    /// Up to when the client must have been good enough for the break to say something of the server. Failures may
    /// overrun a client once they have begun; slowness does not, but is what an overrun client would see all the time.
    pub(crate) fn depends_on_client_until(&self) -> u64 {
        match self.condition {
            Some(Condition::LatencyBelow(..) | Condition::RateAbove(_)) => self.certain_us,
            _ => self.at_us,
        }
    }

    /// The break in figures. Errors are those up to the end of the trial, or of a plain load, which goes on, up to the moment of certainty; what was
    /// seen instead of the objective is taken up to that moment, so that it does not depend on how long the load went on.
    pub(crate) fn describe(&self, trial: &Trial) -> Break {
        let ticks = &trial.ticks;
        let goes_on = trial.started.purpose == Purpose::Measure;
        let until = if goes_on { self.certain_us.saturating_sub(1) } else { u64::MAX };
        let after = window::between(ticks, self.at_us, until);
        let before = window::between(ticks, self.at_us.saturating_sub(RATE_US), self.at_us.saturating_sub(1));
        let load = &trial.started.load;
        let open = demand::tunnels(load).then(|| most_open(window::before(ticks, Some(self.certain_us))));
        // Who hangs came after all those who got in.
        let next = open.filter(|_| self.hung > 0.0).map(|open| open + 1.0);
        // A load of users that breaks has one at least: a ramp begins at none.
        let least = if demand::is_clients(load) { 1.0 } else { 0.0 };
        let there = || window::gauge(ticks, self.at_us, |t| t.level).max(least);
        let level = self.level.or(next).unwrap_or_else(there);
        let there = There::at(trial, self.at_us, level);
        let mut broke = Break {
            at: self.at_us as f64 / US,
            level,
            or_fewer: (self.is_first(trial) || is_at_once(trial)) && level.round() > 1.0,
            in_flight: open.unwrap_or(there.in_flight),
            connections: there.connections,
            later: self.seen_us.filter(|_| open.is_none()).map(|us| later(trial, us)),
            rate: Tally::of(before).rate(),
            condition: self.condition.map_or_else(|| "the server runs".to_owned(), |c| c.to_string()),
            seen: self.seen_in(ticks, window::between(ticks, self.from(), self.certain_us.saturating_sub(1))),
            sides: Vec::new(),
            errors: self.errors(after),
            waiting: self.waiting(trial),
            unsent: self.unsent,
            until: self.until(trial, level),
        };
        broke.sides = sides(&broke.troubles());
        broke
    }

    /// Whether responses were too late in the first interval with responses, so that no fewer clients were seen to be few enough: one of them that
    /// came before the others in that interval may have waited too long already. Messages that never came back were sent some time before that
    /// was known.
    fn is_first(&self, trial: &Trial) -> bool {
        if matches!(self.condition, Some(Condition::DeliveredAbove(_))) {
            return self.level.is_none() && !demand::tunnels(&trial.started.load);
        }
        let late = matches!(self.condition, Some(Condition::LatencyBelow(..))) && self.level.is_none();
        let before = || trial.ticks.iter().take_while(|tick| tick.to_us <= self.at_us);
        late && !demand::tunnels(&trial.started.load) && before().all(|tick| tick.ok == 0)
    }

    /// The level when it was certain, where that is one or more above the level of the break.
    fn until(&self, trial: &Trial, level: f64) -> Option<f64> {
        let until = window::gauge(&trial.ticks, self.certain_us, |t| t.level);
        Some(until).filter(|until| *until >= level + 1.0 && !demand::tunnels(&trial.started.load))
    }

    /// Requests without an answer, where the break rests on them; of those that had waited for too long, as many as there were in the end.
    fn waiting(&self, trial: &Trial) -> Option<Unanswered> {
        let is_late = self.patience_us.is_some() && matches!(self.condition, Some(Condition::ErrorsBelow(_)));
        let in_the_end = if is_late { hang::overdue(&trial.ticks, trial.started.load.patience()) } else { 0 };
        let count = Some(self.failing() as u64).filter(|count| *count > 0).map_or(0, |count| count.max(in_the_end));
        let longest = self.certain_us.saturating_sub(self.at_us) as f64 / US;
        let patience = self.patience_us.map(|us| us as f64 / US);
        (count > 0).then_some(Unanswered { count, longest: longest.max(patience.unwrap_or(0.0)), patience })
    }

    /// From when on what is seen is told: of WebSockets that are to be opened, all; and of messages, as when one got lost is not known.
    fn from(&self) -> u64 {
        match self.condition {
            Some(Condition::ConnectsAbove(_) | Condition::DeliveredAbove(_)) => 0,
            _ => self.at_us,
        }
    }

    /// Requests that hang, where the condition is violated by them.
    fn failing(&self) -> f64 {
        let failing = matches!(self.condition, Some(Condition::ErrorsBelow(_) | Condition::ConnectsAbove(_)));
        if failing { self.hung } else { 0.0 }
    }

    fn errors(&self, after: &[Tick]) -> Vec<ErrorCount> {
        let mut errors = Tally::of(after).errors;
        if let Some(Condition::DisconnectsBelow(_)) = self.condition {
            sockets::disconnected(after, &mut errors);
        }
        errors.sort_by_key(|e| std::cmp::Reverse(e.count));
        errors
    }

    /// What was seen, or what it is certainly more than: of requests that wait all that is known is that they took longer than allowed.
    fn seen_in(&self, all: &[Tick], ticks: &[Tick]) -> Seen {
        if let Some(Condition::LatencyBelow(q, bound)) = self.condition {
            let bound = bound.at.as_secs_f64();
            let seen = window::quantile(&window::merge(ticks, |t| &t.latency), q).filter(|seen| *seen >= bound);
            return seen.map_or(Seen::Bound { more_than: bound }, Seen::Measured);
        }
        Seen::Measured(self.seen(all, ticks))
    }

    fn seen(&self, all: &[Tick], ticks: &[Tick]) -> f64 {
        match self.condition {
            Some(Condition::RateAbove(_)) => Tally::of(ticks).rate(),
            Some(Condition::DisconnectsBelow(_) | Condition::DeliveredAbove(_) | Condition::ConnectsAbove(_)) => {
                let began = ticks.first().map_or(0, |tick| tick.from_us);
                let open = sockets::open(&all[..all.partition_point(|tick| tick.to_us <= began)]);
                let share = self.condition.map(|c| Share::after(open, &c, ticks)).unwrap_or_default();
                let bad = share.bad + self.failing();
                let all = share.all + self.failing();
                let part = if all > 0.0 { bad / all } else { 0.0 };
                if matches!(self.condition, Some(Condition::DisconnectsBelow(_))) { part } else { 1.0 - part }
            }
            _ => Tally::of(ticks).failed_fraction(),
        }
    }
}

/// Whether all users came at once: no smaller number of them was tried. WebSockets that stay open are counted one by one.
fn is_at_once(trial: &Trial) -> bool {
    let load = &trial.started.load;
    // How many a Locust master wants, and when, its load does not say.
    let users = matches!(load.arrivals, Arrivals::Users { .. }) && load.asked_by.is_none();
    users && !demand::tunnels(load) && demand::ramp(load) < demand::STEEP
}

/// Clients and their connections at an instant.
struct There {
    in_flight: f64,
    connections: Option<f64>,
}

impl There {
    /// Users who do not think are one client each; else requests in flight are.
    fn at(trial: &Trial, at_us: u64, level: f64) -> There {
        let (ticks, load) = (&trial.ticks, &trial.started.load);
        // Over HTTP/2 a server may let connections have fewer requests at once than they would make.
        let streams = matches!(load.protocol, Protocol::Http2(_));
        let unsent = |t: &Tick| t.waiting.filter(|_| streams).map_or(0, |waiting| waiting.unsent);
        let sent = |t: &Tick| t.in_flight.saturating_sub(unsent(t)) as f64;
        let requests = || window::counted(ticks, at_us, sent).min(demand::most(load));
        There {
            in_flight: if demand::is_clients(load) { level.round() } else { requests() },
            connections: load.locust.is_none().then(|| window::counted(ticks, at_us, |t| t.connections as f64)),
        }
    }
}

fn later(trial: &Trial, us: u64) -> Later {
    let level = window::gauge(&trial.ticks, us, |t| t.level);
    let There { in_flight, connections } = There::at(trial, us, level);
    Later { at: us as f64 / US, level, in_flight, connections }
}

/// The sides that errors are on, most frequent first.
fn sides(errors: &[ErrorCount]) -> Vec<Side> {
    let mut count = [(Side::Client, 0), (Side::Server, 0), (Side::Unknown, 0)];
    for error in errors {
        for side in &mut count {
            if side.0 == error.kind.side() {
                side.1 += error.count;
            }
        }
    }
    count.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    count.iter().filter(|(_, n)| *n > 0).map(|(side, _)| *side).collect()
}

/// The condition that a break names.
pub(crate) fn condition(broke: &Break) -> Option<Condition> {
    broke.condition.parse::<Objective>().ok()?.0.first().copied()
}
