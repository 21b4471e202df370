//! Whether the generator was good enough, and why not: its processor time, how late it sent, what it sent of what was planned, and whether it
//! had connections.

use std::collections::BTreeMap;

use genkai_model::error::ErrorKind;
use genkai_model::evidence::metric;
use genkai_model::limit::{Law, Limit};
use genkai_model::load::{Arrivals, Spacing};
use genkai_model::objective::{Condition, Objective};
use genkai_model::stage::Stage;
use genkai_model::transport::Transport;
use genkai_model::units::{Span, Spread};
use serde_json::{Value as Json, json};

use crate::asked::{self, Asked};
use crate::distribution::Distribution;
use crate::events::{Line, Trial, all_failed, merged, sum, sum_where};
use crate::scan::Onset;
use crate::{instants, laws};

/// The longest ramp, seconds, that puts a whole load on at once.
pub(crate) const STEEP: f64 = 1.0;

/// What is found wrong with a generator.
#[derive(Clone, Debug, Default)]
pub(crate) struct Generator {
    /// Why it is not to be believed; none: it is.
    pub(crate) reasons: Vec<Json>,
    /// Since when it was not good enough, microseconds.
    pub(crate) since: Option<f64>,
}

/// What speaks against a generator, and since when.
type Found = Option<(Json, f64)>;

/// A trial's generator up to a moment.
struct Looked<'e> {
    trial: &'e Trial<'e>,
    asked: &'e Asked,
    until: Option<f64>,
    /// The intervals that begin by then.
    begun: Vec<&'e Line>,
    /// Those that end before it.
    ticks: Vec<&'e Line>,
    /// How late is too late, seconds.
    bound: f64,
    /// Of each interval, by its line: requests that were too late, and all of which it is known.
    counts: BTreeMap<usize, (f64, f64)>,
}

/// The generator up to `until` microseconds (none: all of it); `timed` is whether a late message changes anything that is judged.
pub(crate) fn of(
    trial: &Trial<'_>,
    asked: &Asked,
    objective: &Objective,
    until: Option<f64>,
    timed: bool,
) -> Generator {
    let all = trial.ticks();
    let end = until.unwrap_or(f64::INFINITY);
    let begun: Vec<&Line> = all.iter().copied().filter(|tick| tick.number("/from_us") <= end).collect();
    let ticks: Vec<&Line> =
        begun.iter().copied().filter(|tick| until.is_none() || tick.number("/to_us") < end).collect();
    let bound = allowed(&ticks, objective, timed);
    let late = |tick: &&Line| {
        let one = merged(&[tick], "/lateness");
        (tick.number, (one.over(Span::from_secs_f64(bound).0, false), one.count() as f64))
    };
    let counts = ticks.iter().map(late).collect();
    let looked = Looked { trial, asked, until, begun, ticks, bound, counts };
    let found = [
        looked.spent(),
        looked.late(),
        if timed { looked.stalled(objective).or_else(|| looked.stood(objective)) } else { None },
        looked.short(),
        looked.exhausted(ErrorKind::PortsExhausted, "ports"),
        looked.exhausted(ErrorKind::DescriptorsExhausted, "descriptors"),
        looked.only_too_large(),
    ];
    let worker = if until.is_none() { looked.worker() } else { None };
    let found: Vec<(Json, f64)> = found.into_iter().chain([worker.map(|one| (one, 0.0))]).flatten().collect();
    let since = found.iter().map(|(_, since)| *since).reduce(f64::min);
    let why = since.and_then(|_| looked.throttled());
    Generator { reasons: why.into_iter().chain(found.into_iter().map(|(reason, _)| reason)).collect(), since }
}

/// How late requests may leave, seconds.
fn allowed(ticks: &[&Line], objective: &Objective, timed: bool) -> f64 {
    let median = merged(ticks, "/latency").quantile(0.5).unwrap_or(0.0);
    let judged = median.max(asked::tightest(objective).unwrap_or(0.0));
    if timed { (0.1 * judged).max(0.010) } else { 1.0 }
}

