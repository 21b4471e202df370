//! Servers compared by latency: each round as it was written down, and means over rounds.

use serde_json::Value as Json;

use crate::distribution::Distribution;
use crate::effects::{self, Observations};
use crate::events::{Events, Line};
use crate::expected::Expected;
use crate::intervals::{self, ALPHA};

/// Nanoseconds in a second.
const NS: f64 = 1e9;

/// What the events say of a comparison of latencies.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    let contest = verdict.get("contest").unwrap_or(&Json::Null);
    for (i, case) in verdict.get("cases").and_then(Json::as_array).into_iter().flatten().enumerate() {
        self::case(&format!("/cases/{i}"), case, contest, events, expected);
    }
    if verdict.get("contest").is_some() {
        expected.word(
            "/outcome",
            outcome(verdict, events),
            "by the rounds that every contender has in every case",
            None,
        );
    }
    for (i, entrant) in verdict.get("entrants").and_then(Json::as_array).into_iter().flatten().enumerate() {
        usage(&format!("/entrants/{i}/usage"), entrant, events, expected);
        started(&format!("/entrants/{i}/started"), entrant, events, expected);
    }
}

/// Whether every contender answered in every case.
fn outcome(verdict: &Json, events: &Events) -> &'static str {
    let list = |of: &Json, name: &str| of.get(name).and_then(Json::as_array).cloned().unwrap_or_default();
    let several = verdict.pointer("/contest/starts").and_then(Json::as_f64).unwrap_or(1.0) > 1.0;
    let cases = list(verdict, "cases");
    let (mut short, mut failed) = (cases.is_empty(), false);
    for case in &cases {
        for name in list(case, "standings").iter().filter_map(|one| one.get("name")) {
            let rounds = rounds(case, name, events);
            let wrong = rounds.iter().any(|round| round.found("/figure_ns").is_none());
            let none = observed(&rounds, several).len() < 2;
            (short, failed) = (short || none && !wrong, failed || wrong);
        }
    }
    match () {
        () if events.of("run_ended").next().is_none() || short => "unfinished",
        () if failed => "fails",
        () => "holds",
    }
}

/// The rounds of a contender in a case that count.
fn rounds<'e>(case: &Json, name: &Json, events: &'e Events) -> Vec<&'e Line> {
    let mine = |line: &&Line| {
        let same = |field: &&str| line.json.get(field) == case.get(field);
        line.json.get("contender") == Some(name)
            && ["case", "bytes", "binary"].iter().all(same)
            && line.json.get("warm_up") != Some(&Json::Bool(true))
    };
    events.of("round").filter(mine).collect()
}

/// One case: every contender, each two of them, and ranks.
fn case(address: &str, case: &Json, contest: &Json, events: &Events, expected: &mut Expected) {
    let several = contest.get("starts").and_then(Json::as_f64).unwrap_or(1.0) > 1.0;
    let list = |name: &str| case.get(name).and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let (standings, pairs) = (list("standings"), list("pairs"));
    let references = contest.get("contenders").and_then(Json::as_array).into_iter().flatten();
    let references: Vec<&Json> = references
        .filter(|one| one.get("reference") == Some(&Json::Bool(true)))
        .filter_map(|one| one.get("name"))
        .collect();
    let names = standings.iter().filter_map(|one| one.get("name"));
    let ranked: Vec<&Json> = names.filter(|name| !references.contains(name)).collect();
    for (k, one) in standings.iter().enumerate() {
        let (place, Some(name)) = (format!("{address}/standings/{k}"), one.get("name")) else { continue };
        let rounds = rounds(case, name, events);
        let line = rounds.first().map(|round| round.number);
        standing(&place, one, &rounds, events, expected);
        let values: Vec<f64> = observed(&rounds, several).into_iter().map(|(_, figure)| figure).collect();
        expected.estimate(format!("{place}/figure"), intervals::geometric(&values, ALPHA), line);
        let (best, worst) = match ranked.contains(&name) {
            true => effects::certain_ranks(name, &ranked, pairs),
            false => (0.0, 0.0),
        };
        expected.is(format!("{place}/best"), best, line);
        expected.is(format!("{place}/worst"), worst, line);
    }
    for (k, pair) in pairs.iter().enumerate() {
        let (Some(faster), Some(slower)) = (pair.get("faster"), pair.get("slower")) else { continue };
        let (more, less) =
            (observed(&rounds(case, slower, events), several), observed(&rounds(case, faster, events), several));
        let ratio = effects::ratio(&more, &less, effects::shared(standings.len()));
        expected.estimate(format!("{address}/pairs/{k}/ratio"), ratio, None);
    }
}

