//! Trials in sum, their breaks, and what speaks for causes.

use genkai_model::evidence::metric;
use serde_json::Value as Json;

use crate::answer::Over;
use crate::broken::{self, Judged};
use crate::events::{Events, Line, Trial, all_failed, grown, merged, rate, sum, sum_where};
use crate::expected::Expected;
use crate::generator::Generator;
use crate::load::{self, asked, by_key};
use crate::search::Search;
use crate::{caveats, predictions, proof, unusable, workers};

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
    for (i, one) in judged.iter().enumerate() {
        let (address, line) = (format!("/trials/{i}"), Some(one.trial.start.number));
        expected.word(format!("{address}/trial"), one.trial.number, "the trials in their order", line);
        expected.word(format!("{address}/purpose"), one.trial.start.text("/purpose"), "as it began", line);
    }
    for (i, finding) in items("trials").iter().enumerate() {
        let Some(trial) = named(events, finding, &format!("/trials/{i}"), expected) else { continue };
        if let Some(judged) = of(trial.number) {
            whole(&format!("/trials/{i}"), finding, judged, expected);
        }
    }
    if !of_load {
        for (i, cause) in items("causes").iter().enumerate() {
            named(events, cause, &format!("/causes/{i}"), expected);
        }
    }
    for (i, cause) in items("causes").iter().enumerate() {
        if let Some(judged) = cause.get("trial").and_then(Json::as_u64).and_then(|number| of(number as u32)) {
            broken::expect(&format!("/causes/{i}/broke"), judged, expected);
        }
    }
    for (i, caveat) in items("caveats").iter().enumerate() {
        let address = format!("/caveats/{i}");
        match caveat.get("caveat").and_then(Json::as_str) {
            Some("answered_before") => {
                let Some(trial) = named(events, caveat, &address, expected) else { continue };
                let account = crate::caveats::account(&trial).unwrap_or(metric::BACKEND_DONE);
                answered(&address, caveat, ("served", account), events, expected);
            }
            Some("member_down") => down(&address, caveat, events, expected),
            Some("hidden_errors") => answered(&address, caveat, ("hidden", "hidden_errors_total"), events, expected),
            _ => {}
        }
    }
    client(events, verdict, &judged, expected);
    if of_load {
        predictions::expect(events, verdict, &judged, expected);
        unusable::expect(events, verdict, expected);
        let call = proof::expect(events, verdict, &judged, expected);
        let over = load::thresholds(events).map_or(Over::Holds, |all| Over::of(&all));
        let (search, pairs) = (Search::of(events, &judged), proof::pairs(&judged));
        search.expect(call, &pairs, over, expected);
        caveats::expect(&search, &pairs, call, expected);
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
    expected.is(format!("{address}/asked"), reached(trial), Some(trial.start.number));
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
    workers::expect(address, trial, expected);
    broken::expect(&format!("{address}/broke"), judged, expected);
    broken::generator(&format!("{address}/client"), judged, expected);
}

/// Good answers of a trial, and by how much a metric grew from the last look before the load to the last of all.
fn answered(address: &str, caveat: &Json, (name, metric): (&str, &str), events: &Events, expected: &mut Expected) {
    let Some(trial) = named(events, caveat, address, expected) else { return };
    let (responses, more) = grown(&trial, metric);
    expected.is(format!("{address}/responses"), responses, trial.first());
    // A part is no larger than the whole.
    let most = if name == "hidden" { responses } else { f64::INFINITY };
    expected.is(format!("{address}/{name}"), more.min(most), trial.first());
}

/// At how many looks during the load a server was down, of how many, and when first.
fn down(address: &str, caveat: &Json, events: &Events, expected: &mut Expected) {
    let Some(trial) = named(events, caveat, address, expected) else { return };
    let named = |key: &str| caveat.get(key).and_then(Json::as_str).unwrap_or_default();
    let (began, name) = (trial.start.number("/at_us"), format!("{}.server.{}.down", named("subject"), named("server")));
    let end = trial.ticks().last().map_or(0.0, |tick| tick.number("/to_us"));
    let mut looks: Vec<(f64, f64)> = Vec::new();
    for line in trial.of("sample") {
        let at = line.number("/at_us") - began;
        let told = line.json.get("metrics").and_then(|all| all.get(&name)?.as_f64());
        looks.extend(told.filter(|_| at >= 0.0 && at <= end).map(|value| (at, value)));
    }
    let first = looks.iter().find(|(_, value)| *value > 0.0).map(|(at, _)| at / 1e6);
    let count = looks.iter().filter(|(_, value)| *value > 0.0).count();
    expected.is(format!("{address}/down"), Some(count as f64), trial.first());
    expected.is(format!("{address}/looks"), Some(looks.len() as f64), trial.first());
    expected.is(format!("{address}/from"), first, trial.first());
}

/// The level asked for: planned, or the highest that somebody asked for meanwhile.
fn reached(trial: &Trial<'_>) -> f64 {
    let planned = asked(trial.start);
    let told = trial.start.text("/load/asked_by").is_empty();
    if told { planned } else { trial.ticks().iter().map(|tick| tick.number("/level")).fold(planned, f64::max) }
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
        let number = finding.get("trial").and_then(Json::as_u64);
        let valid = judged.iter().any(|one| Some(u64::from(one.trial.number)) == number && one.generator.is_valid());
        match finding.get("purpose").and_then(Json::as_str) {
            // Of trials with directives left out, or with a smaller value, only whether they held is told.
            Some("bisect" | "smaller") => false,
            Some("direct") => valid,
            _ => true,
        }
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
    let mut reasons: Vec<Json> = Vec::new();
    for one in judged.iter().filter(|one| trials.iter().any(|trial| trial.number == one.trial.number)) {
        for reason in &one.generator.reasons {
            if !reasons.iter().any(|known| known.get("reason") == reason.get("reason")) {
                reasons.push(reason.clone());
            }
        }
    }
    broken::believed("/client", &Generator { reasons, since: None }, line, expected);
    expected.is("/client/cpu_max", trials.iter().filter_map(of).fold(0.0, f64::max), line);
}
