//! A plain load in sum.

use genkai_model::load::Protocol;
use genkai_model::objective::Condition;
use serde_json::{Value as Json, json};

use crate::asked::Asked;
use crate::events::{Events, Line, Trial, all_failed, failed, merged, sum, sum_where};
use crate::expected::Expected;
use crate::{asked, left, overdue, scan};

/// What the events say of `load`.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    let Some(load) = verdict.get("load").filter(|load| load.is_object()) else { return };
    let trials = events.trials();
    let Some(trial) = trials.first() else { return };
    counts(trial, expected);
    over_time(trial, expected);
    let line = trial.first();
    let ticks = trial.ticks();
    for name in ["latency", "service", "failed_after"] {
        merged(&ticks, &format!("/{name}")).expect(&format!("/load/{name}"), line, expected);
    }
    // Users who ask as soon as they are answered have nothing to be late for.
    if load.get("lateness").is_some() || !asks_at_once(trial.start) {
        merged(&ticks, "/lateness").expect("/load/lateness", line, expected);
    }
    merged(&ticks, "/connect").expect("/load/connections/connect", line, expected);
    lists(load, &ticks, line, expected);
    if let Some(all) = thresholds(events) {
        told(&all, line, expected);
    }
}

fn counts(trial: &Trial<'_>, expected: &mut Expected) {
    let (ticks, line) = (trial.ticks(), trial.first());
    let (ok, failed, waiting) = (sum(&ticks, "/ok"), all_failed(&ticks), trial.waiting());
    for name in ["sent", "bytes_in", "bytes_out", "retried", "surplus"] {
        expected.is(format!("/load/{name}"), sum(&ticks, &format!("/{name}")), line);
    }
    let follows = trial.start.items("/load/scenario/flows").iter().any(leads_on);
    let redirected: Option<f64> = ticks.iter().map(|tick| tick.found("/redirected")).sum();
    expected.is("/load/redirected", redirected.filter(|_| follows && !ticks.is_empty()), line);
    if let Some(paced) = pauses(&ticks) {
        expected.is("/load/paced", paced, line);
    }
    let figures = [("planned", ok + failed + waiting), ("ok", ok), ("failed", failed), ("in_flight", waiting)];
    figures.into_iter().for_each(|(name, value)| expected.is(format!("/load/{name}"), value, line));
    if Asked::of(trial).is_some_and(|asked| !matches!(asked.load.protocol, Protocol::WebSocket(_))) {
        let hung = left::lasting(&ticks).min(waiting);
        expected.is("/load/hung", (hung > 0.0).then_some(hung), line);
    }
    let highest = ticks.iter().map(|tick| tick.number("/level")).fold(0.0, f64::max);
    // So many users at most have asked: one request each at least.
    let plain = |asked: &Asked| {
        asked.users && asked.load.scenario.is_none() && !matches!(asked.load.protocol, Protocol::WebSocket(_))
    };
    let some = Asked::of(trial).is_some_and(|asked| plain(&asked));
    let highest = if some { highest.min(ok + failed + waiting) } else { highest };
    let lasted = ticks.last().map_or(0.0, |tick| tick.number("/to_us") / 1e6);
    // Between two intervals stages may have their peak.
    let passed = |asked: &Asked| !asked.load.stages.is_empty() && lasted >= asked.ramp;
    let short =
        Asked::of(trial).is_some_and(|asked| !ticks.is_empty() && highest / asked.level < 0.999 && !passed(&asked));
    expected.is("/load/reached", short.then_some(highest), line);
    expected.is("/load/connections/opened", sum(&ticks, "/opened"), line);
    expected.is("/load/connections/closed_idle", sum(&ticks, "/closed_idle"), line);
    let counted = ticks.iter().filter_map(|tick| tick.found("/most")).reduce(f64::max);
    let seen = ticks.iter().map(|tick| tick.number("/connections")).fold(0.0, f64::max);
    // Where nobody counted, intervals see connections at their ends only; with none at any end, nobody looked when there was one.
    let most = counted.unwrap_or(seen);
    expected.is("/load/connections/most", (most > 0.0).then_some(most), line);
    if let Some(end) = trial.end() {
        expected.is("/load/memory", end.number("/client_rss"), Some(end.number));
    }
}