/// What is observed of a contender: each round, or of several starts the geometric mean of the rounds of each.
fn observed(rounds: &[&Line], several: bool) -> Observations {
    let figure = |round: &&Line| round.found("/figure_ns").filter(|ns| *ns > 0.0).map(|ns| ns / NS);
    let key = |round: &&Line| (round.number("/trial") as u32, round.number("/round") as u32);
    let all: Observations = rounds.iter().filter_map(|round| Some((key(round), figure(round)?))).collect();
    if !several {
        return all;
    }
    let mut starts: Vec<u32> = all.iter().map(|((start, _), _)| *start).collect();
    starts.dedup();
    let mean = |start: u32| {
        let logs: Vec<f64> = all.iter().filter(|((of, _), _)| *of == start).map(|(_, figure)| figure.ln()).collect();
        ((start, 0), (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    };
    starts.into_iter().map(mean).collect()
}

fn standing(address: &str, standing: &Json, rounds: &[&Line], events: &Events, expected: &mut Expected) {
    let line = rounds.first().map(|round| round.number);
    let told = standing.get("rounds").and_then(Json::as_array).map_or(0, Vec::len);
    for (i, round) in rounds.iter().enumerate().filter(|_| told == rounds.len()) {
        let (place, number) = (format!("{address}/rounds/{i}"), Some(round.number));
        expected.is(format!("{place}/round"), round.number("/round"), number);
        expected.is(format!("{place}/start"), round.number("/trial"), number);
        expected.is(format!("{place}/figure"), round.found("/figure_ns").map(|ns| ns / NS), number);
        expected.is(format!("{place}/paused"), paused(round, events), number);
    }
    let failed = rounds.iter().filter(|round| round.found("/figure_ns").is_none()).count();
    expected.is(format!("{address}/failed"), failed as f64, line);
    let mut delays = Distribution::default();
    rounds.iter().for_each(|round| delays.add(round.text("/delays")));
    for (name, q) in [("median", 0.5), ("p99", 0.99)] {
        expected.is(format!("{address}/{name}"), delays.quantile(q), line);
    }
}

/// Pauses of a contender's collector that ended in a round, or after it began, seconds.
fn paused(round: &Line, events: &Events) -> f64 {
    let end = round.number("/at_us");
    let began = end - (crate::events::span(round.text("/lasted")) * 1e6).floor();
    let own = events.of("collection").filter(|pause| {
        pause.json.get("contender") == round.json.get("contender") && pause.json.get("trial") == round.json.get("trial")
    });
    let within = own.filter(|pause| {
        let at = pause.number("/at_us");
        at >= began && at - (pause.number("/lasted_ns") / 1e3).floor() <= end
    });
    0.0 + within.map(|pause| pause.number("/lasted_ns") / NS).sum::<f64>()
}

/// How long a contender took to start, the mean over its starts, seconds.
fn started(address: &str, entrant: &Json, events: &Events, expected: &mut Expected) {
    let own = events.of("entry").filter(|line| line.json.get("contender") == entrant.get("name"));
    let all: Vec<f64> = own.map(|line| crate::events::span(line.text("/started"))).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    expected.is(address, (!all.is_empty()).then_some(mean), None);
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
        expected.is(format!("{address}/{name}"), most.unwrap_or(0.0), line);
    }
}
