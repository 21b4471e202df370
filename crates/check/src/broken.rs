//! A break in figures, and the generator up to it.

use genkai_model::error::{ErrorKind, Side};
use genkai_model::limit::Limit;
use genkai_model::objective::{Condition, Objective};
use serde_json::{Value as Json, json};

use crate::asked::{self, Asked};
use crate::distribution::Distribution;
use crate::events::{Events, Line, Trial, failed, merged, rate, sum, sum_where};
use crate::expected::Expected;
use crate::generator::{self, Generator, STEEP};
use crate::instants::{before, between, counted_at, gauge};
use crate::overdue;
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
    /// The limits in force.
    pub(crate) limits: Vec<Limit>,
    /// The generator up to the violation.
    pub(crate) generator: Generator,
}

impl<'e> Judged<'e> {
    /// Judges a trial; none where its load cannot be read.
    pub(crate) fn of(events: &Events, trial: &Trial<'e>) -> Option<Judged<'e>> {
        let (asked, objective) = (Asked::of(trial)?, asked::objective(events));
        let onset = scan::onset(trial, &asked, &objective, asked::sustained_us(events));
        let limits = asked::limits(events, trial.start.number);
        let generator = generator::up_to_break(trial, &asked, &objective, onset.as_ref(), &limits);
        Some(Judged { trial: trial.clone(), asked, onset, objective, limits, generator })
    }

    /// The same of a test, which goes beyond the load asked for: where the generator gave out only beyond `goal`, what was seen before stands.
    pub(crate) fn beyond(&self, goal: f64) -> Judged<'e> {
        let mut after = self.clone();
        if after.generator.since.is_some() && after.held_to() >= goal {
            after.onset = None;
            after.generator.reasons.clear();
        }
        after
    }

    /// The largest level that it reached without a violation, as far as the generator is to be believed.
    pub(crate) fn held_to(&self) -> f64 {
        generator::held_to(&self.trial, &self.asked, self.level(), &self.generator)
    }

    /// Whether no request was answered or failed; where WebSockets stay open, whether no such one was opened, either. So it is where each failed,
    /// and something must hold that only others can tell.
    pub(crate) fn is_silent(&self) -> bool {
        let ticks = self.trial.ticks();
        let any = |of: &dyn Fn(&Line) -> f64| ticks.iter().any(|tick| of(tick) != 0.0);
        let [succeeded, went_wrong] = [any(&|tick| tick.number("/ok")), any(&failed)];
        let opened = any(&|tick| tick.number("/handshakes/upgraded"));
        if succeeded || went_wrong {
            let messages = ["delivered", "lost", "changed", "foreign"].map(|name| format!("/messages/{name}"));
            let wanted = |condition: &Condition| match condition {
                Condition::LatencyBelow(..) => true,
                Condition::DisconnectsBelow(_) => !opened,
                Condition::DeliveredAbove(_) => !messages.iter().any(|at| any(&|tick| tick.number(at))),
                _ => false,
            };
            return !succeeded && self.objective.0.iter().any(wanted);
        }
        !opened || !self.asked.tunnels
    }

    /// Whether the objective held: of a trial in which nothing came to an end that is not known.
    pub(crate) fn held(&self) -> bool {
        self.onset.is_none() && !self.is_silent()
    }

    /// Whether it ran as it should.
    pub(crate) fn is_whole(&self) -> bool {
        self.trial.end().is_some_and(|end| matches!(end.text("/reason"), "completed" | "break_seen" | "server_died"))
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
        let until = self.onset.map_or(f64::INFINITY, |onset| onset.rests_until() as f64);
        ticks.iter().copied().filter(|tick| tick.number("/to_us") < until).collect()
    }

    /// The level when it broke; none where it held.
    pub(crate) fn level(&self) -> Option<f64> {
        let onset = self.onset?;
        let ticks = self.trial.ticks();
        let next = self.asked.tunnels && onset.hung > 0.0;
        let next = next.then(|| most_open(&before(&ticks, onset.certain_us)) + 1.0);
        let least = if self.asked.users && !self.asked.tunnels { 1.0 } else { 0.0 };
        Some(onset.level.or(next).unwrap_or_else(|| gauge(&ticks, onset.at_us as f64, "/level").max(least)))
    }

    /// Requests in flight when it broke; of WebSockets that stay open, how many were.
    pub(crate) fn in_flight(&self) -> Option<f64> {
        let onset = self.onset?;
        let ticks = self.trial.ticks();
        let seen = match self.asked.tunnels {
            true => most_open(&before(&ticks, onset.certain_us)),
            // Users who do not think are one client each.
            false if !self.asked.is_planned() => return self.level().map(f64::round),
            false => self.sent_at(&ticks, onset.at_us as f64),
        };
        Some(seen.min(self.asked.most))
    }

