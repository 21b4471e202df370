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
    processes(verdict, events, expected);
    clocks(verdict, expected);
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
            let none = observed(&rounds, several, 0.0).len() < 2;
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
        let wrong = rounds.iter().filter_map(|round| wrong(round)).reduce(f64::max);
        expected.is(format!("{place}/clock_uncertainty"), wrong, line);
        let values: Vec<f64> = observed(&rounds, several, 0.0).into_iter().map(|(_, figure)| figure).collect();
        expected.estimate(format!("{place}/figure"), intervals::geometric(&values, ALPHA), line);
        let (best, worst) = match ranked.contains(&name) {
            true => effects::certain_ranks(name, &ranked, pairs),
            false => (0.0, 0.0),
        };
        expected.is(format!("{place}/best"), best, line);
        expected.is(format!("{place}/worst"), worst, line);
    }
    let each = standings.iter().filter_map(|one| one.get("name")).map(|name| (name, rounds(case, name, events)));
    self::pairs(address, &each.collect::<Vec<_>>(), several, expected);
}

/// Each two contenders with rounds in common, in the order in which they stand.
fn pairs(address: &str, all: &[(&Json, Vec<&Line>)], several: bool, expected: &mut Expected) {
    const WHY: &str = "by the rounds of both, what the clocks may be wrong by and how busy the client was";
    let (mut within, mut k) = (0.0, 0);
    let alpha = effects::shared(all.len());
    for (n, one) in all.iter().enumerate() {
        for other in &all[n + 1..] {
            let plain = effects::ratio(&observed(&one.1, several, 0.0), &observed(&other.1, several, 0.0), alpha);
            let Some(plain) = plain else { continue };
            let place = format!("{address}/pairs/{k}");
            k += 1;
            let (slower, faster) = if plain.value >= 1.0 { (one, other) } else { (other, one) };
            // The slower by the faster one, with each clock wrong in favour of that, so many times as much as it may be.
            let by = |wrong: f64| {
                effects::ratio(&observed(&slower.1, several, -wrong), &observed(&faster.1, several, wrong), alpha)
            };
            expected.word(format!("{place}/slower"), slower.0.clone(), WHY, None);
            expected.word(format!("{place}/faster"), faster.0.clone(), WHY, None);
            expected.estimate(format!("{place}/ratio"), by(0.0), None);
            let clocks = [&slower.1, &faster.1].map(|all| all.iter().filter_map(|round| wrong(round)).reduce(f64::max));
            let both = clocks.iter().flatten().copied().reduce(|one, other| one + other);
            expected.is(format!("{place}/clock_uncertainty"), both, None);
            let limited = [&slower.1, &faster.1].iter().all(|all| client_busy(all) > CLIENT_BUSY);
            let differ = !limited && (plain.low > 1.0 || plain.high < 1.0);
            let both = observed(&faster.1, several, 1.0);
            let is_common = |key: &(u32, u32)| both.iter().any(|(of, _)| of == key);
            let gone = observed(&slower.1, several, -1.0).iter().any(|(key, figure)| *figure <= 0.0 && is_common(key));
            let certain = differ && !gone && by(1.0).is_some_and(|ratio| ratio.low > 1.0);
            within += if differ && !certain { 1.0 } else { 0.0 };
            expected.word(format!("{place}/certain"), certain, WHY, None);
        }
    }
    expected.there(format!("{address}/pairs/{k}"), false, WHY, None);
    expected.is(format!("{address}/within_clocks"), within, None);
}

/// Part of the time from which on a client that moves large messages is the limit.
const CLIENT_BUSY: f64 = 0.9;

/// How busy the client was that moved large messages, the mean.
fn client_busy(rounds: &[&Line]) -> f64 {
    let large = rounds.iter().filter(|round| round.text("/case") == "give");
    let all: Vec<f64> = large.map(|round| round.number("/client_busy")).collect();
    if all.is_empty() { 0.0 } else { all.iter().sum::<f64>() / all.len() as f64 }
}

