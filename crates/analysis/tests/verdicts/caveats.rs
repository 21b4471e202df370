//! What weakens an answer is told: the second computation, which shares no code with the first, notices each caveat that is left out, and each
//! that has no ground.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use genkai_analysis::statements;
use genkai_model::comparison::{Comparison, DroppedContender, Runs};
use genkai_model::event::{EndReason, RunEnded, What};
use genkai_model::figure::Figure;
use genkai_model::finding::Caveat;
use genkai_model::latencies::ContenderRecord;
use genkai_model::plan::{Plan, Study};
use genkai_model::record::Record;
use genkai_model::statement::{Source, Statement, Value};
use genkai_model::units::Span;
use serde::Serialize;
use serde_json::Value as Json;

use crate::story::{Does, PLAIN, Story, comparison};
use crate::world::lines;
use crate::world::parts::{plan, users};

/// The kinds of caveats of a finding, each of which is missed where it is left out; and a figure of none is left out unnoticed.
fn kinds(record: &Record, finding: &impl Serialize) -> BTreeSet<String> {
    let (lines, stated) = (lines::of(record), statements::of(finding, Some(record)));
    let verdict = serde_json::to_value(finding).unwrap();
    let opinion = genkai_check::Opinion::of(&lines, &verdict).unwrap();
    let whole = opinion.on(&verdict, &stated);
    assert!(whole.contradicted.is_empty() && whole.differences.is_empty(), "{whole:#?}");
    let told = verdict["caveats"].as_array().cloned().unwrap_or_default();
    let mut kinds = BTreeSet::new();
    for (i, caveat) in told.iter().enumerate() {
        let mut without = verdict.clone();
        without["caveats"].as_array_mut().unwrap().remove(i);
        let again = told.iter().filter(|other| *other == caveat).count() > 1;
        let missed = opinion.on(&without, &[]).contradicted.iter().any(|one| one.address == "/caveats/-");
        assert!(missed || again, "nobody misses {caveat}");
        let kind = caveat["caveat"].as_str().unwrap().to_owned();
        let mut renamed = verdict.clone();
        let field = ["name", "subject"].into_iter().find(|field| caveat.get(field).is_some());
        if let Some(field) = field {
            renamed["caveats"][i][field] = "nobody".into();
            let noticed = opinion.on(&renamed, &[]).contradicted;
            assert!(
                noticed.iter().any(|one| one.address == format!("/caveats/{i}")),
                "{caveat} of nobody: {noticed:?}"
            );
        }
        kinds.insert(kind);
    }
    kinds
}

/// The kinds that a story of a comparison has.
fn of_story(mut story: Story) -> BTreeSet<String> {
    story.push(
        None,
        What::RunEnded(RunEnded { interrupted: false, failure: None, diff: String::new(), files: Vec::new() }),
    );
    let finding = genkai_analysis::compare::findings(&story.record).unwrap();
    kinds(&story.record, &finding)
}

fn two(blocks: u32, a: Does, b: Does) -> Story {
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.blocks(blocks, &[("a", a), ("b", b)]);
    story
}

/// The first contender against itself differs in everything.
fn strays(deciding: Vec<Figure>) -> Story {
    let mut story = Story::new(Comparison { deciding, ..comparison(&["a", "b"], true) });
    for block in 1..=5 {
        story.turn("a", block, false, PLAIN);
        story.turn("b", block, false, PLAIN);
        story.turn("a", block, true, Does { rate: 150.0, latency: 25.0, ..PLAIN });
    }
    story
}

