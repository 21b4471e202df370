//! What weakens the answer of a search or a load, as far as the record alone obliges to it: each such caveat, and of its kind no other.
//!
//! What formulas say beside what was held (`predicted_but_held`, `no_headroom`, ...) is not computed again.

use std::collections::BTreeMap;

use genkai_model::evidence::metric;
use serde_json::{Value as Json, json};

use crate::answer::Pairs;
use crate::broken::Judged;
use crate::events::{Events, Line, Trial, grown};
use crate::expected::Expected;
use crate::search::{End, Search, Step};
use crate::{changed, scan};

/// Where they stand.
const LIST: &str = "/caveats";
/// The kinds that are computed.
const KINDS: [&str; 13] = [
    "counts",
    "answered_before",
    "answers_changed",
    "hidden_errors",
    "member_down",
    "server_died",
    "server_refused",
    "few_pairs",
    "baseline_held_in_proof",
    "proposal_failed_in_proof",
    "direct_invalid",
    "interrupted",
    "record_cut_off",
];
/// Fewer good answers than this are not compared with what a backend counted.
const COMPARED: f64 = 1_000.0;
/// A server that refuses from so long before the end, to the end, is dead, seconds.
const DEAD: f64 = 4.0;

/// What must be told.
pub(crate) fn expect(search: &Search<'_, '_>, pairs: &Pairs<'_, '_>, call: Option<&str>, expected: &mut Expected) {
    let mut all: Vec<(Json, Option<usize>)> = Vec::new();
    let last = search.steps.iter().filter_map(Step::proved).next_back().map(|test| &test.after).or(search.first);
    if let Some(held) = last.filter(|last| last.onset.is_none()) {
        all.extend(of_held(held).into_iter().map(|told| (told, held.trial.first())));
    }
    all.extend(search.counts());
    if search.end == End::Prove {
        all.extend(of_proof(search, pairs, call).into_iter().map(|told| (told, None)));
    }
    if let Some(direct) = search.direct.filter(|direct| !direct.generator.is_valid()) {
        all.push((json!({ "caveat": "direct_invalid", "trial": direct.trial.number }), direct.trial.first()));
    }
    for trial in
        search.events.trials().iter().filter(|trial| !matches!(trial.start.text("/purpose"), "bisect" | "smaller"))
    {
        all.extend(ends(trial).into_iter().map(|told| (told, Some(trial.start.number))));
    }
    all.extend(cut(search.events).map(|told| (told, None)));
    all.into_iter().for_each(|(told, line)| expected.lists.tells(LIST, told, "the record obliges to it", line));
    expected.lists.only(LIST, &KINDS);
}

/// Of a trial that held: good answers that came from elsewhere, or in the place of errors, and servers that were down.
fn of_held(held: &Judged<'_>) -> Vec<Json> {
    let (trial, number) = (&held.trial, held.trial.number);
    let mut all = Vec::new();
    let account = account(trial);
    let (responses, served) = account.map_or((0.0, 0.0), |account| grown(trial, account));
    if !held.asked.tunnels && account.is_some() && responses >= COMPARED && served * 2.0 < responses {
        all.push(json!({ "caveat": "answered_before", "trial": number, "responses": responses, "served": served }));
    }
    let (responses, hidden) = grown(trial, metric::HIDDEN_ERRORS);
    if hidden.min(responses) > 0.0 {
        let hidden = hidden.min(responses);
        all.push(json!({ "caveat": "hidden_errors", "trial": number, "responses": responses, "hidden": hidden }));
    }
    all.extend(changed::answers(trial));
    let end = trial.ticks().last().map_or(0.0, |tick| tick.number("/to_us"));
    let mut looks: BTreeMap<String, Vec<(f64, bool)>> = BTreeMap::new();
    for line in trial.of("sample") {
        let at = line.number("/at_us") - trial.start.number("/at_us");
        let metrics = line.json.get("metrics").and_then(Json::as_object).into_iter().flatten();
        for (name, value) in metrics.filter(|(name, _)| (0.0..=end).contains(&at) && name.ends_with(".down")) {
            looks.entry(name.clone()).or_default().push((at, value.as_f64() > Some(0.0)));
        }
    }
    for (name, looks) in looks {
        let Some((subject, server)) = name.strip_suffix(".down").and_then(|name| name.split_once(".server.")) else {
            continue;
        };
        let down: Vec<f64> = looks.iter().filter(|(_, down)| *down).map(|(at, _)| at / 1e6).collect();
        let Some(first) = down.first() else { continue };
        all.push(json!({ "caveat": "member_down", "trial": number, "subject": subject, "server": server,
            "down": down.len(), "looks": looks.len(), "from": first }));
    }
    all
}

