//! Systems compared: each turn from its own intervals, and means over turns.

use serde_json::Value as Json;

use crate::events::{Events, Line, Trial, all_failed, merged, sum};
use crate::expected::Expected;
use crate::trials::named;

/// The figures of a turn, in their order.
const FIGURES: [&str; 8] = ["failures", "throughput", "p50", "p95", "p99", "max", "cpu", "memory"];

/// What the events say of a comparison of systems.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    let list = |name: &str| verdict.get(name).and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let turns = list("turns");
    for (i, finding) in turns.iter().enumerate() {
        let address = format!("/turns/{i}");
        if let Some(trial) = named(events, finding, &address, expected) {
            turn(&address, finding, &trial, events, expected);
        }
    }
    let first = events.of("turn").next().map(|line| line.number);
    for (i, contender) in list("subjects").iter().enumerate() {
        means(&format!("/subjects/{i}"), contender, turns, first, expected);
        errors(&format!("/subjects/{i}"), contender, turns, events, expected);
    }
}

fn turn(address: &str, finding: &Json, trial: &Trial<'_>, events: &Events, expected: &mut Expected) {
    let (ticks, line) = (trial.ticks(), trial.first());
    let announced = events.of("turn").filter(|turn| turn.number < trial.start.number).last();
    if let Some(said) = announced {
        expected.is(format!("{address}/block"), said.number("/block"), Some(said.number));
        expected.is(format!("{address}/place"), said.number("/place"), Some(said.number));
    }
    let failed = all_failed(&ticks);
    let finished = failed + sum(&ticks, "/ok");
    let more = trial.waiting().max(ticks.last().map_or(0.0, |tick| tick.number("/in_flight")))
        + sum(&ticks, "/disconnects/closed")
        + sum(&ticks, "/disconnects/cut");
    expected.within(format!("{address}/failed"), failed, failed + more, line);
    expected.within(format!("{address}/finished"), finished, finished + more, line);
    let part = |bad: f64, all: f64| if all > 0.0 { bad / all } else { 0.0 };
    expected.within(format!("{address}/values/0"), part(failed, finished), part(failed + more, finished + more), line);
    if let Some(after) = finding.get("steady_after").and_then(Json::as_f64) {
        steady(address, &ticks, ramp(trial) + after, expected);
    }
}

/// How long the load rises, seconds.
fn ramp(trial: &Trial<'_>) -> f64 {
    let per_second = trial.start.number("/load/arrivals/spawn_rate");
    let rises = if per_second > 0.0 { trial.start.number("/load/arrivals/count") / per_second } else { 0.0 };
    rises + crate::events::span(trial.start.text("/load/arrivals/ramp"))
}

/// The figures of the part of a turn that is called steady.
fn steady(address: &str, ticks: &[&Line], from: f64, expected: &mut Expected) {
    let part: Vec<&Line> = ticks.iter().copied().filter(|tick| tick.number("/from_us") + 1.0 >= from * 1e6).collect();
    let line = part.first().map(|tick| tick.number);
    let seconds: f64 = part.iter().map(|tick| (tick.number("/to_us") - tick.number("/from_us")) / 1e6).sum();
    let rate = if seconds > 0.0 { sum(&part, "/ok") / seconds } else { 0.0 };
    // A turn without an answer has no rate to compare.
    if rate > 0.0 {
        expected.is(format!("{address}/values/1"), rate, line);
    }
    let latency = merged(&part, "/latency");
    for (name, q) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)] {
        if let (Some(at), Some(seen)) = (FIGURES.iter().position(|one| *one == name), latency.quantile(q)) {
            expected.is(format!("{address}/values/{at}"), seen, line);
        }
    }
}

/// A contender's figures: the geometric mean of its turns that count; of failures something between the least and the most.
fn means(address: &str, contender: &Json, turns: &[Json], line: Option<usize>, expected: &mut Expected) {
    let own: Vec<&Json> = turns.iter().filter(|turn| counts(turn, contender)).collect();
    expected.is(format!("{address}/turns"), own.len() as f64, line);
    for (i, figure) in contender.get("figures").and_then(Json::as_array).into_iter().flatten().enumerate() {
        let Some(at) = FIGURES.iter().position(|name| figure.get("figure").and_then(Json::as_str) == Some(name)) else {
            continue;
        };
        let values: Vec<f64> = own.iter().filter_map(|turn| turn.get("values")?.get(at)?.as_f64()).collect();
        let (least, most) = values.iter().fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(*x), high.max(*x)));
        let place = format!("{address}/figures/{i}/value");
        match at {
            // Of one turn there is no mean.
            _ if values.len() < 2 => {}
            0 => expected.within(place, least, most, line),
            _ if values.iter().all(|x| *x > 0.0) => {
                let mean = (values.iter().map(|x| x.ln()).sum::<f64>() / values.len() as f64).exp();
                expected.is(place, mean, line);
            }
            _ => {}
        }
    }
}

/// Whether a turn counts and is this contender's, and no control.
fn counts(turn: &Json, contender: &Json) -> bool {
    turn.get("contender") == contender.get("name")
        && turn.get("control") != Some(&Json::Bool(true))
        && turn.get("counts") == Some(&Json::Bool(true))
}

fn errors(address: &str, contender: &Json, turns: &[Json], events: &Events, expected: &mut Expected) {
    let own = turns.iter().filter(|turn| counts(turn, contender));
    let trials: Vec<Trial<'_>> = own.filter_map(|turn| events.trial_of(turn.get("trial"))).collect();
    let ticks: Vec<&Line> = trials.iter().flat_map(Trial::ticks).collect();
    let line = ticks.first().map(|tick| tick.number);
    crate::load::by_key(contender, (address, "errors"), ("errors", "kind"), &ticks, line, expected);
}
