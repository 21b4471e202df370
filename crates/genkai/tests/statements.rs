//! Every figure of every kind of record is a statement with an address.

mod harness;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use genkai_model::statement::{Statement, Value};
use serde_json::Value as Json;

use harness::recorded::{copy, judged, read, records};
use harness::{finish, genkai};

/// A committed run folder's verdict as it is made today.
fn verdict(folder: &Path) -> Json {
    let dir = tempfile::tempdir().unwrap();
    let copied = dir.path().join("run");
    copy(folder, &copied);
    finish(genkai("report --quiet").arg(&copied), Duration::from_secs(60));
    read(&copied.join("verdict.json"))
}

/// The figures of a finding: the address of each number.
fn numbers(tree: &Json, address: &str, all: &mut BTreeSet<String>) {
    match tree {
        Json::Object(fields) => {
            fields.iter().for_each(|(name, value)| numbers(value, &format!("{address}/{name}"), all));
        }
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| numbers(item, &format!("{address}/{i}"), all));
        }
        Json::Number(_) => drop(all.insert(address.to_owned())),
        _ => {}
    }
}

/// The folders, each with a verdict of today.
fn all() -> Vec<(PathBuf, Json)> {
    judged(&records()).into_iter().map(|folder| (folder.clone(), verdict(&folder))).collect()
}

#[test]
fn every_number_of_every_verdict_is_a_statement() {
    let mut nowhere = BTreeSet::new();
    for (folder, mut verdict) in all() {
        let stated = verdict.as_object_mut().unwrap().remove("statements").unwrap();
        let stated: Vec<Statement> = serde_json::from_value(stated).unwrap();
        let mut found = BTreeSet::new();
        numbers(&verdict, "", &mut found);
        for address in found {
            let of = |one: &&Statement| one.address == address || address.starts_with(&format!("{}/", one.address));
            if !stated.iter().any(|one| of(&one)) {
                nowhere.insert(format!("{}: {address}", folder.display()));
            }
        }
        for one in &stated {
            let seen = verdict.pointer(&one.address).unwrap_or_else(|| panic!("{}: leads nowhere", one.address));
            let same = match one.value {
                Value::Count(n) => seen.as_u64() == Some(n),
                Value::Measured(x) => seen.as_f64() == Some(x),
                Value::Estimate { value, .. } => seen["value"].as_f64() == Some(value),
                Value::Between { low, high } => {
                    (seen["low"].as_f64(), seen["high"].as_f64()) == (Some(low), Some(high))
                }
                Value::NotSampled => seen.is_null() || seen.as_f64() == Some(0.0) || seen == "not_sampled",
                Value::MoreThan(_) | Value::LessThan(_) => seen.is_object(),
            };
            assert!(same, "{}: {one:?} and {seen}", folder.display());
        }
    }
    assert!(nowhere.is_empty(), "without an address: {nowhere:#?}");
}
