//! Baseline and proposal in pairs.

use serde_json::Value as Json;

use crate::events::{Events, Line, Trial, all_failed, sum};
use crate::expected::Expected;

/// What the events say of `proof`.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    if !verdict.get("proof").is_some_and(Json::is_object) {
        return;
    }
    let pairs = pairs(events);
    let line = pairs.first().map(|(a, _)| a.start.number);
    expected.is("/proof/pairs", pairs.len() as f64, line);
    let (before, after): (Vec<&Trial<'_>>, Vec<&Trial<'_>>) = pairs.iter().map(|(a, b)| (a, b)).unzip();
    let about = verdict.pointer("/proof/judged/condition").and_then(Json::as_str).unwrap_or_default();
    let sockets = ["connects", "delivered", "disconnects"].iter().any(|name| about.starts_with(name));
    if !sockets {
        failures(0, "failed_before", &before, line, expected);
        failures(1, "failed_after", &after, line, expected);
    }
    let rates = [rates(&before), rates(&after)];
    for (i, all) in rates.iter().enumerate() {
        expected.is(format!("/proof/rate/{i}"), mean(all), line);
    }
    if let (Some(a), Some(b)) = (mean(&rates[0]), mean(&rates[1])) {
        expected.is("/proof/rate/2", b - a, line);
    }
}

/// Failed and finished requests of all trials of a side. Requests that waited when a trial ended may count as both.
fn failures(side: usize, name: &str, trials: &[&Trial<'_>], line: Option<usize>, expected: &mut Expected) {
    let counts: Vec<(f64, f64, f64)> = trials.iter().map(|trial| counts(trial)).collect();
    let total = |pick: fn(&(f64, f64, f64)) -> f64| counts.iter().map(pick).sum::<f64>();
    let (failed, finished, waiting) = (total(|c| c.0), total(|c| c.1), total(|c| c.2));
    expected.within(format!("/proof/failures/{side}"), failed, failed + waiting, line);
    expected.within(format!("/proof/finished/{side}"), finished, finished + waiting, line);
    let part = |bad: f64, all: f64| if all > 0.0 { bad / all } else { 0.0 };
    let least = counts.iter().map(|(bad, all, _)| part(*bad, *all)).fold(f64::INFINITY, f64::min);
    let most = counts.iter().map(|(bad, all, wait)| part(bad + wait, all + wait)).fold(0.0, f64::max);
    expected.within(format!("/proof/{name}"), least.min(1.0), most, line);
}

/// Failed, finished, and waiting at the end.
fn counts(trial: &Trial<'_>) -> (f64, f64, f64) {
    let ticks = trial.ticks();
    let failed = all_failed(&ticks);
    let waiting = trial.waiting().max(ticks.last().map_or(0.0, |tick| tick.number("/in_flight")));
    (failed, failed + sum(&ticks, "/ok"), waiting)
}

fn rates(trials: &[&Trial<'_>]) -> Vec<f64> {
    let seconds = |tick: &&Line| (tick.number("/to_us") - tick.number("/from_us")) / 1e6;
    let rate = |trial: &&Trial<'_>| {
        let ticks = trial.ticks();
        let lasted: f64 = ticks.iter().map(seconds).sum();
        if lasted > 0.0 { sum(&ticks, "/ok") / lasted } else { 0.0 }
    };
    trials.iter().map(rate).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The trials of the last proof, the first baseline with the first proposal, and so on; those that ended as they should.
fn pairs(events: &Events) -> Vec<(Trial<'_>, Trial<'_>)> {
    let trials = events.trials();
    let purpose = |trial: &Trial<'_>| trial.start.text("/purpose").to_owned();
    let is_proof = |trial: &Trial<'_>| matches!(purpose(trial).as_str(), "baseline" | "proposal");
    let begin = trials.iter().rposition(|trial| !is_proof(trial)).map_or(0, |last| last + 1);
    let ended = |trial: &&Trial<'_>| {
        trial.end().is_some_and(|end| matches!(end.text("/reason"), "completed" | "break_seen" | "server_died"))
    };
    let side = |wanted: &str| {
        trials[begin..].iter().filter(ended).filter(|t| purpose(t) == wanted).cloned().collect::<Vec<_>>()
    };
    side("baseline").into_iter().zip(side("proposal")).collect()
}
