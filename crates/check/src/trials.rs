//! Trials in sum, their breaks, and what speaks for causes.

use serde_json::Value as Json;

use crate::broken::{self, Judged};
use crate::events::{Events, Line, Trial, all_failed, merged, rate, sum, sum_where};
use crate::expected::Expected;
use crate::load::{asked, by_key};
use crate::{predictions, proof};

/// What the events say of `trials` and `causes` of a search or a load.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    let items = |name: &str| verdict.get(name).and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    // A search for requests that are held open has trials of its own.
    let of_load = verdict.get("decision").is_some();
    let judged: Vec<Judged<'_>> = match of_load {
        true => events.trials().iter().filter_map(|trial| Judged::of(events, trial)).collect(),
        false => Vec::new(),
    };
    let of = |number: u32| judged.iter().find(|one| one.trial.number == number);
    for (i, finding) in items("trials").iter().enumerate() {
        let Some(trial) = named(events, finding, &format!("/trials/{i}"), expected) else { continue };
        if let Some(judged) = of(trial.number) {
            whole(&format!("/trials/{i}"), finding, judged, expected);
        }
    }
    for (i, cause) in items("causes").iter().enumerate() {
        let address = format!("/causes/{i}");
        let Some(trial) = named(events, cause, &address, expected) else { continue };
        if let Some(judged) = of(trial.number) {
            broken::expect(&format!("{address}/broke"), cause.get("broke"), judged, expected);
        }
        evidence(&address, cause, &trial, expected);
        let lifted = cause.get("counterfactual").filter(|one| one.is_object());
        if let Some((finding, judged)) = lifted.and_then(|one| Some((one, of(one.get("trial")?.as_u64()? as u32)?))) {
            counterfactual(&format!("{address}/counterfactual"), finding, judged, expected);
        }
    }
    client(events, verdict, &judged, expected);
    if of_load {
        predictions::expect(events, verdict, &judged, expected);
        proof::expect(events, verdict, &judged, expected);
    }
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

fn whole(address: &str, finding: &Json, judged: &Judged<'_>, expected: &mut Expected) {
    let trial = &judged.trial;
    let (ticks, line) = (trial.ticks(), trial.first());
    let (ok, failed) = (sum(&ticks, "/ok"), all_failed(&ticks));
    // Of the time that intervals cover.
    let rate = rate(&ticks);
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
    broken::expect(&format!("{address}/broke"), finding.get("broke"), judged, expected);
    broken::generator(&format!("{address}/client"), judged, expected);
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

/// The generator over all trials that the answer rests on: the lateness of all requests, and the busiest second of any.
fn client(events: &Events, verdict: &Json, judged: &[Judged<'_>], expected: &mut Expected) {
    if verdict.get("client").is_none_or(|client| client.get("cpu_max").is_none()) {
        return;
    }
    let findings = verdict.get("trials").and_then(Json::as_array).into_iter().flatten();
    // What a backend says by itself counts only where its generator was good enough.
    let rests = |finding: &&Json| {
        finding.get("purpose").and_then(Json::as_str) != Some("direct")
            || finding.pointer("/client/valid") == Some(&Json::Bool(true))
    };
    let trials: Vec<Trial<'_>> = findings.filter(rests).filter_map(|one| events.trial_of(one.get("trial"))).collect();
    let ticks: Vec<&Line> = trials.iter().flat_map(Trial::ticks).collect();
    let line = ticks.first().map(|tick| tick.number);
    let planned: Vec<&Line> =
        judged.iter().filter(|one| one.asked.is_planned()).flat_map(|one| one.trial.ticks()).collect();
    let planned: Vec<&Line> =
        ticks.iter().copied().filter(|tick| planned.iter().any(|one| one.number == tick.number)).collect();
    broken::few("/client/lateness", &merged(&planned, "/lateness"), line, expected);
    broken::few("/client/receipt", &merged(&ticks, "/receipt"), line, expected);
    let of = |trial: &Trial<'_>| judged.iter().find(|one| one.trial.number == trial.number).map(Judged::busiest);
    expected.is("/client/cpu_max", trials.iter().filter_map(of).fold(0.0, f64::max), line);
}

fn most(ticks: &[&Line], pointer: &str) -> f64 {
    ticks.iter().map(|tick| tick.number(pointer)).fold(0.0, f64::max)
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

/// Changing one setting alone: the trial it names, what became of the break, and how far that one went.
fn counterfactual(address: &str, finding: &Json, judged: &Judged<'_>, expected: &mut Expected) {
    let start = Some(judged.trial.start.number);
    expected.is(format!("{address}/trial"), f64::from(judged.trial.number), start);
    let trusted = judged.trial.ticks().iter().map(|tick| tick.number("/level")).fold(0.0, f64::max);
    expected.within(format!("{address}/held_to"), 0.0, trusted.max(judged.asked.level), start);
    broken::expect(&format!("{address}/observed"), finding.get("observed"), judged, expected);
}
