//! Where a trial breaks: each condition held against each second of it.
//!
//! A window ends with each interval and reaches back about a second (less where a violation may be shorter, more where it must last
//! long), over three intervals at least. A violation begins with the first bad interval that leads up to a window that violates the
//! condition, without a pause of half a window, and is over as soon as a window does not. It is one when bad intervals span the
//! time that it must last, there are three of them (fewer where intervals are long, two at least), and three bad requests, more than chance makes.

use genkai_model::objective::{Bound, Condition, Objective};
use genkai_model::units::Span;

use crate::asked::{self, Asked};
use crate::events::{Line, Trial, failed, merged, sum};
use crate::hanging::{self, Allowed, Hanging};
use crate::intervals::as_many;
use crate::left;

/// A violation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Onset {
    /// Of which condition; none: a server died and nothing is asked for.
    pub(crate) condition: Option<Condition>,
    /// When it began, microseconds.
    pub(crate) at_us: u64,
    /// The level then, where it was noted.
    pub(crate) level: Option<f64>,
    /// When it was certain.
    pub(crate) certain_us: u64,
    /// Requests that were left without an answer.
    pub(crate) hung: f64,
    /// After how long they count, where records tell it.
    pub(crate) patience_us: Option<u64>,
    /// Requests that were never sent.
    pub(crate) unsent: u64,
    /// Whether a server died.
    pub(crate) died: bool,
    /// When the first failure was seen, where that was later.
    pub(crate) seen_us: Option<u64>,
}

impl Onset {
    /// Up to when the generator must have been good enough: slowness rests on it until it is certain.
    pub(crate) fn rests_until(&self) -> u64 {
        let timed = matches!(self.condition, Some(Condition::LatencyBelow(..) | Condition::RateAbove(_)));
        if timed { self.certain_us } else { self.at_us }
    }
}

/// Fewest bad requests of a violation, and intervals of a window.
const FEWEST: f64 = 3.0;
/// Fewest bad requests that are too many for a whole load.
const SCATTERED: f64 = 5.0;
/// How long nobody gets in before who waits for a WebSocket is left out, microseconds.
const STALL_US: u64 = 1_500_000;

/// The first violation of a trial; none: it held.
pub(crate) fn onset(trial: &Trial<'_>, asked: &Asked, objective: &Objective, sustained_us: u64) -> Option<Onset> {
    let ticks = trial.ticks();
    let death = death(trial, objective);
    let until = death.map_or(u64::MAX, |death| death.certain_us);
    let alive: Vec<&Line> = ticks.iter().copied().take_while(|tick| us(tick, "/from_us") < until).collect();
    let found = objective.0.iter().filter_map(|condition| lasting(&alive, asked, *condition, sustained_us));
    // What is certain first; of those that are certain together, what began first.
    let first = found.min_by_key(|onset| (onset.certain_us, onset.at_us));
    // The errors of a server that dies begin a little before it is seen dead.
    let first = first.map(|one| death.filter(|death| death.certain_us <= one.at_us + 1_000_000).unwrap_or(one));
    let completed = trial.end().is_some_and(|end| end.text("/reason") == "completed");
    let whole = || if completed { overall(&ticks, asked, objective, sustained_us) } else { None };
    first.or(death).or_else(whole)
}

fn us(line: &Line, pointer: &str) -> u64 {
    line.number(pointer) as u64
}

/// When something happened, microseconds since the load of its trial began; none before that.
pub(crate) fn since(trial: &Trial<'_>, line: &Line) -> Option<u64> {
    us(line, "/at_us").checked_sub(us(trial.start, "/at_us"))
}

/// Whether a state tells that connections are refused, and no more.
pub(crate) fn refuses(state: &Line) -> bool {
    let stopped = state.text("/detail").contains("stopped accepting connections");
    state.text("/state") == "refuses" || state.text("/state") == "died" && stopped
}

