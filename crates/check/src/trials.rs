//! Trials in sum, their breaks, and what speaks for causes.

use serde_json::Value as Json;

use crate::events::{Events, Line, Trial, all_failed, failed, merged, sum, sum_where};
use crate::expected::Expected;
use crate::load::{asked, by_key};

/// What the events say of `trials` and `causes` of a search or a load.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    let items = |name: &str| verdict.get(name).and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    for (i, finding) in items("trials").iter().enumerate() {
        let Some(trial) = named(events, finding, &format!("/trials/{i}"), expected) else { continue };
        // A search for requests that are held open has trials of its own.
        if finding.get("lasted").is_some() {
            whole(&format!("/trials/{i}"), finding, &trial, expected);
        }
    }
    for (i, cause) in items("causes").iter().enumerate() {
        let address = format!("/causes/{i}");
        let Some(trial) = named(events, cause, &address, expected) else { continue };
        broke(&format!("{address}/broke"), cause.get("broke"), &trial, expected);
        evidence(&address, cause, &trial, expected);
        counterfactual(&format!("{address}/counterfactual"), cause.get("counterfactual"), events, expected);
    }
    client(events, verdict, expected);
}

/// The trial that a finding names, which must be there.
pub(crate) fn named<'e>(
    events: &'e Events,
    finding: &Json,
    address: &str,
    expected: &mut Expected,
) -> Option<Trial<'e>> {
    let trial = events.trial_of(finding.get("trial"));
    let start = trial.as_ref().map(|trial| trial.start.number);
    expected.is(format!("{address}/trial"), trial.as_ref().map(|trial| f64::from(trial.number)), start);
    trial
}

fn whole(address: &str, finding: &Json, trial: &Trial<'_>, expected: &mut Expected) {
    let (ticks, line) = (trial.ticks(), trial.first());
    let (ok, failed) = (sum(&ticks, "/ok"), all_failed(&ticks));
    // Of the time that intervals cover.
    let seconds: f64 = ticks.iter().map(|tick| (tick.number("/to_us") - tick.number("/from_us")) / 1e6).sum();
    let rate = if seconds > 0.0 { ok / seconds } else { 0.0 };
    expected.is(format!("{address}/asked"), asked(trial.start), Some(trial.start.number));
    for (name, value) in [("lasted", trial.lasted()), ("finished", ok + failed), ("failed", failed), ("rate", rate)] {
        expected.is(format!("{address}/{name}"), value, line);
    }
    expected.is(format!("{address}/retried"), sum(&ticks, "/retried"), line);
    by_key(finding, (address, "errors"), ("errors", "kind"), &ticks, line, expected);
    merged(&ticks, "/latency").expect(&format!("{address}/latency"), line, expected);
    merged(&ticks, "/service").expect(&format!("{address}/service"), line, expected);
    sums(address, finding, &ticks, line, expected);
    flows(address, finding, trial, expected);
    used(address, finding, trial, expected);
    broke(&format!("{address}/broke"), finding.get("broke"), trial, expected);
    generator(&format!("{address}/client"), &ticks, line, expected);
}

/// Counters that intervals have by the same names.
fn sums(address: &str, finding: &Json, ticks: &[&Line], line: Option<usize>, expected: &mut Expected) {
    for part in ["handshakes", "messages", "disconnects", "goaways"] {
        for (name, _) in
            finding.get(part).and_then(Json::as_object).into_iter().flatten().filter(|(_, value)| value.is_number())
        {
            expected.is(format!("{address}/{part}/{name}"), sum(ticks, &format!("/{part}/{name}")), line);
        }
    }
    for (part, name) in [("handshakes", "took"), ("disconnects", "silent")] {
        if finding.get(part).is_some_and(Json::is_object) {
            merged(ticks, &format!("/{part}/{name}")).expect(&format!("{address}/{part}/{name}"), line, expected);
        }
    }
    let closes = finding.pointer("/messages/closes").and_then(Json::as_array);
    for (i, close) in closes.into_iter().flatten().enumerate() {
        let Some(code) = close.get("code") else { continue };
        let count = sum_where(ticks, "/messages/closes", ("code", code), "count");
        expected.is(format!("{address}/messages/closes/{i}/count"), count, line);
    }
}

