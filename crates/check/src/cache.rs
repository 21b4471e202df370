//! Caches compared: each pass from its own loads.

use serde_json::Value as Json;

use crate::events::{Events, Line, Trial, all_failed, merged, sum};
use crate::expected::Expected;

/// What the events say of a comparison of caches.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    for (i, pass) in verdict.get("passes").and_then(Json::as_array).into_iter().flatten().enumerate() {
        for (k, standing) in pass.get("standings").and_then(Json::as_array).into_iter().flatten().enumerate() {
            standings(&format!("/passes/{i}/standings/{k}"), standing, events, expected);
        }
    }
}

fn standings(address: &str, standing: &Json, events: &Events, expected: &mut Expected) {
    let rounds: Vec<&Json> = standing.get("rounds").and_then(Json::as_array).into_iter().flatten().collect();
    let trials: Vec<Trial<'_>> = rounds.iter().filter_map(|round| events.trial_of(round.get("trial"))).collect();
    if trials.is_empty() || trials.len() != rounds.len() {
        return;
    }
    let ticks: Vec<&Line> = trials.iter().flat_map(Trial::ticks).collect();
    let passes: Vec<&Line> = trials.iter().flat_map(|trial| trial.of("cache_pass")).collect();
    let line = ticks.first().map(|tick| tick.number);
    let ok = sum(&ticks, "/ok");
    let requests = ok + all_failed(&ticks);
    let latency = merged(&ticks, "/latency");
    latency.expect(&format!("{address}/latency"), line, expected);
    for (name, value) in [
        ("requests", requests),
        ("connects", sum(&ticks, "/opened")),
        ("bytes_in", sum(&ticks, "/bytes_in")),
        ("bytes_out", sum(&ticks, "/bytes_out")),
    ] {
        expected.is(format!("{address}/{name}"), value, line);
    }
    let (slow_least, slow_most) = latency.from(1_000_000_000);
    let all = latency.count() as f64;
    expected.within(format!("{address}/within_second"), all - slow_most as f64, all - slow_least as f64, line);
    own_counts(address, standing, &passes, expected);
    rates(address, &trials, line, expected);
    crate::load::by_key(standing, (address, "errors"), ("errors", "kind"), &ticks, line, expected);
}

/// What caches and the origin counted themselves.
fn own_counts(address: &str, standing: &Json, passes: &[&Line], expected: &mut Expected) {
    let line = passes.first().map(|pass| pass.number);
    expected.is(format!("{address}/origin"), sum(passes, "/origin"), line);
    if standing.get("own").is_some_and(Json::is_object) {
        expected.is(format!("{address}/own/hits"), sum(passes, "/own/hits"), line);
        expected.is(format!("{address}/own/misses"), sum(passes, "/own/misses"), line);
    }
}

/// The rate of each round, and their geometric mean.
fn rates(address: &str, trials: &[Trial<'_>], line: Option<usize>, expected: &mut Expected) {
    let seconds = |tick: &&Line| (tick.number("/to_us") - tick.number("/from_us")) / 1e6;
    let rate = |trial: &Trial<'_>| {
        let ticks = trial.ticks();
        let lasted: f64 = ticks.iter().map(seconds).sum();
        if lasted > 0.0 { sum(&ticks, "/ok") / lasted } else { 0.0 }
    };
    let all: Vec<f64> = trials.iter().map(rate).collect();
    for (i, (rate, trial)) in all.iter().zip(trials).enumerate() {
        expected.is(format!("{address}/rounds/{i}/rate"), *rate, trial.first());
        expected.is(format!("{address}/rounds/{i}/trial"), f64::from(trial.number), Some(trial.start.number));
    }
    if all.len() > 1 && all.iter().all(|rate| *rate > 0.0) {
        let mean = (all.iter().map(|rate| rate.ln()).sum::<f64>() / all.len() as f64).exp();
        expected.is(format!("{address}/rate"), mean, line);
    }
}
