//! Chat rooms: deliveries as members tell them, hops as nodes do.

use serde_json::Value as Json;

use crate::broken::{self, Judged};
use crate::events::{Events, Line, Trial, merged, sum};
use crate::expected::Expected;
use crate::trials::named;

/// What the events say of runs with chat rooms.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    for (i, run) in verdict.get("runs").and_then(Json::as_array).into_iter().flatten().enumerate() {
        let address = format!("/runs/{i}");
        let Some(trial) = named(events, run, &address, expected) else { continue };
        let Some(told) = trial.of("attendance").next() else { continue };
        rooms(&address, told, expected);
        generator(&format!("{address}/client"), &trial, events, expected);
        nodes(&address, run, &trial, expected);
        let latency = merged(&trial.ticks(), "/deliveries/latency");
        latency.expect(&format!("{address}/latency"), trial.first(), expected);
        expected.is(format!("{address}/lasted"), trial.end().map_or(0.0, |_| trial.lasted()), trial.first());
        conserved(&address, &trial, told, expected);
    }
}

/// The generator over the whole run.
fn generator(address: &str, trial: &Trial<'_>, events: &Events, expected: &mut Expected) {
    let (ticks, line) = (trial.ticks(), trial.first());
    broken::few(&format!("{address}/lateness"), &merged(&ticks, "/lateness"), line, expected);
    broken::few(&format!("{address}/receipt"), &merged(&ticks, "/receipt"), line, expected);
    if let Some(judged) = Judged::of(events, trial) {
        expected.is(format!("{address}/cpu_max"), judged.busiest_of_all(), line);
    }
}

fn rooms(address: &str, told: &Line, expected: &mut Expected) {
    let line = Some(told.number);
    let all = |field: &str| told.items("/rooms").iter().filter_map(|room| room.get(field)?.as_f64()).sum::<f64>();
    for field in ["score", "planned", "sent", "delivered", "lost", "duplicated", "reordered", "foreign", "away"] {
        expected.is(format!("{address}/{field}"), all(field), line);
    }
    expected.is(format!("{address}/entered"), all("members"), line);
    expected.is(format!("{address}/never_entered"), told.number("/never_entered"), line);
    for (i, room) in told.items("/rooms").iter().enumerate() {
        let score = room.get("score").and_then(Json::as_f64);
        expected.is(format!("{address}/rooms/{i}"), score, line);
    }
    let most = told.items("/rooms").iter().filter_map(|room| room.get("planned")?.as_f64()).fold(0.0, f64::max);
    expected.is(format!("{address}/full"), most, line);
    for (i, count) in told.items("/entered_after").iter().enumerate() {
        expected.is(format!("{address}/entered_after/{i}"), count.as_f64(), line);
    }
}

fn nodes(address: &str, run: &Json, trial: &Trial<'_>, expected: &mut Expected) {
    let nodes: Vec<&Line> = trial.of("node").collect();
    let line = nodes.first().map(|node| node.number).or(Some(trial.start.number));
    expected.is(format!("{address}/nodes"), nodes.len() as f64, line);
    for name in run.get("hops").and_then(Json::as_object).into_iter().flatten().map(|(name, _)| name) {
        expected.is(format!("{address}/hops/{name}"), sum(&nodes, &format!("/hops/{name}")), line);
    }
}

/// What members heard in intervals is what they heard in the end: deliveries have a latency each.
fn conserved(address: &str, trial: &Trial<'_>, told: &Line, expected: &mut Expected) {
    let heard = sum(&trial.ticks(), "/deliveries/count");
    let delivered: f64 = told.items("/rooms").iter().filter_map(|room| room.get("delivered")?.as_f64()).sum();
    let room = |field: &str| told.items("/rooms").iter().filter_map(|room| room.get(field)?.as_f64()).sum::<f64>();
    // A member may hear what is not due to it, and what is settled after the load is in no interval.
    let slack = room("foreign") + room("away") + room("duplicated");
    expected.within(format!("{address}/latency/count"), 0.0, heard.max(delivered) + slack, Some(told.number));
}
