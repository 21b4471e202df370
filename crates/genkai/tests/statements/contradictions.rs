//! No two statements of a verdict contradict each other, and none contradicts a counter of its record: over records drawn at random, and over
//! those that users may have from earlier versions. And all of it follows from the record by the second computation, too.

mod found;
mod moments;
mod worlds;

use std::fs;
use std::path::{Path, PathBuf};

use genkai_analysis::statements;
use genkai_model::plan::Study;
use genkai_model::record::Record;
use genkai_report::study;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// One seed in `make test`; another one each time for a longer look.
fn seed() -> RngSeed {
    if std::env::var("GENKAI_CONTRADICTIONS").is_ok() { RngSeed::Random } else { RngSeed::Fixed(20_261_123) }
}

/// Runs drawn: some seconds in `make test`; more for a longer look.
fn cases() -> u32 {
    std::env::var("GENKAI_CONTRADICTIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(24)
}

fn of(record: &Record) -> Vec<String> {
    let findings = genkai_analysis::findings(record);
    let document = study::tune(record, &findings);
    let found = found::contradictions(record, &findings, &document);
    if found.is_empty() { found } else { [found, document.sentences].concat() }
}

/// What of the verdict on a record does not follow by the second computation.
fn unfounded(record: &Record) -> Vec<String> {
    let verdict = genkai_analysis::findings(record).verdict;
    let stated = statements::of(&verdict, Some(record));
    let checked =
        genkai_check::check(&crate::world::lines::of(record), &serde_json::to_value(&verdict).unwrap(), &stated)
            .unwrap();
    let figures = checked.differences.iter().map(|one| format!("{one:?}"));
    figures.chain(checked.contradicted.iter().map(|one| format!("{one:?}"))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), rng_seed: seed(), max_shrink_iters: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_two_statements_of_a_verdict_contradict_each_other(drawn in worlds::drawn(), from in 0.5..5.0f64, back in 0.5..9.0f64) {
        let record = drawn.record();
        let found = of(&record);
        prop_assert!(found.is_empty(), "{:#?}", found);
        // One of the two by the second computation, which takes its time.
        let refused = from > 2.5;
        let found = if refused { Vec::new() } else { unfounded(&record) };
        prop_assert!(found.is_empty(), "{:#?}", found);
        // The same with a server that refuses for a while, or to the end.
        let record = worlds::refusing(record, from, Some(back).filter(|back| *back < 6.0));
        let found = [of(&record), if refused { unfounded(&record) } else { Vec::new() }].concat();
        prop_assert!(found.is_empty(), "refusing from {}: {:#?}", from, found);
    }

    #[test]
    fn what_is_tried_on_follows_from_the_record(drawn in moments::drawn()) {
        let record = drawn.record();
        let found = [of(&record), unfounded(&record)].concat();
        prop_assert!(found.is_empty(), "{:#?}", found);
    }
}

/// Folders below `dir` that hold a record, itself included.
fn recorded(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::from_iter(dir.join("run.jsonl").exists().then(|| dir.to_owned()));
    for entry in fs::read_dir(dir).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        all.extend(recorded(&entry.path()));
    }
    all
}

#[test]
fn no_record_of_an_earlier_version_is_read_into_a_contradiction() {
    let mut read = 0;
    for folder in recorded(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records")) {
        let text = fs::read_to_string(folder.join("run.jsonl")).unwrap();
        let record = Record::read(text.lines()).unwrap();
        if !matches!(record.head.as_ref().unwrap().plan.study, Study::Tune | Study::Load) {
            continue;
        }
        read += 1;
        let found = of(&record);
        assert!(found.is_empty(), "{}: {found:#?}", folder.display());
    }
    assert!(read >= 10, "only {read} records");
}
