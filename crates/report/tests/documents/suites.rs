//! Experiments of several runs, as they are told.

use genkai_model::claim::Test;
use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::figure::Figure;
use genkai_model::finding::claim::ClaimVerdict;
use genkai_model::finding::comparison::{ComparedPair, ComparisonCaveat, ComparisonFinding};
use genkai_model::finding::{Answered, Call, Decision, Outcome};
use genkai_model::suite::{AdviceFinding, ChangesFinding, LoadFigures, PartFinding, SuiteFinding, Untested};
use genkai_report::document::Document;
use genkai_report::{html, json, study, text};

use crate::compare::{claim, effects, finding, schema};
use crate::fixture;

fn suite_document(finding: &SuiteFinding) -> Document {
    study::suite(&fixture::experiment(2.0).record.head.unwrap(), finding)
}

fn suite_file(finding: &SuiteFinding) -> serde_json::Value {
    serde_json::from_str(&json::finding(finding, &study::suite_sentences(finding), &[])).unwrap()
}

/// An experiment of a search, changes and advice.
fn suite() -> SuiteFinding {
    let s = fixture::experiment(2.0);
    let load = |name: &str, completed| LoadFigures {
        name: name.to_owned(),
        launched: 500,
        completed,
        errors: vec![ErrorCount { kind: ErrorKind::Timeout, count: 500 - completed }],
        connects: Some(completed as f64 / 500.0),
        ..LoadFigures::default()
    };
    let part = |name: &str, trouble: Option<&str>, named| PartFinding {
        name: name.to_owned(),
        question: "why?".to_owned(),
        trouble: trouble.map(str::to_owned),
        answer: "Yes: change it.".to_owned(),
        named,
        loads: vec![load("as it is", 300)],
        verdict: s.findings.verdict.clone(),
    };
    let mut comparison = finding();
    comparison.pairs.push(ComparedPair {
        base: "baseline".to_owned(),
        other: "all together".to_owned(),
        effects: effects().into_iter().filter(|effect| effect.call == Call::Same).collect(),
    });
    let gone = claim(Test::Line("Y On".to_owned()), ClaimVerdict::DoesNotExist, Vec::new(), &["Invalid command 'Y'"]);
    let untested = Untested { claim: "m".to_owned(), why: "there is no event MPM here".to_owned() };
    SuiteFinding {
        schema: genkai_model::suite::SCHEMA.to_owned(),
        title: "apache-websocket".to_owned(),
        parts: vec![part("answer", None, true), part("slow", Some("responses slow down"), false)],
        changes: vec![ChangesFinding {
            name: "changes".to_owned(),
            question: "which?".to_owned(),
            loads: vec![load("baseline", 300), load("w", 500)],
            comparison,
        }],
        advice: Some(AdviceFinding {
            name: "claims".to_owned(),
            question: "is it true?".to_owned(),
            claims: vec![gone],
            untested: vec![untested],
        }),
        processes: vec![],
        interrupted: false,
    }
}

#[test]
fn an_experiment_of_several_runs_has_one_file_that_follows_its_schema() {
    let validator = jsonschema::draft202012::new(&schema("apache-websocket")).unwrap();
    let mut value: serde_json::Value = suite_file(&suite());
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let back: SuiteFinding = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(back, suite());
    assert_eq!(
        value["says"][0],
        "1 of 2 searches named what is behind it; not: slow. changes: w|·[31m made a difference; 1 other made none that was found. Of 2 \
         pieces of advice: 1 does not exist; 1 could not be tested."
    );
    assert_eq!(
        value["says"][3],
        "changes: Beside baseline, better in failures, throughput, worse in memory: w|·[31m. No difference was found: all together."
    );
    value["advice"]["claims"][0]["verdict"] = "perhaps".into();
    assert!(!validator.is_valid(&value));
}

