//! Falsified verdicts: one number changed, in the finding and in its statement alike; or one word, one name, the order of a list. How many of
//! them `--check` notices is its measure.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use genkai_check::Opinion;
use genkai_model::statement::{Source, Statement, Unit, Value};
use serde_json::Value as Json;

use crate::harness::recorded::{copy, judged, read, records};
use crate::harness::{finish, genkai};

/// A record with its verdict as it is made today.
struct Run {
    name: String,
    lines: String,
    verdict: Json,
    statements: Vec<Statement>,
}

/// Every committed record with a verdict.
fn runs() -> Vec<Run> {
    let recorded = |folder: &PathBuf| folder.join("run.jsonl").exists();
    judged(&records()).into_iter().filter(recorded).map(|folder| run(&folder)).collect()
}

fn run(folder: &Path) -> Run {
    let dir = tempfile::tempdir().unwrap();
    let copied = dir.path().join("run");
    copy(folder, &copied);
    finish(genkai("report --quiet").arg(&copied), Duration::from_secs(60));
    let verdict = read(&copied.join("verdict.json"));
    Run {
        name: folder.strip_prefix(records()).unwrap().display().to_string(),
        lines: fs::read_to_string(copied.join("run.jsonl")).unwrap(),
        statements: serde_json::from_value(verdict["statements"].clone()).unwrap(),
        verdict,
    }
}

/// A number a little larger or smaller: the next count, or a fiftieth more.
fn other(x: f64, up: bool) -> f64 {
    if x == 0.0 { 0.02 } else { x * if up { 1.02 } else { 1.0 / 1.02 } }
}

/// `value` with each of its numbers changed in turn; of what is not there, that it is.
fn falsified(value: Value, unit: Unit, up: bool) -> Vec<Value> {
    match value {
        Value::Count(n) => vec![Value::Count(if up || n == 0 { n + 1 } else { n - 1 })],
        Value::Measured(x) => vec![Value::Measured(other(x, up))],
        Value::MoreThan(x) => vec![Value::MoreThan(other(x, up)), Value::Measured(x)],
        Value::LessThan(x) => vec![Value::LessThan(other(x, up)), Value::Measured(x)],
        Value::Between { low, high } => {
            vec![Value::Between { low: other(low, false), high }, Value::Between { low, high: other(high, true) }]
        }
        Value::Estimate { value, low, high, n } => vec![
            Value::Estimate { value: value + (high - low) / 50.0, low, high, n },
            Value::Estimate { value, low: low - (high - low) / 50.0, high, n },
            Value::Estimate { value, low, high: high + (high - low) / 50.0, n },
            Value::Estimate { value, low, high, n: n + 1 },
        ],
        Value::NotSampled if matches!(unit, Unit::Number | Unit::Name | Unit::Bytes) => vec![Value::Count(1)],
        Value::NotSampled => vec![Value::Measured(1.0)],
    }
}

/// What stands in a verdict for a value.
fn written(value: Value, was: &Json) -> Json {
    let mut now = was.clone();
    match value {
        Value::Count(n) => now = n.into(),
        Value::Measured(x) if was.get("measured").is_some() || was.get("more_than").is_some() => {
            now = serde_json::json!({ "measured": x })
        }
        Value::Measured(x) => now = x.into(),
        Value::MoreThan(x) => now["more_than"] = x.into(),
        Value::LessThan(x) => now["less_than"] = x.into(),
        Value::Between { low, high } => {
            now["low"] = low.into();
            now["high"] = high.into();
        }
        Value::Estimate { value, low, high, n } => {
            now = serde_json::json!({ "value": value, "interval": { "low": low, "high": high }, "n": n });
        }
        Value::NotSampled => {}
    }
    now
}

/// How many falsified numbers were noticed, and of how many.
#[derive(Clone, Copy, Default)]
struct Score {
    noticed: u64,
    of: u64,
}

impl Score {
    fn add(&mut self, noticed: bool) {
        self.noticed += u64::from(noticed);
        self.of += 1;
    }
}

/// Names (of a trial, a status, a rank) are falsified in one of so many places, unless all are asked for: what is expected elsewhere depends
/// on them, so that each takes a check of its own.
const NAMES: u64 = 150;