/// Whether anything in these steps follows a redirection.
fn leads_on(steps: &Json) -> bool {
    match steps {
        Json::Array(all) => all.iter().any(leads_on),
        Json::Object(fields) => {
            let follows = fields.get("redirects").and_then(Json::as_u64).is_some_and(|most| most > 0);
            follows || fields.values().any(leads_on)
        }
        _ => false,
    }
}

/// Pauses after failures; none where an interval has not counted them.
pub(crate) fn pauses(ticks: &[&Line]) -> Option<f64> {
    ticks.iter().map(|tick| tick.found("/paced")).sum()
}

fn over_time(trial: &Trial<'_>, expected: &mut Expected) {
    let (ticks, line, lasted) = (trial.ticks(), trial.first(), trial.lasted());
    let rate = |n: f64| if lasted > 0.0 { n / lasted } else { 0.0 };
    let ok = sum(&ticks, "/ok");
    expected.is("/load/lasted", lasted, trial.end().map(|end| end.number).or(line));
    expected.is("/load/rate", rate(ok + all_failed(&ticks)), line);
    expected.is("/load/ok_rate", rate(ok), line);
    expected.is("/load/cpu", rate(sum(&ticks, "/cpu_us")) / 1e6, line);
    expected.is("/load/cpu_busiest", rate(sum(&ticks, "/cpu_max_us")) / 1e6, line);
    let seconds = whole_seconds(&ticks);
    let n = seconds.len() as f64;
    if n == 0.0 {
        return;
    }
    let mean = seconds.iter().sum::<f64>() / n;
    let squares: f64 = seconds.iter().map(|x| (x - mean).powi(2)).sum();
    let stdev = if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
    let min = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let max = seconds.iter().copied().fold(0.0, f64::max);
    for (name, value) in [("count", n), ("min", min), ("mean", mean), ("stdev", stdev), ("max", max)] {
        expected.is(format!("/load/seconds/{name}"), value, line);
    }
}

/// Successes a second in each second; an interval that ends up to a twentieth early ends a second.
fn whole_seconds(ticks: &[&Line]) -> Vec<f64> {
    let (mut all, mut ok, mut began) = (Vec::new(), 0.0, 0.0);
    for tick in ticks {
        ok += tick.number("/ok");
        let seconds = (tick.number("/to_us") - began) / 1e6;
        if seconds >= 0.95 {
            all.push(ok / seconds);
            (ok, began) = (0.0, tick.number("/to_us"));
        }
    }
    all
}

fn lists(load: &Json, ticks: &[&Line], line: Option<usize>, expected: &mut Expected) {
    for (list, key) in [("statuses", "status"), ("errors", "kind")] {
        by_key(load, ("/load", list), (list, key), ticks, line, expected);
    }
}

/// A list of counts, each with what it counts beside it; `from` is the list's name in intervals.
pub(crate) fn by_key(
    owner: &Json,
    (address, list): (&str, &str),
    (from, key): (&str, &str),
    ticks: &[&Line],
    line: Option<usize>,
    expected: &mut Expected,
) {
    let from = format!("/{from}");
    let first = |wanted: &Json| {
        ticks
            .iter()
            .find(|tick| tick.items(&from).iter().any(|one| one.get(key) == Some(wanted)))
            .map(|tick| tick.number)
    };
    for (i, item) in owner.get(list).and_then(Json::as_array).into_iter().flatten().enumerate() {
        let Some(wanted) = item.get(key) else { continue };
        let count = sum_where(ticks, &from, (key, wanted), "count");
        expected.is(format!("{address}/{list}/{i}/count"), count, first(wanted).or(line));
    }
    let mut seen: Vec<&Json> = Vec::new();
    for one in ticks.iter().flat_map(|tick| tick.items(&from)) {
        let Some(wanted) = one.get(key).filter(|wanted| one["count"] != 0 && !seen.contains(wanted)) else { continue };
        seen.push(wanted);
        expected.lists.tells(
            format!("{address}/{list}"),
            json!({ key: wanted }),
            "as intervals have it",
            first(wanted),
        );
    }
}