/// Whether a worker process of a load, as its end tells of it, had no time left or sent late; what is `timed` allows less.
pub(crate) fn is_at_end(worker: &Json, trial: &Trial<'_>, asked: &Asked, objective: &Objective, timed: bool) -> bool {
    let Some(used) = worker.pointer("/ended/busiest").and_then(Json::as_f64) else { return false };
    let late = || worker_late(worker).filter(|_| asked.is_planned());
    used >= 0.97 || late().is_some_and(|late| late > allowed(&trial.ticks(), objective, timed))
}

/// How late a worker process of several machines sent, seconds: the 99th percentile of what it says of itself.
pub(crate) fn worker_late(worker: &Json) -> Option<f64> {
    let mut all = Distribution::default();
    all.add(worker.pointer("/ended/lateness")?.as_str()?);
    all.quantile(0.99).filter(|_| all.count() > 0)
}

/// Whether a late message changes anything that an objective judges of a load.
pub(crate) fn is_timed(asked: &Asked, objective: &Objective) -> bool {
    let timed = |one: &Condition| matches!(one, Condition::LatencyBelow(..) | Condition::RateAbove(_));
    !asked.tunnels || objective.0.iter().any(timed)
}

/// The generator of a trial up to its break, which it must not have made itself.
pub(crate) fn up_to_break(
    trial: &Trial<'_>,
    asked: &Asked,
    objective: &Objective,
    onset: Option<&Onset>,
    limits: &[Limit],
) -> Generator {
    let until = onset.map(|onset| onset.rests_until() as f64);
    let mut all = of(trial, asked, objective, until, is_timed(asked, objective));
    let few = |onset| connections(trial, asked, onset, limits).or_else(|| users(trial, asked, onset, limits));
    if let Some((reason, since)) = onset.and_then(few) {
        all.reasons.push(reason);
        all.since = Some(all.since.map_or(since, |before| before.min(since)));
    }
    all
}

impl Generator {
    /// Whether it was good enough.
    pub(crate) fn is_valid(&self) -> bool {
        self.reasons.is_empty()
    }
}

/// Stretches of intervals that cover a second, one that ends with each interval.
fn seconds<'s, 'e>(ticks: &'s [&'e Line]) -> impl Iterator<Item = &'s [&'e Line]> {
    (0..ticks.len()).filter_map(|last| {
        let from = ticks[last].number("/to_us") - 1e6;
        let first = ticks[..=last].iter().rposition(|tick| tick.number("/from_us") <= from)?;
        Some(&ticks[first..=last])
    })
}

/// The part of a core that the busiest thread used.
fn used(ticks: &[&Line]) -> f64 {
    let wall: f64 = ticks.iter().map(|tick| tick.number("/to_us") - tick.number("/from_us")).sum();
    if wall > 0.0 { sum(ticks, "/cpu_max_us") / wall } else { 0.0 }
}

/// When something began in a stretch: with the first interval that shows it, or else with the stretch.
fn begins(stretch: &[&Line], shows: impl Fn(&Line) -> bool) -> f64 {
    stretch.iter().find(|tick| shows(tick)).or(stretch.first()).map_or(0.0, |tick| tick.number("/from_us"))
}

fn count(ticks: &[&Line], kind: ErrorKind) -> f64 {
    serde_json::to_value(kind).map_or(0.0, |kind| sum_where(ticks, "/errors", ("kind", &kind), "count"))
}