/// The end of a server: its process is gone, or it refused connections for four seconds up to the end of the load.
fn death(trial: &Trial<'_>, objective: &Objective) -> Option<Onset> {
    let states: Vec<(u64, &Line)> = trial.of("state").filter_map(|line| Some((since(trial, line)?, line))).collect();
    let died = states.iter().find(|(_, line)| line.text("/state") == "died").map(|(at, _)| *at);
    let died_us = died.or_else(|| refuses_for_good(trial, &states))?;
    let errors = objective.0.iter().find(|one| matches!(one, Condition::ErrorsBelow(_)));
    let ticks = trial.ticks();
    let failure = |tick: &&Line| Some((tick.found("/first_error_us")? as u64, tick.found("/first_error_level")));
    let near = ticks.iter().filter(|tick| us(tick, "/to_us") + 1_000_000 >= died_us).filter_map(failure);
    let first = near.filter(|(at, _)| at + 1_000_000 >= died_us && *at <= died_us).min_by_key(|(at, _)| *at);
    let (at_us, level) = first.unwrap_or((died_us, None));
    Some(Onset { died: true, ..begins(errors.or(objective.0.first()).copied(), (at_us, level), died_us) })
}

fn refuses_for_good(trial: &Trial<'_>, states: &[(u64, &Line)]) -> Option<u64> {
    let end = trial.ticks().last().map_or(0, |tick| us(tick, "/to_us"));
    let for_good = |(i, (at, line)): (usize, &(u64, &Line))| {
        let back = |(_, later): &(u64, &Line)| {
            later.text("/state") == "ready" && later.text("/subject") == line.text("/subject")
        };
        let never = line.text("/state") == "refuses" && !states[i + 1..].iter().any(back);
        (never && end as f64 - *at as f64 >= 4e6).then_some(*at)
    };
    states.iter().enumerate().find_map(for_good)
}

fn begins(condition: Option<Condition>, (at_us, level): (u64, Option<f64>), certain_us: u64) -> Onset {
    Onset { condition, at_us, level, certain_us, hung: 0.0, patience_us: None, unsent: 0, died: false, seen_us: None }
}

/// What one interval says of a condition.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    from: u64,
    to: u64,
    all: f64,
    bad: f64,
    /// Without an answer for longer than allowed.
    stuck: f64,
    at: u64,
    level: Option<f64>,
    told: bool,
    /// When the first failure was seen.
    seen: Option<u64>,
    /// Requests planned in it; without end where users ask for the next one only when they have an answer.
    planned: f64,
}

/// A violation of one condition that lasts.
fn lasting(ticks: &[&Line], asked: &Asked, condition: Condition, sustained_us: u64) -> Option<Onset> {
    let looks = looks(ticks, asked, condition);
    let span = sustained_us.clamp(1, 1_000_000).max(sustained_us / 4);
    let (mut first, mut bad): (usize, Option<usize>) = (0, None);
    for now in 0..looks.len() {
        while now - first >= 3 && looks[now].to.saturating_sub(looks[first + 1].from) >= span {
            first += 1;
        }
        match violates(&looks[first..=now], condition, span) {
            None => continue,
            Some(false) => bad = None,
            Some(true) => bad = bad.or(Some(first + beginning(&looks[first..=now], span))),
        }
        let found = bad.filter(|begin| certain(&looks[*begin..=now], condition, sustained_us));
        if let Some(begin) = found {
            let stretch = &looks[begin..=now];
            let start = looks[begin];
            let hung = stretch.iter().map(|look| look.stuck).fold(0.0, f64::max);
            let told = matches!(condition, Condition::ErrorsBelow(_)) && start.told;
            let onset = begins(Some(condition), (start.at, start.level), looks[now].to);
            // One that only waited by then is seen to when its time is over.
            let over = (told && start.stuck > 0.0).then(|| start.at + asked.patience_us);
            let seen = start.seen.or(over).map(|seen| seen.min(looks[now].to));
            let seen_us = seen.filter(|seen| seen.saturating_sub(start.at) > (start.to - start.from).max(1));
            return Some(Onset { hung, patience_us: told.then_some(asked.patience_us), seen_us, ..onset });
        }
    }
    None
}