fn flows(address: &str, finding: &Json, trial: &Trial<'_>, expected: &mut Expected) {
    let (ticks, line, lasted) = (trial.ticks(), trial.first(), trial.lasted());
    let Some(counts) = finding.pointer("/flows/counts").and_then(Json::as_object) else { return };
    for (name, _) in counts.iter().filter(|(_, value)| value.is_number()) {
        expected.is(format!("{address}/flows/counts/{name}"), sum(&ticks, &format!("/flows/{name}")), line);
    }
    for (list, fields) in [("steps", ["ok", "failed"]), ("checks", ["passed", "failed"])] {
        for (i, item) in counts.get(list).and_then(Json::as_array).into_iter().flatten().enumerate() {
            let Some(position) = item.get("position") else { continue };
            let of = |field: &str| sum_where(&ticks, &format!("/flows/{list}"), ("position", position), field);
            for field in fields {
                expected.is(format!("{address}/flows/counts/{list}/{i}/{field}"), of(field), line);
            }
            if list == "steps" {
                let step = format!("{address}/flows/steps/{i}");
                expected.is(format!("{step}/ok"), of("ok"), line);
                expected.is(format!("{step}/failed"), of("failed"), line);
                expected.is(format!("{step}/rate"), if lasted > 0.0 { of("ok") / lasted } else { 0.0 }, line);
                let mut took = crate::distribution::Distribution::default();
                let all = ticks.iter().flat_map(|tick| tick.items("/flows/steps"));
                let mine = all.filter(|one| one.get("position") == Some(position));
                mine.filter_map(|one| one.get("took")?.as_str()).for_each(|payload| took.add(payload));
                took.expect(&format!("{step}/took"), line, expected);
            }
        }
    }
}

fn used(address: &str, finding: &Json, trial: &Trial<'_>, expected: &mut Expected) {
    let (Some(end), Some(used)) = (trial.end(), finding.get("used").and_then(Json::as_object)) else { return };
    for name in used.keys() {
        expected.is(format!("{address}/used/{name}"), end.number(&format!("/client/{name}")), Some(end.number));
    }
}

/// The generator's check of itself is up to the break: no more than in the whole trial.
fn generator(address: &str, ticks: &[&Line], line: Option<usize>, expected: &mut Expected) {
    let lateness = merged(ticks, "/lateness");
    expected.within(format!("{address}/lateness/count"), 0.0, lateness.count() as f64, line);
    if let Some(most) = lateness.quantile(1.0) {
        for name in ["min", "p50", "p90", "p95", "p99", "p999", "max", "mean"] {
            expected.within(format!("{address}/lateness/{name}"), 0.0, most, line);
        }
    }
    let part = |tick: &&Line| {
        let long = tick.number("/to_us") - tick.number("/from_us");
        if long > 0.0 { tick.number("/cpu_max_us") / long } else { 0.0 }
    };
    let busiest = ticks.iter().map(part).fold(0.0, f64::max);
    // Intervals are shorter than the second it is of; clocks of threads tick a little coarser than the load's.
    expected.within(format!("{address}/cpu_max"), 0.0, busiest * 1.05 + 0.01, line);
}

/// The generator over all trials: the lateness of all requests, and the busiest second of any.
fn client(events: &Events, verdict: &Json, expected: &mut Expected) {
    if verdict.get("client").is_none_or(|client| client.get("lateness").is_none()) {
        return;
    }
    let judged = verdict.get("trials").and_then(Json::as_array).into_iter().flatten();
    let trials: Vec<Trial<'_>> = judged.filter_map(|finding| events.trial_of(finding.get("trial"))).collect();
    let ticks: Vec<&Line> = trials.iter().flat_map(Trial::ticks).collect();
    let line = ticks.first().map(|tick| tick.number);
    generator("/client", &ticks, line, expected);
}

