//! Falsified verdicts: one number changed, in the finding and in its statement alike. How many of them `--check` notices is its measure.

mod harness;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use genkai_check::Opinion;
use genkai_model::statement::{Source, Statement, Unit, Value};
use serde_json::Value as Json;

use harness::recorded::{copy, judged, read, records};
use harness::{finish, genkai};

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
const NAMES: u64 = 60;

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

/// The least part of falsified numbers that is noticed; and in the record in which it is the least.
const FLOOR: [f64; 2] = [0.85, 0.20];

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
    assert!(computed.noticed as f64 >= FLOOR[0] * computed.of as f64, "{} of {}", computed.noticed, computed.of);
}