/// Whether a window violates the condition; none where there is nothing to judge.
fn violates(window: &[Look], condition: Condition, span: u64) -> Option<bool> {
    let stuck = window.last().map_or(0.0, |look| look.stuck);
    let all = window.iter().map(|look| look.all).sum::<f64>() + stuck;
    let bad = window.iter().map(|look| look.bad).sum::<f64>() + stuck;
    let broken = |figure: f64| bad > 0.0 && !condition.holds(figure);
    match condition {
        Condition::RateAbove(_) => {
            let seconds = window.last()?.to.saturating_sub(window.first()?.from) as f64 / 1e6;
            let planned = window.iter().map(|look| look.planned).sum::<f64>();
            (seconds >= span as f64 / 1e6).then(|| too_few(condition, all, planned, seconds))
        }
        _ if all == 0.0 => None,
        Condition::ErrorsBelow(_) => Some(broken(bad / all)),
        Condition::LatencyBelow(q, _) => Some(bad > (1.0 - q) * all + 1e-9),
        Condition::DisconnectsBelow(_) => {
            let open = window.iter().map(|look| look.all - look.bad).fold(0.0, f64::max);
            Some(broken(bad / (open + bad)))
        }
        Condition::ConnectsAbove(_) | Condition::DeliveredAbove(_) => Some(broken(1.0 - bad / all)),
    }
}

/// The first bad interval that leads up to the end of a window without a pause of half its length.
fn beginning(window: &[Look], span: u64) -> usize {
    let mut begin = window.len() - 1;
    for (i, look) in window.iter().enumerate().rev() {
        if window[begin].from.saturating_sub(look.to) > span / 2 {
            break;
        }
        if look.bad + look.stuck > 0.0 {
            begin = i;
        }
    }
    begin
}

/// Whether bad intervals span the time that a violation must last, and are enough, and too many for chance.
fn certain(stretch: &[Look], condition: Condition, sustained_us: u64) -> bool {
    let bad: Vec<&Look> = stretch.iter().filter(|look| look.bad + look.stuck > 0.0).collect();
    let Some(start) = stretch.first() else { return false };
    let long = (start.to - start.from).max(1);
    let wanted = (sustained_us.div_ceil(long) as usize).clamp(2, 3);
    let until = bad.last().map_or(start.to, |look| look.to);
    let stuck = bad.iter().map(|look| look.stuck).fold(0.0, f64::max);
    let requests = bad.iter().map(|look| look.bad).sum::<f64>() + stuck;
    let all = stretch.iter().map(|look| look.all).sum();
    let told = requests >= FEWEST && (stuck > 0.0 || as_many(requests, all, asked::bad_allowed(condition)) < 1e-3);
    until.saturating_sub(start.from) >= sustained_us && bad.len() >= wanted && told
}

fn looks(ticks: &[&Line], asked: &Asked, condition: Condition) -> Vec<Look> {
    let bare = |tick: &Line| Look {
        from: us(tick, "/from_us"),
        to: us(tick, "/to_us"),
        at: us(tick, "/from_us"),
        told: tick.json.get("waiting").is_some_and(serde_json::Value::is_object),
        ..Look::default()
    };
    match condition {
        Condition::ErrorsBelow(_) => {
            let waits = unanswered(ticks, asked);
            ticks.iter().zip(waits).map(|(tick, waits)| of_errors(tick, waits, bare(tick))).collect()
        }
        Condition::LatencyBelow(_, bound) => {
            let hangs = hanging::of(ticks, Allowed::Seconds(bound.at.as_secs_f64()));
            ticks.iter().zip(hangs).map(|(tick, hangs)| of_latency(tick, bound, hangs, bare(tick))).collect()
        }
        Condition::RateAbove(bound) => {
            let held = |tick: &&&Line| {
                let rises = asked.ramp > 0.0 && tick.json.get("waiting").is_some_and(serde_json::Value::is_object);
                us(tick, "/from_us") >= (asked.ramp * 1e6) as u64 && !(rises && tick.number("/level") < asked.level)
            };
            let mut before = 0.0;
            let all = ticks.iter().map(|tick| {
                let planned = planned(&[tick], asked, before);
                before = tick.number("/in_flight");
                (tick, Look { planned, ..bare(tick) })
            });
            all.filter(|(tick, _)| held(tick)).map(|(tick, look)| of_rate(tick, bound, look)).collect()
        }
        _ => {
            let out = left_out(ticks, asked);
            let mut open = 0.0;
            let each = ticks.iter().zip(out).map(|(tick, out)| {
                let look = of_sockets(tick, condition, open, out, bare(tick));
                open += opens(tick);
                look
            });
            each.collect()
        }
    }
}

/// Requests without an answer that count like failed ones: how many, since when, and the level then.
type Waits = (f64, Option<u64>, Option<f64>);