/// Whether anybody looked at a counter since the load began.
fn counts(trial: &Trial<'_>, metric: &str) -> bool {
    let counted = |line: &&Line| line.json.get("metrics").is_some_and(|all| all.get(metric).is_some());
    let last = trial.of("sample").filter(counted).last();
    last.is_some_and(|line| line.number("/at_us") > trial.start.number("/at_us"))
}

/// Which counter tells what came to the backend: its own account comes before that of the product before it.
pub(crate) fn account(trial: &Trial<'_>) -> Option<&'static str> {
    [metric::BACKEND_DONE, metric::SERVERS_DONE].into_iter().find(|account| counts(trial, account))
}

/// Of a proof: too few pairs, a baseline that held, a proposal that failed.
fn of_proof(search: &Search<'_, '_>, pairs: &Pairs<'_, '_>, call: Option<&str>) -> Vec<Json> {
    let mut all = Vec::new();
    let decided = call.is_some_and(|call| !matches!(call, "cannot_tell" | "missing" | "not_judged"));
    let alike = pairs.len() > 1 && pairs.iter().all(|(a, b)| a.held() && b.held());
    if (pairs.len() as f64) < search.head("/plan/procedure/min_pairs") || !decided && !alike {
        all.push(json!({ "caveat": "few_pairs", "pairs": pairs.len() }));
    }
    let of = |purpose: &'static str| search.proof().filter(move |one| one.trial.start.text("/purpose") == purpose);
    let held = of("baseline").any(|one| one.held());
    let failed = of("proposal").any(|one| one.onset.is_some());
    let told = [("baseline_held_in_proof", held), ("proposal_failed_in_proof", failed)];
    all.extend(told.into_iter().filter(|(_, is)| *is).map(|(kind, _)| json!({ "caveat": kind })));
    all
}

/// Servers that ended in a trial, or refused connections.
fn ends(trial: &Trial<'_>) -> Vec<Json> {
    let began = trial.start.number("/at_us");
    let end = trial.ticks().last().map_or(0.0, |tick| tick.number("/to_us")) / 1e6;
    let states: Vec<(f64, &Line)> =
        trial.of("state").map(|line| ((line.number("/at_us") - began) / 1e6, line)).collect();
    let (number, subject) = (trial.number, |line: &Line| line.text("/subject").to_owned());
    let died = |line: &Line| json!({ "caveat": "server_died", "subject": subject(line), "trial": number });
    let mut all: Vec<Json> = Vec::new();
    for (i, (at, line)) in states.iter().enumerate() {
        if line.text("/state") == "died" && !scan::refuses(line) {
            all.push(died(line));
        }
        if *at < 0.0 || !scan::refuses(line) {
            continue;
        }
        let back = |(_, later): &&(f64, &Line)| {
            later.text("/state") == "ready" && later.text("/subject") == line.text("/subject")
        };
        let until = states[i + 1..].iter().find(back).map(|(at, _)| *at);
        all.push(match until {
            None if end - at >= DEAD => died(line),
            _ => json!({ "caveat": "server_refused", "subject": subject(line), "trial": number, "from": at, "until": until }),
        });
    }
    all
}

/// What ended the run before it was done.
fn cut(events: &Events) -> Option<Json> {
    let Some(end) = events.of("run_ended").next() else { return Some(json!({ "caveat": "record_cut_off" })) };
    let stopped = |trial: &Trial<'_>| {
        trial.end().is_some_and(|end| matches!(end.text("/reason"), "interrupted" | "engine_failed"))
    };
    let trial = events.trials().iter().find(|trial| stopped(trial)).map(|trial| trial.number);
    let failure = end.json.get("failure").filter(|failure| !failure.is_null());
    let interrupted = end.json.get("interrupted") == Some(&Json::Bool(true));
    let told = || json!({ "caveat": "interrupted", "trial": trial, "failure": failure });
    (interrupted || failure.is_some() || trial.is_some()).then(told)
}