#[test]
fn each_caveat_of_a_comparison_is_missed_where_it_is_left_out() {
    let mut seen = of_story(strays(vec![Figure::Throughput]));
    seen.extend(of_story(two(5, PLAIN, Does { client: 1.0, ..PLAIN })));
    seen.extend(of_story(two(2, PLAIN, Does { hidden: 2, ..PLAIN })));
    seen.extend(of_story(two(2, PLAIN, Does { size: 300, ..PLAIN })));
    seen.extend(of_story(two(5, PLAIN, Does { failed: 30, ..PLAIN })));
    seen.extend(of_story(two(2, PLAIN, Does { held: 30, ..PLAIN })));
    seen.extend(of_story(two(2, PLAIN, Does { until: 0, ..PLAIN })));
    let mut impatient = Story::new(comparison(&["a", "b"], true));
    impatient.load.timeout = Span::from_millis(500);
    impatient.blocks(5, &[("a", Does { held: 1, ..PLAIN }), ("b", Does { held: 30, failed: 2, ..PLAIN })]);
    seen.extend(of_story(impatient));
    let silent = Does { rate: 0.0, failed: 30, ..PLAIN };
    seen.extend(of_story(two(5, silent, silent)));
    let mut paced = Story::new(comparison(&["a", "b"], true));
    paced.touch = |tick| tick.paced = Some(tick.errors.iter().map(|error| error.count).sum());
    paced.blocks(2, &[("a", PLAIN), ("b", Does { failed: 3, ..PLAIN })]);
    seen.extend(of_story(paced));
    let mut again = Story::new(comparison(&["a", "b"], true));
    again.touch = |tick| tick.retried = tick.errors.iter().map(|error| error.count).sum();
    again.blocks(2, &[("a", PLAIN), ("b", Does { failed: 3, ..PLAIN })]);
    seen.extend(of_story(again));
    let mut standing = comparison(&["a", "b"], false);
    standing.contenders[1].runs = Runs::Url("http://127.0.0.1:1".to_owned());
    standing.control = false;
    let mut stands = Story::new(standing);
    (1..=2).for_each(|block| ["a", "b"].iter().for_each(|name| stands.turn(name, block, false, PLAIN)));
    seen.extend(of_story(stands));
    let mut drifting = Story::new(comparison(&["a", "b"], true));
    for block in 1..=8_u32 {
        let slower = Does { rate: 100.0 * 1.3_f64.powi(block as i32), ..PLAIN };
        [("a", PLAIN), ("b", slower)].into_iter().for_each(|(name, does)| drifting.turn(name, block, false, does));
        drifting.turn("a", block, true, PLAIN);
    }
    seen.extend(of_story(drifting));
    let mut other = two(2, PLAIN, PLAIN);
    let entry = ContenderRecord {
        contender: "b".to_owned(),
        version: String::new(),
        settings: Vec::new(),
        rewrites: Vec::new(),
        largest: None,
        compression: true,
        started: Span(0),
    };
    other.push(None, What::Contender(Box::new(entry)));
    other.record.trials.last_mut().unwrap().ended.as_mut().unwrap().reason = EndReason::ServerDied;
    seen.extend(of_story(other));
    let mut out = Story::new(comparison(&["a", "b", "c"], false));
    out.blocks(2, &[("a", PLAIN), ("b", PLAIN), ("c", PLAIN)]);
    let dropped = DroppedContender { contender: "c".to_owned(), block: 3, why: "no".to_owned() };
    out.push(None, What::Dropped(Box::new(dropped)));
    seen.extend(of_story(out));
    let cut = two(2, PLAIN, PLAIN).record;
    seen.extend(kinds(&cut, &genkai_analysis::compare::findings(&cut).unwrap()));
    let all = [
        "answers_unlike",
        "client_limit",
        "control_differs",
        "control_strays",
        "died",
        "drift",
        "hidden_errors",
        "left_unanswered",
        "no_control",
        "not_compressed",
        "not_restarted",
        "nothing_answered",
        "out",
        "paced",
        "record_cut_off",
        "retried",
        "survivors",
        "unanswered",
    ];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

/// Of a turn in which nothing came to an end no part failed: it says nothing of failures, and not that there were none.
#[test]
fn a_turn_in_which_nothing_came_to_an_end_is_in_no_comparison_of_failures() {
    let failing = Does { rate: 50.0, failed: 50, ..PLAIN };
    let nothing = Does { rate: 0.0, ..PLAIN };
    let mut story = Story::new(comparison(&["a", "b"], true));
    for block in 1..=5 {
        story.turn("a", block, false, failing);
        story.turn("b", block, false, if block < 4 { nothing } else { failing });
        story.turn("a", block, true, failing);
    }
    let finding = genkai_analysis::compare::findings(&story.record).unwrap();
    let failures = &finding.pairs[0].effects[0];
    assert_eq!((failures.figure, failures.effect.map(|effect| effect.n)), (Figure::Failures, Some(2)));
    let told = finding.contenders[1].figures[0].value.unwrap();
    assert!(told.n == 2 && told.value > 0.4, "{told:?}");
    kinds(&story.record, &finding);
}

/// A load that held, whose answers are of so many bytes at first and in the end.
fn changing(bytes: [u64; 2], failed: u64) -> Record {
    let plan = plan(users(20, 1e9), "errors < 10%");
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.turn("a", 1, false, Does { failed, ..PLAIN });
    let mut record = story.record;
    record.head.as_mut().unwrap().plan = Plan { study: Study::Load, ..plan };
    for trial in &mut record.trials {
        trial.turn = None;
        let many = trial.ticks.len();
        for (n, tick) in trial.ticks.iter_mut().enumerate() {
            tick.bytes_in = bytes[usize::from(n > many / 2)] * tick.ok;
            tick.in_flight = 10;
        }
    }
    record
}

/// Answers that become shorter, or longer, by more than half: the first ones and the last ones are told of, where hardly any failed.
#[test]
fn answers_that_change_with_the_load_are_told_and_missed_where_they_are_left_out() {
    let told = |bytes, failed, in_flight: u64| {
        let mut record = changing(bytes, failed);
        record.trials[0].ticks.iter_mut().for_each(|tick| tick.in_flight = in_flight);
        let verdict = genkai_analysis::findings(&record).verdict;
        kinds(&record, &verdict);
        verdict.caveats.into_iter().find_map(|caveat| match caveat {
            Caveat::AnswersChanged { first, last, .. } => Some((first.bytes, last.bytes)),
            _ => None,
        })
    };
    assert_eq!(told([3_000, 150], 0, 10), Some((3_000.0, 150.0)));
    assert_eq!(told([150, 3_000], 0, 10), Some((150.0, 3_000.0)));
    assert_eq!((told([300, 151], 0, 10), told([3_000, 150], 5, 10)), (None, None));
    // With so many under way the bytes of an interval are of other answers than those that end in it.
    assert_eq!(told([3_000, 150], 0, 1_000), None);
}

/// A finding on a committed record, as JSON, with its figures.
fn found(record: &Record) -> Option<(Json, Vec<Statement>)> {
    fn told(finding: &impl Serialize, record: &Record) -> (Json, Vec<Statement>) {
        (serde_json::to_value(finding).unwrap(), statements::of(finding, Some(record)))
    }
    match &record.head.as_ref()?.plan.study {
        Study::Load | Study::Tune => Some(told(&genkai_analysis::findings(record).verdict, record)),
        Study::Compare(_) => Some(told(&genkai_analysis::compare::findings(record)?, record)),
        Study::Cache(_) => Some(told(&genkai_analysis::cache::findings(record)?, record)),
        Study::Latencies(_) => Some(told(&genkai_analysis::latencies::findings(record)?, record)),
        Study::Rooms(_) => Some(told(&genkai_analysis::rooms::findings(record)?, record)),
        Study::IdleRequests { .. } => Some(told(&genkai_analysis::idle_requests::findings(record)?, record)),
    }
}

/// The committed records of every kind.
fn committed(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::from_iter(dir.join("run.jsonl").exists().then(|| dir.to_owned()));
    for entry in std::fs::read_dir(dir).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        all.extend(committed(&entry.path()));
    }
    all
}