fn of_errors(tick: &Line, (stuck, since, level): Waits, look: Look) -> Look {
    let bad = failed(tick);
    let first = tick.found("/first_error_us").map(|at| at as u64);
    let at = first.or(since).unwrap_or(look.from);
    let level = tick.found("/first_error_level").or(level);
    Look { all: tick.number("/ok") + bad, bad, stuck, at, level, seen: failed_at(tick), ..look }
}

/// When the first failure of an interval was seen: as long after its plan as the one that failed soonest.
fn failed_at(tick: &Line) -> Option<u64> {
    let soonest = merged(&[tick], "/failed_after").least()?;
    let at = tick.found("/first_error_us")? as u64 + (soonest * 1e6 + 1e-6) as u64;
    Some(at.clamp(us(tick, "/from_us"), us(tick, "/to_us").max(us(tick, "/from_us"))))
}

/// Those that have waited for longer than is patient while the load had not risen for half of that; of older records, those that hang.
fn unanswered(ticks: &[&Line], asked: &Asked) -> Vec<Waits> {
    let old = ticks.iter().any(|tick| !tick.json.get("waiting").is_some_and(serde_json::Value::is_object));
    let hangs = if old { hanging::of(ticks, Allowed::Pace) } else { Vec::new() };
    let (mut level, mut risen) = (0.0, 0);
    let mut all = Vec::new();
    for (i, tick) in ticks.iter().enumerate() {
        let now = us(tick, "/to_us");
        if tick.number("/level") > level {
            risen = now;
        }
        level = tick.number("/level");
        let steady = now - risen >= asked.patience_us / 2;
        let overdue = tick.number("/waiting/overdue");
        let hang =
            hangs.get(i).copied().filter(|_| !tick.json.get("waiting").is_some_and(serde_json::Value::is_object));
        all.push(match hang {
            Some(hang) => (hang.count, (hang.count > 0.0).then_some(hang.since_us), None),
            None if steady && overdue > 0.0 => {
                (overdue, tick.found("/waiting/since_us").map(|at| at as u64), tick.found("/waiting/since_level"))
            }
            None => (0.0, None, None),
        });
    }
    all
}

/// Requests without an answer at the end of a load that count like failed ones, and since when.
pub(crate) fn left(ticks: &[&Line], asked: &Asked) -> (f64, Option<u64>) {
    unanswered(ticks, asked).last().map_or((0.0, None), |(count, since, _)| (*count, *since))
}

fn of_latency(tick: &Line, bound: Bound<Span>, hangs: Hanging, look: Look) -> Look {
    let latency = merged(&[tick], "/latency");
    let bad = latency.over(bound.at.0, bound.included);
    let planned = look.to.saturating_sub(bound.at.0 / 1000);
    let at = if hangs.count > 0.0 && bad == 0.0 { hangs.since_us } else { planned };
    Look { all: latency.count() as f64, bad, stuck: hangs.count, at, ..look }
}

fn of_rate(tick: &Line, bound: Bound<f64>, look: Look) -> Look {
    let seconds = ((look.to - look.from) as f64 / 1e6).max(1e-9);
    let slow = !bound.is_below(tick.number("/ok") / seconds);
    Look { all: tick.number("/ok"), bad: if slow { FEWEST } else { 0.0 }, ..look }
}

/// Requests planned over intervals, with so many in flight before the first.
fn planned(ticks: &[&Line], asked: &Asked, before: f64) -> f64 {
    let ended: f64 = ticks.iter().map(|tick| tick.number("/ok") + failed(tick)).sum();
    let after = ticks.last().map_or(before, |tick| tick.number("/in_flight"));
    if asked.users { f64::INFINITY } else { ended + after - before }
}

/// A rate too low although enough was planned, or although less than nine tenths of what was planned came.
fn too_few(condition: Condition, ok: f64, planned: f64, seconds: f64) -> bool {
    let enough_planned = condition.holds(planned / seconds);
    !condition.holds(ok / seconds) && (enough_planned || ok < 0.9 * planned)
}

fn of_sockets(tick: &Line, condition: Condition, open: f64, out: (f64, u64), look: Look) -> Look {
    let (bad, all) = share(open, &[tick], condition);
    let opens = matches!(condition, Condition::ConnectsAbove(_));
    let (stuck, since) = if opens { out } else { (0.0, 0) };
    let first = tick.found("/first_error_us").map(|at| at as u64).filter(|_| bad > 0.0);
    let at = first.unwrap_or(if stuck > 0.0 { since } else { look.from });
    Look { all, bad, stuck, at, level: tick.found("/first_error_level").filter(|_| first.is_some()), ..look }
}