/// A break: counters from its moment on, and gauges between those of the intervals around it.
fn broke(address: &str, broke: Option<&Json>, trial: &Trial<'_>, expected: &mut Expected) {
    let Some(broke) = broke.filter(|broke| broke.is_object()) else { return };
    let Some(at) = broke.get("at").and_then(Json::as_f64) else { return };
    let (ticks, at_us) = (trial.ticks(), at * 1e6);
    let there = ticks.iter().find(|tick| tick.number("/to_us") >= at_us);
    let line = there.map(|tick| tick.number).or(trial.first());
    expected.within(format!("{address}/at"), 0.0, trial.lasted() + 1.0, line);
    for name in ["level", "connections", "in_flight"] {
        let (low, high) = around(&ticks, at_us, &format!("/{name}"));
        // Users who do not think are one client each, whatever they wait for at the end of an interval.
        let most = most(&ticks, &format!("/{name}")).max(most(&ticks, "/level"));
        let (low, high) = if name == "level" { (low, high + 1.0) } else { (0.0, high.max(most)) };
        expected.within(format!("{address}/{name}"), low, high, line);
        expected.within(format!("{address}/later/{name}"), 0.0, high.max(most), line);
    }
    expected.within(format!("{address}/later/at"), at, trial.lasted() + 1.0, line);
    errors(address, broke, &ticks, at_us, line, expected);
    seen(address, broke, trial, at_us, line, expected);
}

fn most(ticks: &[&Line], pointer: &str) -> f64 {
    let opened = if pointer == "/in_flight" { sum(ticks, "/handshakes/upgraded") } else { 0.0 };
    ticks.iter().map(|tick| tick.number(pointer)).fold(opened, f64::max)
}

/// The smallest and the largest value of a gauge at the ends of the intervals around a moment, and at the first failures.
fn around(ticks: &[&Line], at_us: f64, pointer: &str) -> (f64, f64) {
    let next = ticks.iter().position(|tick| tick.number("/to_us") >= at_us).unwrap_or(ticks.len().saturating_sub(1));
    let before = next.checked_sub(1).map_or(0.0, |i| ticks[i].number(pointer));
    let after = ticks.get(next).map_or(before, |tick| tick.number(pointer));
    (before.min(after), before.max(after))
}

/// Failures by kind from the break on. Requests that still waited may be told among timeouts and drops.
fn errors(address: &str, broke: &Json, ticks: &[&Line], at_us: f64, line: Option<usize>, expected: &mut Expected) {
    let after: Vec<&Line> = ticks.iter().copied().filter(|tick| tick.number("/to_us") > at_us - 1.0).collect();
    let waiting = after.iter().map(|tick| tick.number("/in_flight")).fold(0.0, f64::max);
    for (i, error) in broke.get("errors").and_then(Json::as_array).into_iter().flatten().enumerate() {
        let Some(kind) = error.get("kind") else { continue };
        let counted = sum_where(&after, "/errors", ("kind", kind), "count");
        let ended = if kind == "closed" { sum(&after, "/disconnects/closed") } else { sum(&after, "/disconnects/cut") };
        let place = format!("{address}/errors/{i}/count");
        match kind.as_str() {
            Some("timeout" | "dropped") => expected.within(place, counted, counted + waiting, line),
            _ if ended > 0.0 => expected.within(place, counted, counted + ended, line),
            _ => expected.is(place, counted, line),
        }
    }
}