/// The least part of figures that are not zero of which it is noticed that they are not told.
const FLOOR: f64 = 0.9;

#[test]
fn a_figure_that_is_left_out_is_missed() {
    let (mut missed, mut of, mut unseen, mut wrong) = (0, 0, BTreeSet::new(), Vec::new());
    let records = committed(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../genkai/tests/records"));
    assert!(records.len() >= 20, "{records:?}");
    for folder in records {
        let lines = std::fs::read_to_string(folder.join("run.jsonl")).unwrap();
        let Some((verdict, stated)) = found(&Record::read(lines.lines()).unwrap()) else { continue };
        let opinion = genkai_check::Opinion::of(&lines, &verdict).unwrap();
        let whole = opinion.on(&verdict, &stated);
        let name = folder.file_name().unwrap().display().to_string();
        let told = |one: &genkai_model::statement::Contradicted| {
            format!("{name} {}: {}, {}", one.address, one.stated, one.events)
        };
        wrong.extend(whole.contradicted.iter().map(told));
        wrong.extend(whole.differences.iter().map(|one| format!("{name} {}: {}", one.statement.address, one.events)));
        let counts =
            |one: &&Statement| matches!(one.value, Value::Count(1..) | Value::MoreThan(_)) && one.from != Source::Plan;
        for one in stated.iter().filter(counts).step_by(5) {
            let mut without = verdict.clone();
            *without.pointer_mut(&one.address).unwrap() = Json::Null;
            of += 1;
            if opinion.on(&without, &[]).contradicted.is_empty() {
                unseen.insert(one.predicate.clone());
            } else {
                missed += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    println!("{missed} of {of} missed where they are left out; not missed: {unseen:#?}");
    assert!(f64::from(missed) >= FLOOR * f64::from(of) && of > 200, "{missed} of {of}: {unseen:#?}");
}