/// Of WebSockets, of which `open` are there before: how many went wrong, and of how many.
pub(crate) fn share(open: f64, ticks: &[&Line], condition: Condition) -> (f64, f64) {
    let of = |name: &str| sum(ticks, name);
    match condition {
        Condition::ConnectsAbove(_) => {
            let bad = of("/handshakes/failed");
            (bad, bad + of("/handshakes/upgraded"))
        }
        Condition::DeliveredAbove(_) => {
            let bad: f64 = ["lost", "changed", "foreign"].map(|what| of(&format!("/messages/{what}"))).iter().sum();
            (bad, bad + of("/messages/delivered"))
        }
        Condition::DisconnectsBelow(_) => {
            let bad = of("/disconnects/closed") + of("/disconnects/cut");
            (bad, open.max(0.0) + of("/handshakes/upgraded"))
        }
        _ => (0.0, 0.0),
    }
}

/// How many more WebSockets are open at the end of an interval.
pub(crate) fn opens(tick: &Line) -> f64 {
    let ended = tick.number("/disconnects/closed") + tick.number("/disconnects/cut");
    tick.number("/handshakes/upgraded") - tick.number("/handshakes/left") - ended
}

/// Users who wait in vain for a WebSocket at the end of each interval, and since when: nobody has got in for a while.
pub(crate) fn left_out(ticks: &[&Line], asked: &Asked) -> Vec<(f64, u64)> {
    let (mut open, mut since, mut all) = (0.0, None::<u64>, Vec::new());
    for (i, tick) in ticks.iter().enumerate() {
        let now = us(tick, "/to_us");
        open += opens(tick);
        let waits = asked.users && tick.number("/level") > open;
        since = match since {
            Some(before) if waits && tick.number("/handshakes/upgraded") == 0.0 => Some(before),
            _ => waits.then_some(now),
        };
        let then = now.saturating_sub(STALL_US);
        // Who was there when the stall began.
        let there = ticks[..=i].iter().rev().find(|one| us(one, "/to_us") <= then).or(ticks.first());
        let there = there.map_or(0.0, |one| one.number("/level"));
        all.push(match since.filter(|since| *since <= then && now >= STALL_US) {
            Some(since) => ((there - open).clamp(0.0, tick.number("/in_flight")), since),
            None => (0.0, now),
        });
    }
    all
}

/// What is violated by a load as a whole though no violation lasted.
fn overall(ticks: &[&Line], asked: &Asked, objective: &Objective, sustained_us: u64) -> Option<Onset> {
    let end = us(ticks.last()?, "/to_us");
    let told = ticks.last()?.json.get("waiting").is_some_and(serde_json::Value::is_object);
    let whole = |condition: &Condition| {
        let (hung, since) = match condition {
            Condition::ErrorsBelow(_) => left(ticks, asked),
            Condition::ConnectsAbove(_) => {
                let (out, since) = left_out(ticks, asked).last().copied().unwrap_or_default();
                (out.floor(), (out > 0.0).then_some(since))
            }
            _ => (0.0, None),
        };
        let waits = since.filter(|_| hung >= SCATTERED).map(|at| (at, None));
        let first = scattered(ticks, asked, *condition).or(waits)?;
        let errors = matches!(condition, Condition::ErrorsBelow(_));
        let patience_us = (told && errors).then_some(asked.patience_us);
        let failing = ticks.iter().find(|tick| failed(tick) > 0.0).filter(|_| errors);
        let long = us(ticks[0], "/to_us") - us(ticks[0], "/from_us");
        let seen_us = failing.and_then(|tick| failed_at(tick)).filter(|seen| seen.saturating_sub(first.0) > long);
        Some(Onset { hung, patience_us, seen_us, ..begins(Some(*condition), first, end) })
    };
    let unsent = unsent(ticks, asked, objective, sustained_us);
    objective.0.iter().filter_map(whole).chain(unsent).min_by_key(|onset| onset.at_us)
}