/// By how much other machines' clocks may have made a figure wrong, seconds: half of a round trip and what they moved. A large message is one
/// client's of the first process.
fn wrong(round: &Line) -> Option<f64> {
    let all = round.items("/workers");
    let with = if round.text("/case") == "give" { all.get(..1).unwrap_or_default() } else { all };
    let ns = |one: &Json, name: &str| one.pointer(name).and_then(Json::as_f64);
    let one = |one: &Json| Some((ns(one, "/clock/uncertainty_ns")? + ns(one, "/clock/drift_ns")?.abs()) / NS);
    with.iter().filter_map(one).reduce(f64::max)
}

/// Each process with clients: the worst of all rounds that count.
fn processes(verdict: &Json, events: &Events, expected: &mut Expected) {
    // Of any other study the loads tell.
    if verdict.get("contest").is_none() {
        return;
    }
    let told = verdict.get("processes").and_then(Json::as_array).map_or(0, Vec::len);
    let counts = |line: &&Line| line.json.get("warm_up") != Some(&Json::Bool(true)) && line.text("/case") != "take";
    let rounds: Vec<&Line> = events.of("round").filter(counts).collect();
    let ran = |i: usize| rounds.iter().find(|round| round.items("/workers").len() > i);
    let why = "each process that had clients is told";
    expected.there(format!("/processes/{told}"), ran(told).is_some(), why, None);
    for i in 0..told {
        let first = ran(i).and_then(|round| round.items("/workers").get(i));
        for name in ["place", "node"] {
            let place = first.and_then(|one| one.get(name)).cloned().unwrap_or(Json::Null);
            expected.word(format!("/processes/{i}/{name}"), place, why, None);
        }
        let most = |name: &str| {
            let of = |round: &&Line| round.found(&format!("/workers/{i}{name}")).map(f64::abs);
            rounds.iter().filter_map(of).reduce(f64::max)
        };
        let line = rounds.first().map(|round| round.number);
        expected.is(format!("/processes/{i}/clients"), most("/clients"), line);
        expected.is(format!("/processes/{i}/busy"), most("/busy"), line);
        for (name, event) in [("clock_uncertainty", "/clock/uncertainty_ns"), ("clock_drift", "/clock/drift_ns")] {
            let ns = most(event);
            expected.is(format!("/processes/{i}/{name}"), ns.map(|ns| ns / NS), line);
        }
    }
}

/// What is said of clocks is what the case says of them.
fn clocks(verdict: &Json, expected: &mut Expected) {
    let list = |of: &Json, name: &str| of.get(name).and_then(Json::as_array).cloned().unwrap_or_default();
    for (i, caveat) in list(verdict, "caveats").iter().enumerate() {
        let same = |case: &&Json| ["case", "bytes", "binary"].iter().all(|field| case.get(field) == caveat.get(field));
        let cases = list(verdict, "cases");
        let Some(case) = cases.iter().find(same).filter(|_| caveat.get("caveat") == Some(&"clocks".into())) else {
            continue;
        };
        let each = list(case, "standings");
        let worst = each.iter().filter_map(|one| one.get("clock_uncertainty")?.as_f64()).reduce(f64::max);
        expected.is(format!("/caveats/{i}/uncertainty"), worst, None);
        let within = case.get("within_clocks").and_then(Json::as_f64).unwrap_or(0.0);
        expected.is(format!("/caveats/{i}/undecided"), within, None);
    }
}

/// What is observed of a contender: each round, or of several starts the geometric mean of the rounds of each; `by` times what clocks may be wrong
/// by is added, and nothing is the least.
fn observed(rounds: &[&Line], several: bool, by: f64) -> Observations {
    let told = |round: &&Line| round.found("/figure_ns").filter(|ns| *ns > 0.0).map(|ns| ns / NS);
    let figure = |round: &&Line| told(round).map(|told| (told + by * wrong(round).unwrap_or(0.0)).max(0.0));
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