#[test]
fn an_experiment_of_several_runs_is_one_text_and_one_page() {
    let shown = text::document(&suite_document(&suite()), text::Style::default());
    assert!(!shown.contains('\u{1b}') && shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    for part in
        ["500 of 500", "300 of 500", "responses slow down", "n: does not exist", "not tested: there is no event MPM"]
    {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let data: serde_json::Value = serde_json::from_str(&html::data(None, &suite_document(&suite()))).unwrap();
    let section = |id: &str| {
        let sections = data["document"]["sections"].as_array().unwrap();
        sections.iter().find(|section| section["id"] == id).unwrap()["blocks"].clone()
    };
    let changes = section("changes");
    assert_eq!(changes[1]["rows"][0][2], "better: x1.82 (1.52-2.18)");
    assert_eq!(changes[3]["blocks"][0]["rows"][1][1], "500 of 500");
    assert_eq!(section("claims")[1]["rows"][0][3], "does not exist");
    let ids: Vec<&str> =
        data["document"]["sections"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["troubles", "figures", "parts", "changes", "claims", "environment"]);
}

#[test]
fn an_experiment_holds_when_nothing_is_open() {
    let mut all = suite();
    assert_eq!(all.outcome(), Outcome::Fails);
    all.parts.pop();
    all.changes[0].comparison.outcome = Outcome::Holds;
    assert_eq!(all.outcome(), Outcome::Fails, "a claim could not be tested");
    all.advice.as_mut().unwrap().untested.clear();
    assert_eq!(all.outcome(), Outcome::Holds);
    all.advice.as_mut().unwrap().claims[0].verdict = ClaimVerdict::CannotTell;
    assert_eq!(all.outcome(), Outcome::Fails);
    all.changes[0].comparison.outcome = Outcome::Invalid;
    assert_eq!(all.outcome(), Outcome::Invalid);
    (all.parts, all.changes, all.advice) = (Vec::new(), Vec::new(), None);
    assert_eq!(all.outcome(), Outcome::Unfinished);
}

/// The same where nothing is open.
fn decided() -> SuiteFinding {
    let mut all = suite();
    all.parts.iter_mut().for_each(|part| part.named = true);
    all.changes[0].comparison.outcome = Outcome::Holds;
    all.advice = None;
    all
}

#[test]
fn an_experiment_does_not_hold_where_a_run_says_nothing_or_was_cut_off() {
    assert_eq!(decided().outcome(), Outcome::Holds);
    let cut = SuiteFinding { interrupted: true, ..decided() };
    assert_eq!(cut.outcome(), Outcome::Unfinished);
    let mut invalid = decided();
    invalid.parts[0].verdict.answer = Answered(Decision::Invalid);
    assert_eq!(invalid.outcome(), Outcome::Invalid, "whatever is said to be named");
    let mut short = decided();
    short.changes[0].comparison.outcome = Outcome::Unfinished;
    assert_eq!(short.outcome(), Outcome::Unfinished);
    for (all, outcome) in [(decided(), "holds"), (cut, "unfinished"), (invalid, "invalid"), (suite(), "fails")] {
        assert_eq!(serde_json::to_value(suite_document(&all).outcome).unwrap(), outcome);
    }
}

#[test]
fn what_was_cut_off_says_so_first_in_every_form() {
    let cut = SuiteFinding { interrupted: true, ..decided() };
    let said = "It was cut off before its end: parts may be missing.";
    let value: serde_json::Value = suite_file(&cut);
    assert!(value["interrupted"] == true && value["says"][0].as_str().unwrap().starts_with(said), "{value}");
    assert!(text::document(&suite_document(&cut), text::Style::default()).contains(said));
    assert!(suite_document(&cut).headline.starts_with(said));
    let whole: serde_json::Value = suite_file(&decided());
    assert!(!whole["says"][0].as_str().unwrap().contains("cut off"), "{whole}");
}

#[test]
fn changes_that_were_not_compared_are_not_called_without_effect() {
    let says = |comparison: &ComparisonFinding| {
        let mut all = decided();
        all.parts.clear();
        all.changes[0].comparison = comparison.clone();
        let value: serde_json::Value = suite_file(&all);
        (
            value["says"][0].to_string(),
            value["says"][1].to_string(),
            text::document(&suite_document(&all), text::Style::default()),
        )
    };
    let mut cut = ComparisonFinding { blocks: 1, outcome: Outcome::Unfinished, ..finding() };
    cut.pairs[0].effects.iter_mut().for_each(|effect| (effect.effect, effect.call) = (None, Call::Missing));
    let (headline, changes, shown) = says(&cut);
    for said in [&headline, &changes] {
        assert!(said.contains("changes: The run ended before every contender had two turns"), "{said}");
    }
    assert!(!shown.contains("no difference") && !shown.contains("Each change beside"), "{shown}");
    let control = ComparisonCaveat::ControlDiffers { figures: vec![Figure::Throughput] };
    let differs = ComparisonFinding { outcome: Outcome::Invalid, caveats: vec![control], ..finding() };
    let (headline, changes, _) = says(&differs);
    for said in [&headline, &changes] {
        assert!(said.contains("changes: The first contender differs from itself in throughput"), "{said}");
        assert!(!said.contains("made a difference;") && !said.contains("better in"), "{said}");
    }
}
