//! A break in figures, and the generator up to it.

use genkai_model::error::ErrorKind;
use genkai_model::objective::{Condition, Objective};
use serde_json::Value as Json;

use crate::asked::{self, Asked};
use crate::distribution::Distribution;
use crate::events::{Events, Line, Trial, failed, merged, rate, sum, sum_where};
use crate::expected::Expected;
use crate::scan::{self, Onset};

/// A trial with where it broke.
#[derive(Clone, Debug)]
pub(crate) struct Judged<'e> {
    /// The trial.
    pub(crate) trial: Trial<'e>,
    /// Its load.
    pub(crate) asked: Asked,
    /// The violation, if any.
    pub(crate) onset: Option<Onset>,
    /// What must hold.
    pub(crate) objective: Objective,
}

impl<'e> Judged<'e> {
    /// Judges a trial; none where its load cannot be read.
    pub(crate) fn of(events: &Events, trial: &Trial<'e>) -> Option<Judged<'e>> {
        let (asked, objective) = (Asked::of(trial.start)?, asked::objective(events));
        let onset = scan::onset(trial, &asked, &objective, asked::sustained_us(events));
        Some(Judged { trial: trial.clone(), asked, onset, objective })
    }

    /// Up to when the generator must have been good enough: a break of latency or rate rests on it until it is certain.
    fn rests_until(&self) -> Option<u64> {
        let onset = self.onset?;
        let timed = matches!(onset.condition, Some(Condition::LatencyBelow(..) | Condition::RateAbove(_)));
        Some(if timed { onset.certain_us } else { onset.at_us })
    }

    /// What the busiest thread of the generator used of a core in its busiest second up to the break.
    pub(crate) fn busiest(&self) -> f64 {
        let ticks = self.trial.ticks();
        busiest_second(&self.trusted(&ticks)).unwrap_or_else(|| used(&ticks))
    }

    /// The same in the whole trial, whatever broke.
    pub(crate) fn busiest_of_all(&self) -> f64 {
        let ticks = self.trial.ticks();
        busiest_second(&ticks).unwrap_or_else(|| used(&ticks))
    }

    /// The intervals in which the generator must have been good enough: that of the break is left out, which is full of its consequences.
    fn trusted<'t>(&self, ticks: &[&'t Line]) -> Vec<&'t Line> {
        let until = self.rests_until().map_or(f64::INFINITY, |us| us as f64);
        ticks.iter().copied().filter(|tick| tick.number("/to_us") < until).collect()
    }

    /// The level when it broke; none where it held.
    pub(crate) fn level(&self) -> Option<f64> {
        let onset = self.onset?;
        let ticks = self.trial.ticks();
        let next = self.asked.tunnels && onset.hung > 0.0;
        let next = next.then(|| most_open(&before(&ticks, onset.certain_us)) + 1.0);
        Some(onset.level.or(next).unwrap_or_else(|| gauge(&ticks, onset.at_us as f64, "/level")))
    }

    /// Requests in flight when it broke; of WebSockets that stay open, how many were.
    pub(crate) fn in_flight(&self) -> Option<f64> {
        let onset = self.onset?;
        let ticks = self.trial.ticks();
        let seen = match self.asked.tunnels {
            true => most_open(&before(&ticks, onset.certain_us)),
            // Users who do not think are one client each.
            false if !self.asked.is_planned() => return self.level().map(f64::round),
            false => counted_at(&ticks, onset.at_us as f64, "/in_flight"),
        };
        Some(seen.min(self.asked.most))
    }
}

fn before<'e>(ticks: &[&'e Line], us: u64) -> Vec<&'e Line> {
    ticks.iter().copied().filter(|tick| tick.number("/from_us") <= us as f64).collect()
}

/// Intervals that end after one instant and begin no later than another, microseconds.
fn between<'e>(ticks: &[&'e Line], from: f64, to: f64) -> Vec<&'e Line> {
    let inside = |tick: &&Line| tick.number("/to_us") > from && tick.number("/from_us") <= to;
    ticks.iter().copied().filter(inside).collect()
}