/// An open load that was not all sent in the end, for as long as a violation must last.
fn unsent(ticks: &[&Line], asked: &Asked, objective: &Objective, sustained_us: u64) -> Option<Onset> {
    let over = |tick: &&&Line| {
        let beyond = tick.number("/in_flight") - asked.most;
        tick.found("/waiting/unsent").unwrap_or_else(|| if tick.json.get("waiting").is_some() { 0.0 } else { beyond })
    };
    let first = ticks.iter().rev().take_while(|tick| over(tick) > 0.0).last()?;
    let condition = objective.0.iter().find(|one| matches!(one, Condition::ErrorsBelow(_)))?;
    let (last, ok) = (ticks.last()?, sum(ticks, "/ok"));
    let left = over(&last);
    let all = ok + ticks.iter().map(|tick| failed(tick)).sum::<f64>() + left;
    let lasted = us(last, "/to_us").saturating_sub(us(first, "/from_us")) >= sustained_us;
    let onset = begins(Some(*condition), (us(first, "/from_us"), None), us(last, "/to_us"));
    (lasted && left >= SCATTERED && !condition.holds(left / all)).then_some(Onset { unsent: left as u64, ..onset })
}

/// Where what is too much over a whole load began.
fn scattered(ticks: &[&Line], asked: &Asked, condition: Condition) -> Option<(u64, Option<f64>)> {
    let first_error = |tick: &&Line| {
        let at = tick.found("/first_error_us").map_or(us(tick, "/from_us"), |at| at as u64);
        (at, tick.found("/first_error_level"))
    };
    match condition {
        Condition::ErrorsBelow(_) => {
            let count: f64 = ticks.iter().map(|tick| failed(tick)).sum();
            let first = ticks.iter().find(|tick| failed(tick) > 0.0)?;
            (!condition.holds(count / (count + sum(ticks, "/ok")))).then(|| first_error(first))
        }
        Condition::LatencyBelow(q, bound) => {
            let left = left::waiting(condition, ticks);
            let seen = merged(ticks, "/latency").quantile(q)?;
            let fails = !condition.holds(seen) || left > 0.0 && left::fails_with(condition, left, ticks);
            let slow = |tick: &&&Line| merged(&[tick], "/latency").over(bound.at.0, bound.included) > 0.0;
            let first = ticks.iter().find(slow).or(ticks.last().filter(|_| left > 0.0)).filter(|_| fails)?;
            Some((us(first, "/to_us").saturating_sub(bound.at.0 / 1000), None))
        }
        Condition::RateAbove(_) => {
            let held = |tick: &&Line| us(tick, "/from_us") >= (asked.ramp * 1e6) as u64;
            let before = ticks.iter().rfind(|tick| !held(tick)).map_or(0.0, |tick| tick.number("/in_flight"));
            let held: Vec<&Line> = ticks.iter().copied().filter(held).collect();
            let first = held.first()?;
            let seconds: f64 = held.iter().map(|tick| (tick.number("/to_us") - tick.number("/from_us")) / 1e6).sum();
            let planned = planned(&held, asked, before);
            too_few(condition, sum(&held, "/ok"), planned, seconds).then_some((us(first, "/from_us"), None))
        }
        _ => {
            let (bad, all) = share(0.0, ticks, condition);
            let part = if all > 0.0 { bad / all } else { return None };
            let figure = if matches!(condition, Condition::DisconnectsBelow(_)) { part } else { 1.0 - part };
            let first = ticks.iter().find(|tick| share(0.0, &[tick], condition).0 > 0.0);
            first.filter(|_| !condition.holds(figure)).map(first_error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(messages: serde_json::Value) -> Line {
        let json = serde_json::json!({ "from_us": 0, "to_us": 1_000_000, "connections": 8, "messages": messages,
            "handshakes": { "upgraded": 9, "failed": 1 }, "disconnects": { "closed": 1, "cut": 1 } });
        Line { number: 1, json }
    }

    #[test]
    fn each_condition_on_websockets_counts_its_own() {
        let one = tick(serde_json::json!({ "delivered": 16, "lost": 1, "changed": 2, "foreign": 1, "late": 3 }));
        let of = |condition: &str| {
            let objective: genkai_model::objective::Objective = condition.parse().unwrap();
            share(6.0, &[&one, &one], objective.0[0])
        };
        assert_eq!(of("delivered > 99%"), (8.0, 40.0), "what came back as something else was not delivered");
        assert_eq!(of("connects > 99%"), (2.0, 20.0));
        assert_eq!(of("disconnects < 1%"), (4.0, 24.0));
        assert_eq!(of("errors < 1%"), (0.0, 0.0));
    }
}