/// Whether a falsified number is noticed: in its own place, or, of a name, elsewhere.
fn noticed(run: &Run, opinion: &Opinion, verdict: &mut Json, one: &Statement, value: Value) -> bool {
    let place = verdict.pointer_mut(&one.address).unwrap();
    let was = place.clone();
    *place = written(value, &was);
    let falsified = Statement { value, ..one.clone() };
    let seen = match one.unit {
        Unit::Name => {
            let again = Opinion::of(&run.lines, verdict).unwrap();
            let others = run.statements.iter().filter(|other| other.address != one.address).cloned();
            !again.on(verdict, &others.chain([falsified]).collect::<Vec<_>>()).holds()
        }
        _ => !opinion.on(verdict, &[falsified]).holds(),
    };
    *verdict.pointer_mut(&one.address).unwrap() = was;
    seen
}

/// The score of a run: of what is computed, and of what is quoted from the plan. `missed` takes the predicates of what nobody noticed.
fn score(run: &Run, all_names: bool, missed: &mut BTreeMap<String, u64>) -> [Score; 2] {
    let opinion = Opinion::of(&run.lines, &run.verdict).unwrap();
    let mut verdict = run.verdict.clone();
    verdict.as_object_mut().unwrap().remove("statements");
    let untouched = opinion.on(&verdict, &run.statements);
    assert!(untouched.contradicted.is_empty() && untouched.differences.is_empty(), "{}: {untouched:#?}", run.name);
    let mut scores = [Score::default(); 2];
    let mut drawn = 0_u64;
    for (nth, one) in run.statements.iter().enumerate() {
        // A seed of its own for each place: the same in every run of the test.
        drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if one.unit == Unit::Name && !all_names && !(drawn >> 33).is_multiple_of(NAMES) {
            continue;
        }
        for value in falsified(one.value, one.unit, nth % 2 == 0) {
            let seen = noticed(run, &opinion, &mut verdict, one, value);
            scores[usize::from(one.from == Source::Plan)].add(seen);
            if !seen {
                *missed.entry(one.predicate.clone()).or_default() += 1;
            }
        }
    }
    scores
}

/// Words of which a verdict's answer is made, by the field that they stand in, with others that could stand there.
const WORDS: [(&str, &[&str]); 13] = [
    ("outcome", &["holds", "fails", "invalid", "unfinished"]),
    ("must_change", &["yes", "no", "cannot_tell"]),
    (
        "because",
        &["objective_holds", "proved_and_holds", "no_cause_found", "undecided", "client_is_limit", "not_tested"],
    ),
    ("decided", &["holds", "invalid", "unfinished"]),
    ("stop", &["unknown", "refuted", "untested", "died", "refused", "generator", "unfinished"]),
    ("pairing", &["none", "unfinished", "generator", "same", "worse", "undecided", "enough"]),
    ("confidence", &["possible", "likely", "proved", "refuted"]),
    ("moved", &["as_predicted", "elsewhere", "not"]),
    ("condition", &["errors < 50%", "p99 < 1h"]),
    ("call", &["better", "worse", "same", "cannot_tell", "missing", "not_judged"]),
    ("ended", &["early", "planned", "cut_off"]),
    ("who", &["nobody"]),
    ("limit", &["nginx.unknown", "backend.by_itself"]),
];
/// Flags of which it is made.
const FLAGS: [&str; 12] = [
    "holds",
    "valid",
    "counts",
    "control",
    "anybody",
    "certain",
    "proposal_holds",
    "baseline_fails",
    "within_load",
    "likely",
    "helps",
    "kept",
];
/// Lists whose order says something.
const ORDERED: [&str; 8] = ["causes", "others", "predictions", "trials", "turns", "subjects", "pairs", "effects"];
/// Parts of a verdict that are the plan's, or are not recomputed.
const QUOTED: [&str; 6] = ["/comparison", "/contest", "/claim/claim", "/statements", "/caveats", "/participants"];

/// Every other word, flag and order that could stand in a verdict: where, and what. A limit by its name, or by that of another candidate.
fn reworded(at: &str, value: &Json, all: &mut Vec<(String, Json)>) {
    if QUOTED.iter().any(|part| at.starts_with(part)) {
        return;
    }
    let field = at.rsplit('/').next().unwrap_or_default();
    match value {
        Json::Object(fields) => fields.iter().for_each(|(name, inner)| reworded(&format!("{at}/{name}"), inner, all)),
        Json::Array(items) => {
            if ORDERED.contains(&field) && items.len() > 1 && items.first() != items.last() {
                all.push((at.to_owned(), items.iter().rev().cloned().collect()));
            }
            if ORDERED.contains(&field) && !items.is_empty() {
                all.push((at.to_owned(), items[1..].into()));
            }
            items.iter().enumerate().for_each(|(i, inner)| reworded(&format!("{at}/{i}"), inner, all));
        }
        Json::Bool(flag) if FLAGS.contains(&field) => all.push((at.to_owned(), Json::Bool(!flag))),
        Json::String(word) => {
            let others = WORDS.iter().filter(|(name, _)| *name == field).flat_map(|(_, others)| *others);
            all.extend(others.filter(|other| **other != word).map(|other| (at.to_owned(), (*other).into())));
        }
        _ => {}
    }
}