impl Looked<'_> {
    /// The worker process that was worst at its end, where several machines made the load.
    fn worker(&self) -> Option<Json> {
        let mut worst: Option<(f64, f64, Json)> = None;
        for (i, one) in self.trial.end()?.items("/workers").iter().enumerate() {
            let Some(used) = one.pointer("/ended/busiest").and_then(Json::as_f64) else { continue };
            let late = if self.asked.is_planned() { worker_late(one).unwrap_or(0.0) } else { 0.0 };
            let at_end = used >= 0.97 || late > self.bound;
            if at_end && worst.as_ref().is_none_or(|(most, longest, _)| (used, late) >= (*most, *longest)) {
                let reason =
                    json!({ "reason": "worker", "worker": i + 1, "used": used, "p99": late, "bound": self.bound });
                worst = Some((used, late, reason));
            }
        }
        worst.map(|(_, _, reason)| reason)
    }

    /// Requests that were too late, and all of which it is known how late they were.
    fn too_late(&self, ticks: &[&Line]) -> (f64, f64) {
        let each = ticks.iter().filter_map(|tick| self.counts.get(&tick.number));
        each.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    fn spent(&self) -> Found {
        let many = |second: &[&Line]| {
            let (late, all) = self.too_late(second);
            late > 0.01 * all
        };
        let untold = self.asked.load.locust.is_some();
        let at_end = |second: &&[&Line]| used(second) >= 0.97 || used(second) >= 0.90 && (untold || many(second));
        let first = seconds(&self.ticks).find(at_end)?;
        let most = seconds(&self.ticks).filter(at_end).map(used).fold(0.0, f64::max);
        Some((
            json!({ "reason": if untold { "locust_cpu" } else { "cpu" }, "used": most }),
            begins(first, |tick| used(&[tick]) >= 0.90),
        ))
    }

    /// The quota of its control group was used up in a fifth of the time.
    fn throttled(&self) -> Option<Json> {
        let began = self.trial.start.number("/at_us");
        let inside = |line: &&Line| {
            let at = line.number("/at_us") - began;
            at > 0.0 && self.until.is_none_or(|until| at <= until)
        };
        let looks = self.trial.of("sample").filter(inside);
        let seen: Vec<f64> =
            looks.filter_map(|line| line.json.get("metrics")?.get(metric::THROTTLED)?.as_f64()).collect();
        let part = seen.iter().sum::<f64>() / seen.len().max(1) as f64;
        (part >= 0.2).then(|| json!({ "reason": "throttled", "fraction": part }))
    }

    /// Half of the requests of a second were too late, or one in a hundred of all. A load that comes at once may be late in its first second.
    fn late(&self) -> Found {
        let begin = if self.asked.ramp < STEEP { 1e6 } else { 0.0 };
        let ticks: Vec<&Line> = self.ticks.iter().copied().filter(|tick| tick.number("/from_us") >= begin).collect();
        let half = |second: &&[&Line]| {
            let (late, all) = self.too_late(second);
            late > 0.5 * all
        };
        let second = seconds(&ticks).find(half);
        let (late, all) = self.too_late(&ticks);
        let many = (all >= 100.0 && late > 0.01 * all).then_some(&ticks[..]);
        let found = second.or(many)?;
        let p99 = merged(many.unwrap_or(found), "/lateness").quantile(0.99)?;
        let settled = ticks.first().is_some_and(|first| first.number("/from_us") > 0.0);
        let over = match many {
            None => "second",
            Some(_) if settled => "settled",
            Some(_) => "all",
        };
        let shows = |tick: &Line| {
            let (late, all) = self.too_late(&[tick]);
            late * 100.0 > all
        };
        Some((json!({ "reason": "late", "p99": p99, "bound": self.bound, "over": over }), begins(found, shows)))
    }

    /// It stood still, for half of the latency allowed and 50 ms, while more than one in a hundred requests of users without a plan were in
    /// flight.
    fn stalled(&self, objective: &Objective) -> Found {
        let bound = asked::tightest(objective).filter(|_| !self.asked.is_planned())? / 2.0;
        let bound = bound.max(0.05);
        let over = |ticks: &[&Line]| merged(ticks, "/stalled").over(Span::from_secs_f64(bound).0, false);
        let many = |ticks: &[&Line]| over(ticks) > 0.01 * (sum(ticks, "/ok") + all_failed(ticks));
        // What is violated is so for a second.
        let found = match self.until {
            Some(_) => seconds(&self.ticks).find(|second| many(second)),
            None => Some(&self.ticks[..]).filter(|all| many(all)),
        }?;
        let requests = over(&self.ticks);
        let longest = merged(&self.ticks, "/stalled").quantile(1.0)?;
        let reason = json!({ "reason": "stalled", "longest": longest, "requests": requests as u64, "bound": bound });
        Some((reason, begins(found, |tick| over(&[tick]) > 0.0)))
    }

    /// It stood still when it broke, for longer than an answer may take.
    fn stood(&self, objective: &Objective) -> Found {
        let until = self.until?;
        let patient = self.asked.load.timeout.as_secs_f64();
        let bound = asked::tightest(objective).map_or(patient, |tightest| tightest.min(patient)).max(0.05);
        let earliest = until - bound * 1e6 - 1.5e6;
        let all = self.trial.ticks();
        let near: Vec<&Line> = all.iter().copied().filter(|tick| tick.number("/to_us") >= earliest).collect();
        let broke: Vec<&Line> = near.iter().copied().filter(|tick| tick.number("/from_us") <= until).collect();
        if all_failed(&broke) > count(&broke, ErrorKind::Timeout) {
            return None;
        }
        let mut stood = near.into_iter().filter_map(|tick| {
            let stops = merged(&[tick], "/stalled");
            let longest = stops.quantile(1.0).filter(|longest| *longest >= bound)?;
            let began = (tick.number("/from_us") - longest * 1e6).max(0.0);
            let requests = stops.over(Span::from_secs_f64(bound).0, false);
            let end = tick.number("/to_us");
            let inside = |one: &&Line| one.number("/to_us") <= end && one.number("/to_us") > end - 1e6;
            let second: Vec<&Line> = all.iter().copied().filter(inside).collect();
            let many = self.asked.is_planned() || requests * 100.0 > sum(&second, "/ok") + all_failed(&second);
            let reason =
                json!({ "reason": "stalled", "longest": longest, "requests": requests as u64, "bound": bound });
            (many && began <= until + bound * 1e6).then(|| (reason, began.floor()))
        });
        stood.next()
    }

    /// Less than 99 of 100 planned requests were begun, and no server was the reason.
    fn short(&self) -> Found {
        let Arrivals::Rate { connections, spacing, .. } = self.asked.load.arrivals else { return None };
        let ticks = &self.ticks;
        let full = |tick: &&Line| tick.number("/connections").max(tick.number("/in_flight")) >= f64::from(connections);
        let refused = [ErrorKind::ConnectTimeout, ErrorKind::ConnectRefused, ErrorKind::ConnectOther];
        let slow = merged(ticks, "/connect").quantile(1.0).is_some_and(|longest| longest >= 0.5);
        let held = refused.iter().any(|kind| count(ticks, *kind) > 0.0) || slow || ticks.iter().any(full);
        if held || self.asked.is_told_by_a_file() {
            return None;
        }
        let planned = self.planned()?;
        let total: f64 = planned.iter().sum();
        let stray = if spacing == Spacing::Poisson { 3.0 * total.sqrt() } else { 0.0 };
        let begun = sum(ticks, "/sent")
            + ErrorKind::ALL.iter().filter(|kind| never_sent(**kind)).map(|kind| count(ticks, *kind)).sum::<f64>()
            + self.in_handshakes();
        if total < 100.0 || begun >= 0.99 * total - stray - 2.0 {
            return None;
        }
        let since = ticks.iter().zip(&planned).find(|(tick, planned)| tick.number("/sent") < **planned * 0.9 - 1.0);
        let since = since.map_or(0.0, |(tick, _)| tick.number("/from_us"));
        Some((json!({ "reason": "short", "fraction": begun / total }), since))
    }

    /// Connections over TLS that were opened and of which nothing became yet: they wait for the server.
    fn in_handshakes(&self) -> f64 {
        if !matches!(self.asked.load.transport, Transport::Tls(_)) {
            return 0.0;
        }
        let ticks = &self.ticks;
        let of_tls = |kind: &&ErrorKind| word(**kind).starts_with("tls_");
        let failed: f64 = ErrorKind::ALL.iter().filter(of_tls).map(|kind| count(ticks, *kind)).sum();
        let made = sum(ticks, "/handshakes/full") + sum(ticks, "/handshakes/resumed");
        (sum(ticks, "/opened") - made - failed).max(0.0)
    }

    /// Requests planned in each interval: the area under the level.
    fn planned(&self) -> Option<Vec<f64>> {
        let load = &self.asked.load;
        let mut before = if self.asked.ramp > 0.0 { 0.0 } else { self.ticks.first()?.number("/level") };
        let area = |tick: &&Line| {
            let (from, to) = (tick.number("/from_us") / 1e6, tick.number("/to_us") / 1e6);
            let level = std::mem::replace(&mut before, tick.number("/level"));
            match load.stages.as_slice() {
                [] => f64::midpoint(level, before) * (to - from),
                stages => area(stages, from, to),
            }
        };
        Some(self.ticks.iter().map(area).collect())
    }

    fn exhausted(&self, kind: ErrorKind, name: &str) -> Found {
        let some = |tick: &&&Line| count(&[tick], kind) > 0.0;
        let first = self.begun.iter().find(some)?;
        let since = first.found("/first_error_us").unwrap_or(first.number("/from_us"));
        Some((json!({ "reason": name, "count": count(&self.begun, kind) as u64 }), since))
    }

    /// Whether nothing failed but by responses of which the generator does not take so much.
    fn only_too_large(&self) -> Found {
        if count(&self.begun, ErrorKind::TooLarge) < all_failed(&self.begun) {
            None
        } else {
            self.exhausted(ErrorKind::TooLarge, "too_large")
        }
    }
}

