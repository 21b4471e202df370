//! Processes that made loads, where several machines did: those of one load, and each over all loads of a run, or of several runs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use crate::asked::{self, Asked};
use crate::events::{Events, Trial};
use crate::expected::Expected;
use crate::generator;

/// What each names, and where a load's end has it in nanoseconds.
const TIMES: [(&str, &str); 3] =
    [("clock_uncertainty", "/clock/uncertainty_ns"), ("clock_drift", "/clock/drift_ns"), ("began", "/ended/began_ns")];
/// The figures of a process.
const FIGURES: [&str; 5] = ["clock_uncertainty", "clock_drift", "began", "busiest", "late_p99"];
/// Why they are told.
const WHY: &str = "each process that made a part of a load is told with its place";

/// A process over loads: the largest of each figure, and how many loads it made a part of and limited.
#[derive(Clone, Debug)]
struct Over {
    place: Json,
    node: Json,
    most: BTreeMap<&'static str, f64>,
    loads: f64,
    saturated: f64,
}

/// What the end of a load says of each process that made it; `planned`: requests had their instants.
pub(crate) fn expect(address: &str, trial: &Trial<'_>, expected: &mut Expected) {
    let (Some(end), Some(asked)) = (trial.end(), Asked::of(trial)) else { return };
    let (all, line) = (end.items("/workers"), Some(end.number));
    expected.there(format!("{address}/workers/{}", all.len()), false, WHY, line);
    for (i, one) in all.iter().enumerate() {
        let own = format!("{address}/workers/{i}");
        placed(&own, (&of(one, "place"), &of(one, "node")), line, expected);
        let known = figures(one, asked.is_planned());
        for name in FIGURES {
            expected.is(format!("{own}/{name}"), known.get(name).copied(), line);
        }
    }
}

/// Of what a load's end says of a process.
fn of(one: &Json, name: &str) -> Json {
    one.get(name).cloned().unwrap_or(Json::Null)
}

fn placed(address: &str, (place, node): (&Json, &Json), line: Option<usize>, expected: &mut Expected) {
    expected.word(format!("{address}/place"), place.clone(), WHY, line);
    expected.word(format!("{address}/node"), node.clone(), WHY, line);
}

fn figures(one: &Json, planned: bool) -> BTreeMap<&'static str, f64> {
    let number = |pointer: &str| one.pointer(pointer).and_then(Json::as_f64);
    let mut all = BTreeMap::new();
    for (name, pointer) in TIMES {
        all.extend(number(pointer).map(|ns| (name, ns.abs() / 1e9)));
    }
    all.extend(number("/ended/busiest").map(|busiest| ("busiest", busiest)));
    all.extend(generator::worker_late(one).filter(|_| planned).map(|late| ("late_p99", late)));
    all
}

/// The processes of a run, by their numbers.
fn of_run(events: &Events) -> Vec<Over> {
    let objective = asked::objective(events);
    let mut all: Vec<Over> = Vec::new();
    for trial in events.trials() {
        let (Some(end), Some(asked)) = (trial.end(), Asked::of(&trial)) else { continue };
        // Between servers that are compared every latency counts.
        let compared = events.of("turn").any(|turn| turn.number < trial.start.number);
        let timed = compared || generator::is_timed(&asked, &objective);
        for (i, one) in end.items("/workers").iter().enumerate() {
            let saturated = generator::is_at_end(one, &trial, &asked, &objective, timed);
            let now = Over {
                place: of(one, "place"),
                node: of(one, "node"),
                most: figures(one, asked.is_planned()),
                loads: 1.0,
                saturated: f64::from(u8::from(saturated)),
            };
            match all.get_mut(i) {
                // Of one run it is told where its first load had it.
                Some(sum) => sum.add(&now),
                None => all.push(now),
            }
        }
    }
    all
}

impl Over {
    fn add(&mut self, other: &Over) {
        self.loads += other.loads;
        self.saturated += other.saturated;
        for (name, value) in &other.most {
            self.most.entry(name).and_modify(|most| *most = most.max(*value)).or_insert(*value);
        }
    }

    fn expect(&self, address: &str, expected: &mut Expected) {
        placed(address, (&self.place, &self.node), None, expected);
        for name in FIGURES {
            expected.is(format!("{address}/{name}"), self.most.get(name).copied(), None);
        }
        expected.is(format!("{address}/loads"), self.loads, None);
        expected.is(format!("{address}/saturated"), self.saturated, None);
    }
}

/// What verdicts have that tell of processes over all loads: of systems compared, of caches, of requests held open. (Of servers that are compared by
/// latency, each round tells of them; of one load, its generator.)
const TELLING: [&str; 4] = ["comparison", "passes", "refused_from", "largest"];

/// What the events say of the processes of a verdict.
pub(crate) fn over_all(events: &Events, verdict: &Json, expected: &mut Expected) {
    if !TELLING.iter().any(|name| verdict.get(name).is_some()) {
        return;
    }
    let all = of_run(events);
    expected.there(format!("/processes/{}", all.len()), false, WHY, None);
    for (i, one) in all.iter().enumerate() {
        one.expect(&format!("/processes/{i}"), expected);
    }
}

/// What the events of several runs say of the processes of their joined verdict. A run may have fewer of them than another: each is known by its place,
/// and by which of that place's it is.
pub(crate) fn joined(runs: &[&Events], verdict: &Json, expected: &mut Expected) {
    let runs: Vec<Vec<Over>> = runs.iter().map(|events| of_run(events)).collect();
    let told = verdict.get("processes").and_then(Json::as_array).cloned().unwrap_or_default();
    let places: Vec<Json> = told.iter().map(|one| of(one, "place")).collect();
    let among = |all: &[Json], place: &Json| all.iter().filter(|one| *one == place).count();
    for (i, place) in places.iter().enumerate() {
        let (address, nth) = (format!("/processes/{i}"), among(&places[..i], place));
        let same = runs.iter().filter_map(|run| run.iter().filter(|one| one.place == *place).nth(nth));
        let same: Vec<&Over> = same.collect();
        let Some((first, others)) = same.split_first() else {
            expected.there(&address, false, "no load was made by such a process", None);
            continue;
        };
        let mut sum = (*first).clone();
        others.iter().for_each(|one| sum.add(one));
        let nodes: BTreeSet<String> = same.iter().map(|one| one.node.to_string()).collect();
        // Each run may have had it on a node of its own.
        sum.node = if nodes.len() > 1 { Json::Null } else { sum.node };
        sum.expect(&address, expected);
    }
    let fewer = |run: &Vec<Over>| {
        let own: Vec<Json> = run.iter().map(|one| one.place.clone()).collect();
        own.iter().any(|place| among(&own, place) > among(&places, place))
    };
    expected.there(format!("/processes/{}", told.len()), runs.iter().any(fewer), WHY, None);
}