    /// Requests in flight at an instant; over HTTP/2 without those that wait for room.
    fn sent_at(&self, ticks: &[&Line], at: f64) -> f64 {
        let unsent = if self.asked.has_streams() { counted_at(ticks, at, "/waiting/unsent") } else { 0.0 };
        counted_at(ticks, at, "/in_flight") - unsent
    }
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

/// Requests completed a second in the second before a break.
pub(crate) fn rate_at(judged: &Judged<'_>) -> Option<f64> {
    let at = judged.onset?.at_us as f64;
    Some(rate(&between(&judged.trial.ticks(), (at - 1e6).max(0.0), (at - 1.0).max(0.0))))
}

/// The trial and the load at which it broke, as the ladder and what comes next tell them; no load where all came at once.
pub(crate) fn came(at: &Judged<'_>) -> Json {
    let level = if at.asked.ramp < generator::STEEP { None } else { at.level() };
    json!({ "trial": at.trial.number, "level": level, "rate": rate_at(at) })
}

/// What a break must be, and that there is one or none.
pub(crate) fn expect(address: &str, judged: &Judged<'_>, expected: &mut Expected) {
    let ticks = judged.trial.ticks();
    let Some(onset) = judged.onset else {
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
    let why = "whether fewer users were tried, and a request was answered in an interval before";
    let at_once = judged.asked.users && judged.asked.load.asked_by.is_none() && judged.asked.ramp < STEEP;
    let fewer = (at_once || is_in_the_first(judged, &onset)) && several(judged);
    expected.there(format!("{address}/or_fewer"), fewer, why, line);
    let connections = judged.asked.load.locust.is_none().then(|| counted_at(&ticks, at, "/connections"));
    expected.is(format!("{address}/connections"), connections, line);
    let certain = gauge(&ticks, onset.certain_us as f64, "/level");
    let rose = !judged.asked.tunnels && judged.level().is_some_and(|level| certain >= level + 1.0);
    expected.is(format!("{address}/until"), rose.then_some(certain), line);
    expected.is(format!("{address}/rate"), rate_at(judged), line);
    later(address, judged, line, expected);
    waiting(address, judged, &onset, line, expected);
    errors(address, judged, &onset, line, expected);
    seen(address, &onset, &ticks, line, expected);
}

/// Whether more than one user, who hold no WebSocket open, are told to have been too many.
fn several(judged: &Judged<'_>) -> bool {
    !judged.asked.tunnels && judged.level().is_some_and(|level| level >= 1.5)
}

/// Whether it were too many in the first interval with answers, so that nothing tells whether fewer would have been.
fn is_in_the_first(judged: &Judged<'_>, onset: &Onset) -> bool {
    let answered = |tick: &&Line| tick.number("/ok") > 0.0;
    let first = judged.trial.ticks().into_iter().find(answered).map_or(f64::INFINITY, |tick| tick.number("/to_us"));
    let unnoted = onset.level.is_none();
    match onset.condition {
        Some(Condition::LatencyBelow(..)) => unnoted && first > onset.at_us as f64,
        // When one got lost is not known.
        Some(Condition::DeliveredAbove(_)) => unnoted,
        _ => false,
    }
}

/// What there was when the first failure was seen, where that was later.
fn later(address: &str, judged: &Judged<'_>, line: Option<usize>, expected: &mut Expected) {
    let seen = judged.onset.and_then(|onset| onset.seen_us).filter(|_| !judged.asked.tunnels);
    expected.there(format!("{address}/later"), seen.is_some(), "whether the first failure was seen later", line);
    let Some(seen) = seen.map(|us| us as f64) else { return };
    let ticks = judged.trial.ticks();
    let level = gauge(&ticks, seen, "/level");
    let clients =
        if judged.asked.is_planned() { judged.sent_at(&ticks, seen).min(judged.asked.most) } else { level.round() };
    let connections = judged.asked.load.locust.is_none().then(|| counted_at(&ticks, seen, "/connections"));
    for (name, value) in [("at", seen / 1e6), ("level", level), ("in_flight", clients)] {
        expected.is(format!("{address}/later/{name}"), value, line);
    }
    expected.is(format!("{address}/later/connections"), connections, line);
}

/// How many requests without an answer a break rests on.
pub(crate) fn waits(onset: &Onset) -> f64 {
    let counts = matches!(onset.condition, Some(Condition::ErrorsBelow(_) | Condition::ConnectsAbove(_)));
    if counts { onset.hung.floor() } else { 0.0 }
}

/// The same; of those that had waited for too long, as many as there were in the end.
fn unanswered(judged: &Judged<'_>, onset: &Onset) -> f64 {
    let is_late = onset.patience_us.is_some() && matches!(onset.condition, Some(Condition::ErrorsBelow(_)));
    let in_the_end = if is_late { overdue::of(&judged.trial.ticks(), &judged.asked) } else { 0.0 };
    Some(waits(onset)).filter(|count| *count > 0.0).map_or(0.0, |count| count.max(in_the_end))
}

/// Requests without an answer that a break rests on.
fn waiting(address: &str, judged: &Judged<'_>, onset: &Onset, line: Option<usize>, expected: &mut Expected) {
    let count = unanswered(judged, onset);
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

/// What failed from the break on, by kind, and on whose side.
fn errors(address: &str, judged: &Judged<'_>, onset: &Onset, line: Option<usize>, expected: &mut Expected) {
    let all = failures(judged, onset);
    let told: Vec<Json> = all.iter().map(|(kind, count)| json!({ "kind": kind, "count": *count as u64 })).collect();
    expected.same(&format!("{address}/errors"), &told.into(), "failures from the break on, most frequent first", line);
    let mut sides = [(Side::Client, 0.0), (Side::Server, 0.0), (Side::Unknown, 0.0)];
    for (kind, count) in troubles(&all, judged, onset) {
        sides.iter_mut().filter(|(side, _)| *side == kind.side()).for_each(|(_, sum)| *sum += count);
    }
    sides.sort_by(|a, b| b.1.total_cmp(&a.1));
    let told: Vec<Json> = sides.iter().filter(|(_, sum)| *sum > 0.0).map(|(side, _)| json!(side)).collect();
    expected.word(format!("{address}/sides"), told, "whose side failures are on, most frequent first", line);
}

/// Failures of a trial from its break on, by kind, most frequent first; of a plain load until it was certain. WebSockets that ended unasked where they
/// are what is judged.
pub(crate) fn failures(judged: &Judged<'_>, onset: &Onset) -> Vec<(ErrorKind, f64)> {
    let goes_on = judged.trial.start.text("/purpose") == "measure";
    let until = if goes_on { onset.certain_us as f64 - 1.0 } else { f64::MAX };
    let ticks = between(&judged.trial.ticks(), onset.at_us as f64, until);
    let unasked = matches!(onset.condition, Some(Condition::DisconnectsBelow(_)));
    let count = |kind: &ErrorKind, unasked: bool| {
        serde_json::to_value(kind).map_or(0.0, |name| counted(&ticks, &name, unasked))
    };
    let mut all: Vec<(ErrorKind, f64)> = ErrorKind::ALL.iter().map(|kind| (*kind, count(kind, false))).collect();
    all.retain(|(_, count)| *count > 0.0);
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    for kind in [ErrorKind::Closed, ErrorKind::ClosedAbnormally].into_iter().filter(|_| unasked) {
        let ended = count(&kind, true);
        match all.iter_mut().find(|(other, _)| *other == kind) {
            Some(one) => one.1 = ended,
            None if ended > 0.0 => all.push((kind, ended)),
            None => {}
        }
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

/// Failures with what waits, most frequent first: for too long without an answer, as if it had timed out; for a connection, as if dropped.
pub(crate) fn troubles(failures: &[(ErrorKind, f64)], judged: &Judged<'_>, onset: &Onset) -> Vec<(ErrorKind, f64)> {
    let mut all = failures.to_vec();
    for (kind, count) in [(ErrorKind::Timeout, unanswered(judged, onset)), (ErrorKind::Dropped, onset.unsent as f64)] {
        match all.iter_mut().find(|(other, _)| *other == kind) {
            // Those that timed out in the end had waited before.
            Some(one) => one.1 = if kind == ErrorKind::Timeout { one.1.max(count) } else { one.1 + count },
            None if count > 0.0 => all.push((kind, count)),
            None => {}
        }
    }
    all
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
    let whole = matches!(onset.condition, Some(Condition::ConnectsAbove(_) | Condition::DeliveredAbove(_)));
    let from = if whole { 0.0 } else { onset.at_us as f64 };
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
            let began = part.first().map_or(0.0, |tick| tick.number("/from_us"));
            let open = ticks.iter().filter(|tick| tick.number("/to_us") <= began).map(|tick| scan::opens(tick)).sum();
            let (bad, all) = scan::share(open, &part, condition);
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
    believed(address, &judged.generator, line, expected);
}

/// Whether a generator was good enough, and why not.
pub(crate) fn believed(address: &str, of: &Generator, line: Option<usize>, expected: &mut Expected) {
    let why = "by its processor time, how late and how much it sent, and its connections";
    expected.word(format!("{address}/valid"), of.is_valid(), why, line);
    expected.same(&format!("{address}/reasons"), &of.reasons.clone().into(), why, line);
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