/// What was seen instead of the objective: by the counters alone, or with all that waited counted as failed.
fn seen(address: &str, broke: &Json, trial: &Trial<'_>, at_us: f64, line: Option<usize>, expected: &mut Expected) {
    let condition = broke.get("condition").and_then(Json::as_str).unwrap_or_default();
    let ticks: Vec<&Line> = trial.ticks().into_iter().filter(|tick| tick.number("/to_us") > at_us).collect();
    if condition.starts_with("errors") {
        let part = |tick: &&Line, waiting: f64| {
            let bad = failed(tick) + waiting;
            let all = bad + tick.number("/ok");
            if all > 0.0 { bad / all } else { 0.0 }
        };
        let high = ticks.iter().map(|tick| part(tick, tick.number("/in_flight"))).fold(0.0, f64::max);
        let any = ticks.iter().any(|tick| failed(tick) + tick.number("/in_flight") > 0.0);
        expected.within(
            format!("{address}/seen"),
            0.0,
            if any { high.max(trial.waiting().min(1.0)) } else { 0.0 },
            line,
        );
    } else if condition.starts_with('p') || condition.starts_with("max") {
        let all = merged(&ticks, "/latency");
        let bound = condition.rsplit(['<', '=']).next().map_or(0.0, |text| crate::events::span(text.trim()));
        expected.within(format!("{address}/seen"), 0.0, all.quantile(1.0).unwrap_or(0.0).max(bound), line);
    }
}

/// What speaks for a cause was really seen: lines of a log were counted, values of metrics sampled.
fn evidence(address: &str, cause: &Json, trial: &Trial<'_>, expected: &mut Expected) {
    let ticks = trial.ticks();
    for (i, one) in cause.get("evidence").and_then(Json::as_array).into_iter().flatten().enumerate() {
        let place = format!("{address}/evidence/{i}");
        if let Some(signature) = one.get("signature") {
            let lines: Vec<&Line> =
                trial.of("log").filter(|line| line.json.get("signature") == Some(signature)).collect();
            let first = lines.first().map(|line| line.number).or(Some(trial.start.number));
            expected.within(format!("{place}/count"), 1.0, sum(&lines, "/count"), first);
        }
        if let Some(metric) = one.get("metric").and_then(Json::as_str) {
            sampled(&place, metric, trial, expected);
        }
        for (k, error) in one.get("errors").and_then(Json::as_array).into_iter().flatten().enumerate() {
            let Some(kind) = error.get("kind") else { continue };
            let counted = sum_where(&ticks, "/errors", ("kind", kind), "count");
            let ended = sum(&ticks, "/disconnects/closed") + sum(&ticks, "/disconnects/cut");
            let waiting = if kind == "timeout" || kind == "dropped" { most(&ticks, "/in_flight") } else { ended };
            expected.within(format!("{place}/errors/{k}/count"), 0.0, counted + waiting, trial.first());
        }
    }
}

/// A metric's values lie between the smallest and the largest that were sampled.
fn sampled(place: &str, metric: &str, trial: &Trial<'_>, expected: &mut Expected) {
    let with = |line: &&Line| line.json.get("metrics").and_then(|all| all.get(metric)).is_some();
    let lines: Vec<&Line> = trial.of("sample").filter(with).collect();
    let values = lines.iter().filter_map(|line| line.json["metrics"][metric].as_f64());
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let first = lines.first().map(|line| line.number);
    for name in ["value", "from", "to"] {
        if low <= high {
            expected.within(format!("{place}/{name}"), low, high, first);
        }
    }
}

/// Changing one setting alone: the trial it names, and how far that one went.
fn counterfactual(address: &str, finding: Option<&Json>, events: &Events, expected: &mut Expected) {
    let Some(finding) = finding.filter(|one| one.is_object()) else { return };
    let Some(trial) = named(events, finding, address, expected) else { return };
    let start = Some(trial.start.number);
    let most = trial.ticks().iter().map(|tick| tick.number("/level")).fold(0.0, f64::max);
    expected.within(format!("{address}/held_to"), 0.0, most.max(asked(trial.start)), start);
    broke(&format!("{address}/observed"), finding.get("observed"), &trial, expected);
}
