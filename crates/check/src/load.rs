//! A plain load in sum.

use genkai_model::objective::{Bound, Condition};
use serde_json::Value as Json;

use crate::events::{Events, Line, Trial, all_failed, failed, merged, sum, sum_where};
use crate::expected::Expected;
use crate::scan;

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
    thresholds(events, trial, expected);
}

fn counts(trial: &Trial<'_>, expected: &mut Expected) {
    let (ticks, line) = (trial.ticks(), trial.first());
    let (ok, failed, waiting) = (sum(&ticks, "/ok"), all_failed(&ticks), trial.waiting());
    for name in ["sent", "bytes_in", "bytes_out", "retried"] {
        expected.is(format!("/load/{name}"), sum(&ticks, &format!("/{name}")), line);
    }
    let figures = [("planned", ok + failed + waiting), ("ok", ok), ("failed", failed), ("in_flight", waiting)];
    figures.into_iter().for_each(|(name, value)| expected.is(format!("/load/{name}"), value, line));
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
    for (i, item) in owner.get(list).and_then(Json::as_array).into_iter().flatten().enumerate() {
        let Some(wanted) = item.get(key) else { continue };
        let first = ticks.iter().find(|tick| tick.items(&from).iter().any(|one| one.get(key) == Some(wanted)));
        let count = sum_where(ticks, &from, (key, wanted), "count");
        expected.is(format!("{address}/{list}/{i}/count"), count, first.map(|tick| tick.number).or(line));
    }
}

fn thresholds(events: &Events, trial: &Trial<'_>, expected: &mut Expected) {
    let (ticks, line) = (trial.ticks(), trial.first());
    let objective = events.head().text("/plan/objective").to_owned();
    for (i, condition) in objective.split(',').map(str::trim).enumerate() {
        let name = condition.split(['<', '>']).next().unwrap_or_default().trim();
        if let Some(seen) = seen(name, trial, &ticks) {
            expected.is(format!("/load/thresholds/{i}/seen"), seen, line);
        }
    }
}

/// What a condition of this name speaks of, over the whole trial; none where it is not known here. The inner none: nothing to judge.
#[expect(clippy::option_option, reason = "not known here, and nothing to judge, are two things")]
fn seen(name: &str, trial: &Trial<'_>, ticks: &[&Line]) -> Option<Option<f64>> {
    let (ok, bad): (f64, f64) = (sum(ticks, "/ok"), ticks.iter().map(|tick| failed(tick)).sum());
    let part = |bad: f64, all: f64| (all > 0.0).then(|| bad / all);
    match name {
        "errors" => Some(part(bad, ok + bad)),
        "rate" => Some(Some(ok / trial.lasted()).filter(|rate| rate.is_finite())),
        "connects" => {
            let (opened, failed) = (sum(ticks, "/handshakes/upgraded"), sum(ticks, "/handshakes/failed"));
            Some(part(failed, opened + failed).map(|bad| 1.0 - bad))
        }
        "delivered" => {
            let (lost, all) = scan::share(ticks, Condition::DeliveredAbove(Bound::excluding(0.0)));
            Some(part(lost, all).map(|bad| 1.0 - bad))
        }
        _ => {
            let digits = name.strip_prefix('p').and_then(|digits| digits.parse::<f64>().ok());
            let q = if name == "max" { Some(1.0) } else { digits.map(|percent| percent / 100.0) };
            q.map(|q| merged(ticks, "/latency").quantile(q))
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