/// The area under stages from one second to another.
fn area(stages: &[Stage], from: f64, to: f64) -> f64 {
    let (mut begin, mut sum) = (0.0, 0.0);
    for stage in stages {
        let end = begin + stage.lasts.as_secs_f64();
        let (a, b) = (from.clamp(begin, end), to.clamp(begin, end));
        if b > a {
            let at = |x: f64| stage.from + (stage.to - stage.from) * (x - begin) / (end - begin);
            sum += f64::midpoint(at(a), at(b)) * (b - a);
        }
        begin = end;
    }
    sum
}

/// A kind of error as records have it.
fn word(kind: ErrorKind) -> String {
    serde_json::to_value(kind).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Whether a request that failed so was never written: there was no connection for it, or no TLS or WebSocket on one.
fn never_sent(kind: ErrorKind) -> bool {
    let name = word(kind);
    ["connect_", "tls_", "upgrade_"].iter().any(|begin| name.starts_with(begin)) || name.ends_with("_exhausted")
}

/// All connections of an open load were busy, could not have carried what was planned, and the server answered no slower than under little
/// load.
fn connections(trial: &Trial<'_>, asked: &Asked, onset: &Onset, limits: &[Limit]) -> Found {
    let Arrivals::Rate { connections, .. } = asked.load.arrivals else { return None };
    let ticks = trial.ticks();
    let ticks: Vec<&Line> =
        ticks.into_iter().filter(|tick| tick.number("/from_us") <= onset.certain_us as f64).collect();
    if asked.is_told_by_a_file() || !is_of_waiting(onset, &ticks) {
        return None;
    }
    let unsent = |tick: &Line| tick.found("/waiting/unsent").filter(|_| asked.has_streams());
    let full = |tick: &&&Line| match unsent(tick) {
        Some(unsent) => unsent > 0.0,
        None => tick.number("/in_flight") > asked.most,
    };
    let first = ticks.iter().position(|tick| full(&tick))?;
    let busy: Vec<&Line> = ticks.iter().filter(full).copied().collect();
    let carried = busy.iter().filter_map(|tick| Some(tick.number("/in_flight") - unsent(tick)?)).reduce(f64::max);
    let most = carried.map_or(asked.most, |carried| carried.min(asked.most));
    let services = merged(&busy, "/service");
    let now = services.quantile(0.5).filter(|_| services.count() >= 20)?;
    let calm = ticks[..first].iter().map(|tick| merged(&[tick], "/service")).filter(|all| all.count() >= 20);
    let calm = calm.filter_map(|all| all.quantile(0.5)).reduce(f64::min);
    let alone = || {
        limits.iter().find_map(|limit| match &limit.law {
            Law::Delay { time } => Some(laws::longest(time, 0.5)),
            _ => None,
        })
    };
    let before = calm.or_else(alone).or_else(|| merged(&ticks, "/service").least());
    if before.is_some_and(|before| now >= 2.0 * before) {
        return None;
    }
    let service = services.sum() / services.count() as f64;
    let carries = most / service;
    let planned = busy.iter().map(|tick| tick.number("/level")).fold(0.0, f64::max);
    let reason = json!({ "reason": "connections", "connections": connections, "service": service, "carries": carries, "planned": planned });
    (planned >= carries).then(|| (reason, ticks[first].number("/from_us")))
}

/// Too few users for the rate that was asked for: each makes one request in the time that a request takes alone and the pause after it.
fn users(trial: &Trial<'_>, asked: &Asked, onset: &Onset, limits: &[Limit]) -> Found {
    let (Some(Condition::RateAbove(rate)), Arrivals::Users { count, think, .. }) =
        (onset.condition, &asked.load.arrivals)
    else {
        return None;
    };
    if asked.is_told_by_a_file() {
        return None;
    }
    let delay = limits.iter().find_map(|limit| match &limit.law {
        Law::Delay { time: Spread::Constant(time) } => Some(time.as_secs_f64()),
        _ => None,
    })?;
    let begun = trial.ticks().into_iter().filter(|tick| tick.number("/from_us") <= onset.certain_us as f64);
    let medians = begun.map(|tick| merged(&[tick], "/service")).filter(|all| all.count() >= 20);
    let alone = medians.filter_map(|all| all.quantile(0.5)).fold(delay, f64::min);
    let (users, each) = (f64::from(*count), alone + asked::mean(think));
    let needed = (rate.at * each).floor() + 1.0;
    let reason = json!({ "reason": "users", "users": users, "alone": alone, "carries": users / each, "wanted": rate.at, "needed": needed });
    (users / each < rate.at).then_some((reason, onset.at_us as f64))
}

/// Whether what is violated is that requests waited.
fn is_of_waiting(onset: &Onset, ticks: &[&Line]) -> bool {
    match onset.condition {
        Some(Condition::ErrorsBelow(_)) => {
            onset.unsent > 0 || 2.0 * count(ticks, ErrorKind::Dropped) > all_failed(ticks)
        }
        Some(Condition::LatencyBelow(..) | Condition::RateAbove(_)) => true,
        _ => false,
    }
}

/// What a load reached without a violation, as far as its generator is to be believed. Nothing, of one that came at once and broke.
pub(crate) fn held_to(trial: &Trial<'_>, asked: &Asked, broke: Option<f64>, generator: &Generator) -> f64 {
    if asked.ramp < STEEP && broke.is_some() {
        return 0.0;
    }
    let ticks = trial.ticks();
    let reached = ticks.iter().map(|tick| tick.number("/level")).fold(0.0, f64::max);
    let trusted = generator.since.map(|since| instants::gauge(&ticks, since, "/level"));
    broke.into_iter().chain(trusted).fold(reached, f64::min)
}