/// A condition over a whole load.
pub(crate) struct Threshold {
    condition: Condition,
    /// What was seen, where anything came to judge by.
    pub(crate) seen: Option<f64>,
    /// How many of those in flight at the end it speaks of, too.
    waiting: f64,
    /// How many of them hang, where it would not hold if these failed.
    pub(crate) undecided: f64,
    /// Whether it holds, which needs something to be judged by.
    pub(crate) holds: bool,
}

/// The conditions of a plain load, each over all of it; none of a search.
pub(crate) fn thresholds(events: &Events) -> Option<Vec<Threshold>> {
    let trials = events.trials();
    let trial = trials.first().filter(|trial| trial.start.text("/purpose") == "measure")?;
    let ticks = trial.ticks();
    let asked = Asked::of(trial)?;
    let judged = |condition: Condition| {
        let of_requests =
            matches!(condition, Condition::ErrorsBelow(_)) && !matches!(asked.load.protocol, Protocol::WebSocket(_));
        let overdue = if of_requests { overdue::of(&ticks, &asked) } else { 0.0 };
        let (seen, waiting) = (seen(condition, trial, &ticks), left::waiting(condition, &ticks) + overdue);
        let fails = |more: f64| more > 0.0 && left::fails_with(condition, more, &ticks);
        let holds = seen.is_some_and(|seen| condition.holds(seen)) && !fails(waiting);
        let lasting = if of_requests && holds { left::lasting(&ticks) } else { 0.0 };
        let undecided = if fails(lasting) { lasting } else { 0.0 };
        Threshold { condition, seen, waiting, undecided, holds }
    };
    Some(asked::objective(events).0.into_iter().map(judged).collect())
}

fn told(thresholds: &[Threshold], line: Option<usize>, expected: &mut Expected) {
    for (i, one) in thresholds.iter().enumerate() {
        let address = format!("/load/thresholds/{i}");
        expected.is(format!("{address}/seen"), one.seen, line);
        if one.waiting > 0.0 {
            expected.is(format!("{address}/waiting"), one.waiting, line);
        }
        if one.undecided > 0.0 {
            expected.is(format!("{address}/undecided"), one.undecided, line);
        }
        expected.word(format!("{address}/holds"), one.holds, "by what was seen over the whole load", line);
        expected.word(format!("{address}/condition"), one.condition.to_string(), "as asked", line);
    }
    expected.there(format!("/load/thresholds/{}", thresholds.len()), false, "no more was asked", line);
}

/// What a condition speaks of, over a whole trial; none: nothing to judge it by.
fn seen(condition: Condition, trial: &Trial<'_>, ticks: &[&Line]) -> Option<f64> {
    let (ok, bad): (f64, f64) = (sum(ticks, "/ok"), ticks.iter().map(|tick| failed(tick)).sum());
    let part = |(bad, all): (f64, f64)| (all > 0.0).then(|| bad / all);
    match condition {
        Condition::ErrorsBelow(_) => part((bad, ok + bad)),
        Condition::RateAbove(_) => Some(ok / trial.lasted()).filter(|rate| rate.is_finite()),
        Condition::LatencyBelow(q, _) => merged(ticks, "/latency").quantile(q),
        Condition::DisconnectsBelow(_) => part(scan::share(0.0, ticks, condition)),
        Condition::ConnectsAbove(_) | Condition::DeliveredAbove(_) => {
            part(scan::share(0.0, ticks, condition)).map(|bad| 1.0 - bad)
        }
    }
}

/// Whether the load is of users who do not think.
fn asks_at_once(start: &Line) -> bool {
    let think = start.text("/load/arrivals/think");
    start.found("/load/arrivals/count").is_some() && crate::events::span(think) == 0.0
}

/// The users, or requests a second, that a load asks for.
pub(crate) fn asked(start: &Line) -> f64 {
    let users = start.found("/load/arrivals/count");
    users.or_else(|| start.found("/load/arrivals/per_second")).unwrap_or(0.0)
}
