//! Servers compared by latency: each round as it was written down, and means over rounds.

use serde_json::Value as Json;

use crate::distribution::Distribution;
use crate::events::{Events, Line};
use crate::expected::Expected;

/// Nanoseconds in a second.
const NS: f64 = 1e9;

/// What the events say of a comparison of latencies.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    for (i, case) in verdict.get("cases").and_then(Json::as_array).into_iter().flatten().enumerate() {
        let asked = case.get("case");
        for (k, standing) in case.get("standings").and_then(Json::as_array).into_iter().flatten().enumerate() {
            let name = standing.get("name");
            let mine = |line: &&Line| {
                line.json.get("contender") == name
                    && line.json.get("case") == asked
                    && line.json.get("bytes") == case.get("bytes")
                    && line.json.get("warm_up") != Some(&Json::Bool(true))
            };
            let rounds: Vec<&Line> = events.of("round").filter(mine).collect();
            self::standing(&format!("/cases/{i}/standings/{k}"), standing, &rounds, expected);
        }
    }
    for (i, entrant) in verdict.get("entrants").and_then(Json::as_array).into_iter().flatten().enumerate() {
        usage(&format!("/entrants/{i}/usage"), entrant, events, expected);
    }
}

fn standing(address: &str, standing: &Json, rounds: &[&Line], expected: &mut Expected) {
    let line = rounds.first().map(|round| round.number);
    let told = standing.get("rounds").and_then(Json::as_array).map_or(0, Vec::len);
    let mut figures = Vec::new();
    for (i, round) in rounds.iter().enumerate().filter(|_| told == rounds.len()) {
        let figure = round.found("/figure_ns").map(|ns| ns / NS);
        expected.is(format!("{address}/rounds/{i}/round"), round.number("/round"), Some(round.number));
        expected.is(format!("{address}/rounds/{i}/figure"), figure, Some(round.number));
        figures.extend(figure);
    }
    if figures.len() > 1 && figures.len() == told {
        let mean = (figures.iter().map(|figure| figure.ln()).sum::<f64>() / figures.len() as f64).exp();
        expected.is(format!("{address}/figure"), mean, line);
    }
    let mut delays = Distribution::default();
    rounds.iter().for_each(|round| delays.add(round.text("/delays")));
    for (name, q) in [("median", 0.5), ("p99", 0.99)] {
        if standing.get(name).is_some_and(Json::is_number) {
            expected.is(format!("{address}/{name}"), delays.quantile(q), line);
        }
    }
}

/// What a contender used in rounds that count: processor time in sum, of all else the most.
fn usage(address: &str, entrant: &Json, events: &Events, expected: &mut Expected) {
    let mine = |line: &&Line| {
        line.json.get("contender") == entrant.get("name") && line.json.get("warm_up") != Some(&Json::Bool(true))
    };
    let rounds: Vec<&Line> = events.of("round").filter(mine).collect();
    let line = rounds.first().map(|round| round.number);
    let cpu: f64 = rounds.iter().map(|round| round.number("/used/cpu_us") / 1e6).sum();
    expected.is(format!("{address}/cpu"), cpu, line);
    for name in ["rss", "heap", "threads", "descriptors"] {
        let most = rounds.iter().filter_map(|round| round.found(&format!("/used/{name}"))).reduce(f64::max);
        if most.is_some() {
            expected.is(format!("{address}/{name}"), most, line);
        }
    }
}