/// A sample of one in so many of them, as the lists of a verdict are long.
const REWORDED: usize = 3;
/// What is taken as it stands: pairs of caches, the outcome of caches, and of a search for requests held open.
const TAKEN: [(&str, &str); 6] = [
    ("reverse-proxy-cache", "/passes/pairs"),
    ("reverse-proxy-cache", "/outcome"),
    ("rooms-http", "/outcome"),
    ("rooms-http", "/trials"),
    ("tune", "/next/limit"),
    ("apache-websocket", "/next/limit"),
];

fn is_taken(run: &Run, at: &str) -> bool {
    let plain: Vec<&str> = at.split('/').filter(|part| part.parse::<u32>().is_err()).collect();
    TAKEN.iter().any(|(kind, part)| run.name.starts_with(kind) && plain.join("/").starts_with(part))
}

#[test]
fn another_decision_is_noticed() {
    let (mut sum, mut missed) = (Score::default(), BTreeMap::<String, u64>::new());
    for run in runs() {
        let opinion = Opinion::of(&run.lines, &run.verdict).unwrap();
        let mut verdict = run.verdict.clone();
        verdict.as_object_mut().unwrap().remove("statements");
        let mut all = Vec::new();
        reworded("", &verdict, &mut all);
        let answers = |at: &str| at.matches('/').count() < 3 || at.starts_with("/decision");
        all.retain(|(at, _)| !is_taken(&run, at));
        let chosen = all.into_iter().enumerate().filter(|(nth, (at, _))| answers(at) || nth % REWORDED == 0);
        for (_, (at, other)) in chosen {
            let was = std::mem::replace(verdict.pointer_mut(&at).unwrap(), other);
            let noticed = !opinion.on(&verdict, &[]).contradicted.is_empty();
            sum.add(noticed);
            if !noticed {
                let plain: Vec<&str> = at.split('/').filter(|part| part.parse::<u32>().is_err()).collect();
                *missed.entry(format!("{}: {}", run.name, plain.join("/"))).or_default() += 1;
            }
            *verdict.pointer_mut(&at).unwrap() = was;
        }
    }
    println!("{} of {} noticed; not noticed: {missed:#?}", sum.noticed, sum.of);
    assert!(sum.of > 300, "{}", sum.of);
    assert!(missed.is_empty(), "{missed:#?}");
}

/// The least part of falsified numbers that is noticed; in the record in which it is the least; and of quoted ones.
const FLOOR: [f64; 3] = [0.97, 0.67, 0.94];

#[test]
fn a_falsified_number_is_noticed() {
    let all_names = std::env::var_os("GENKAI_FALSIFY_ALL").is_some();
    let (mut sum, mut missed) = ([Score::default(); 2], BTreeMap::new());
    for run in runs() {
        let scores = score(&run, all_names, &mut missed);
        let [computed, quoted] = scores;
        println!(
            "{:45} {:4} of {:4} noticed; quoted: {:3} of {:3}",
            run.name, computed.noticed, computed.of, quoted.noticed, quoted.of
        );
        let part = computed.noticed as f64 / computed.of as f64;
        assert!(part >= FLOOR[1], "{}: {part}; missed in all so far: {missed:#?}", run.name);
        for (all, one) in sum.iter_mut().zip(scores) {
            (all.noticed, all.of) = (all.noticed + one.noticed, all.of + one.of);
        }
    }
    let [computed, quoted] = sum;
    println!("all: {} of {} noticed; quoted: {} of {}", computed.noticed, computed.of, quoted.noticed, quoted.of);
    println!("not noticed: {missed:#?}");
    assert!(quoted.noticed as f64 >= FLOOR[2] * quoted.of as f64, "{} of {}", quoted.noticed, quoted.of);
    assert!(computed.noticed as f64 >= FLOOR[0] * computed.of as f64, "{} of {}", computed.noticed, computed.of);
}