/// The most WebSockets that were open at the end of an interval.
fn most_open(ticks: &[&Line]) -> f64 {
    let (mut open, mut most) = (0.0, 0.0f64);
    for tick in ticks {
        open += scan::opens(tick);
        most = most.max(open);
    }
    most
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
fn counted_at(ticks: &[&Line], at: f64, pointer: &str) -> f64 {
    let first = ticks.first().filter(|first| at <= first.number("/to_us"));
    first.map_or_else(|| gauge(ticks, at, pointer), |first| first.number(pointer))
}

/// What a break must be where a finding has one, and that it has one or none.
pub(crate) fn expect(address: &str, stated: Option<&Json>, judged: &Judged<'_>, expected: &mut Expected) {
    let ticks = judged.trial.ticks();
    let Some(onset) = judged.onset else {
        if stated.is_some_and(Json::is_object) {
            for name in ["at", "level", "in_flight", "connections", "rate", "seen"] {
                expected.is(format!("{address}/{name}"), None, judged.trial.first());
            }
        }
        expected.there(address, false, "the trial held its objective", judged.trial.first());
        return;
    };
    let at = onset.at_us as f64;
    let line = ticks.iter().find(|tick| tick.number("/to_us") >= at).map(|tick| tick.number).or(judged.trial.first());
    let why = format!("the trial breaks after {} s", at / 1e6);
    expected.there(address, true, &why, line);
    let condition = onset.condition.map_or_else(|| "the server runs".to_owned(), |one| one.to_string());
    expected.word(format!("{address}/condition"), condition, &why, line);
    expected.is(format!("{address}/at"), at / 1e6, line);
    expected.is(format!("{address}/level"), judged.level(), line);
    expected.is(format!("{address}/in_flight"), judged.in_flight(), line);
    expected.is(format!("{address}/connections"), counted_at(&ticks, at, "/connections"), line);
    let second = between(&ticks, (at - 1e6).max(0.0), (at - 1.0).max(0.0));
    expected.is(format!("{address}/rate"), rate(&second), line);
    let end = judged.trial.lasted() + 1.0;
    expected.within(format!("{address}/later/at"), at / 1e6, end, line);
    for name in ["level", "in_flight", "connections"] {
        let most = ticks.iter().flat_map(|tick| [tick.number(&format!("/{name}")), tick.number("/level")]);
        expected.within(format!("{address}/later/{name}"), 0.0, most.fold(0.0, f64::max), line);
    }
    waiting(address, &onset, line, expected);
    errors(address, stated, &onset, &between(&ticks, at, f64::MAX), line, expected);
    seen(address, &onset, &ticks, line, expected);
}

/// Requests without an answer that a break rests on.
fn waiting(address: &str, onset: &Onset, line: Option<usize>, expected: &mut Expected) {
    let counts = matches!(onset.condition, Some(Condition::ErrorsBelow(_) | Condition::ConnectsAbove(_)));
    let count = if counts { onset.hung.floor() } else { 0.0 };
    // Of WebSockets it is the time in which nobody got in.
    let stalled = matches!(onset.condition, Some(Condition::ConnectsAbove(_))).then_some(1.5);
    let patience = stalled.or(onset.patience_us.map(|us| us as f64 / 1e6));
    let longest = (onset.certain_us.saturating_sub(onset.at_us) as f64 / 1e6).max(patience.unwrap_or(0.0));
    let there = count > 0.0;
    expected.is(format!("{address}/waiting/count"), there.then_some(count), line);
    expected.is(format!("{address}/waiting/longest"), there.then_some(longest), line);
    expected.is(format!("{address}/waiting/patience"), patience.filter(|_| there), line);
    expected.is(format!("{address}/unsent"), (onset.unsent > 0).then_some(onset.unsent as f64), line);
}

fn errors(
    address: &str,
    stated: Option<&Json>,
    onset: &Onset,
    after: &[&Line],
    line: Option<usize>,
    expected: &mut Expected,
) {
    let unasked = matches!(onset.condition, Some(Condition::DisconnectsBelow(_)));
    let list = stated.and_then(|broke| broke.get("errors")).and_then(Json::as_array);
    for (i, error) in list.into_iter().flatten().enumerate() {
        let Some(kind) = error.get("kind") else { continue };
        let count = counted(after, kind, unasked);
        expected.is(format!("{address}/errors/{i}/count"), count, line);
    }
}

/// Failures of a kind; WebSockets that ended unasked with nothing under way are no failed requests, and count where `unasked`.
pub(crate) fn counted(ticks: &[&Line], kind: &Json, unasked: bool) -> f64 {
    let failed = sum_where(ticks, "/errors", ("kind", kind), "count");
    let named = |one: ErrorKind| serde_json::to_value(one).ok().as_ref() == Some(kind);
    let ended = match () {
        () if named(ErrorKind::Closed) => sum(ticks, "/disconnects/closed"),
        () if named(ErrorKind::ClosedAbnormally) => sum(ticks, "/disconnects/cut"),
        () => 0.0,
    };
    if unasked { failed.max(ended) } else { failed }
}

/// What was seen instead of the objective, from where the violation began to where it was certain.
fn seen(address: &str, onset: &Onset, ticks: &[&Line], line: Option<usize>, expected: &mut Expected) {
    let from = if matches!(onset.condition, Some(Condition::ConnectsAbove(_))) { 0.0 } else { onset.at_us as f64 };
    let part = between(ticks, from, onset.certain_us.saturating_sub(1) as f64);
    let place = format!("{address}/seen");
    match onset.condition {
        Some(Condition::LatencyBelow(q, bound)) => {
            let bound = bound.at.as_secs_f64();
            match merged(&part, "/latency").quantile(q).filter(|seen| *seen >= bound) {
                Some(seen) => expected.is(place, seen, line),
                None => expected.more_than(place, bound, line),
            }
        }
        Some(Condition::RateAbove(_)) => expected.is(place, rate(&part), line),
        Some(Condition::ErrorsBelow(_)) | None => {
            let bad: f64 = part.iter().map(|tick| failed(tick)).sum();
            let all = bad + sum(&part, "/ok");
            expected.is(place, if all > 0.0 { bad / all } else { 0.0 }, line);
        }
        Some(condition) => {
            let (bad, all) = scan::share(&part, condition);
            let hung = if matches!(condition, Condition::ConnectsAbove(_)) { onset.hung } else { 0.0 };
            let share = if all + hung > 0.0 { (bad + hung) / (all + hung) } else { 0.0 };
            let wrong = matches!(condition, Condition::DisconnectsBelow(_));
            expected.is(place, if wrong { share } else { 1.0 - share }, line);
        }
    }
}

/// Names of the figures of a short distribution.
const SHORT: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)];

/// The generator up to the break. Where less than a second came before it, the whole trial.
pub(crate) fn generator(address: &str, judged: &Judged<'_>, expected: &mut Expected) {
    let (ticks, line) = (judged.trial.ticks(), judged.trial.first());
    let part = judged.trusted(&ticks);
    let looked = if busiest_second(&part).is_some() { &part } else { &ticks };
    // Who asks as soon as an answer is there is late for nothing.
    let late = if judged.asked.is_planned() { merged(looked, "/lateness") } else { Distribution::default() };
    few(&format!("{address}/lateness"), &late, line, expected);
    few(&format!("{address}/receipt"), &merged(&part, "/receipt"), line, expected);
    expected.is(format!("{address}/cpu_max"), judged.busiest(), line);
}

/// The figures of a distribution, where it is told in few.
pub(crate) fn few(address: &str, all: &Distribution, line: Option<usize>, expected: &mut Expected) {
    all.expect(address, line, expected);
    for (name, q) in SHORT {
        expected.is(format!("{address}/{name}"), all.quantile(q), line);
    }
}

/// The part of a core that the busiest thread used over intervals.
fn used(ticks: &[&Line]) -> f64 {
    let wall: f64 = ticks.iter().map(|tick| tick.number("/to_us") - tick.number("/from_us")).sum();
    if wall > 0.0 { sum(ticks, "/cpu_max_us") / wall } else { 0.0 }
}

/// The same in the busiest second: of the intervals that end each interval and cover a second. None in less than that.
fn busiest_second(ticks: &[&Line]) -> Option<f64> {
    let all = (0..ticks.len()).filter_map(|last| {
        let from = ticks[last].number("/to_us") - 1e6;
        let first = ticks[..=last].iter().rposition(|tick| tick.number("/from_us") <= from)?;
        Some(used(&ticks[first..=last]))
    });
    all.reduce(f64::max)
}
