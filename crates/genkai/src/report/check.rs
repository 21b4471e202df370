//! `genkai report --check`: every statement of a verdict again, from the raw events, by code that does not know how it was made.

use std::fs;
use std::path::Path;

use genkai_model::exit::Exit;
use genkai_model::statement::{Checked, Statement};
use genkai_report::{json, markdown, study};
use serde_json::Value;

use crate::cli::Report;
use crate::{Failure, found, outputs, view};

/// How deep below a folder the runs of an experiment are.
const DEPTH: u32 = 3;

/// Checks the run in `dir`, or every run below it. Fails when a statement does not follow or an event does not fit.
///
/// # Errors
/// When there is no record, or one cannot be read at all.
pub(super) fn run(dir: &Path, file: &Path, flags: &Report) -> Result<Exit, Failure> {
    let mut runs = Vec::new();
    match file.exists() {
        true => runs.push((dir.display().to_string(), one(dir, file)?)),
        false => below(dir, DEPTH, &mut runs)?,
    }
    if runs.is_empty() {
        return Err(Failure::usage(format!("no record in {}\n  hint: give the folder of a run", dir.display())));
    }
    let document = study::check(&runs);
    if !flags.quiet {
        let form =
            || if flags.json { Some(json::value(&told(&runs))) } else { flags.markdown.then(|| markdown(&document)) };
        view::show(form(), &document, flags.color);
    }
    Ok(if runs.iter().all(|(_, checked)| checked.holds()) { Exit::Holds } else { Exit::Fails })
}

/// A folder's name with what was found.
fn told(runs: &[(String, Checked)]) -> Vec<Value> {
    runs.iter().map(|(run, checked)| serde_json::json!({ "run": run, "checked": checked })).collect()
}

fn below(dir: &Path, deep: u32, runs: &mut Vec<(String, Checked)>) -> Result<(), Failure> {
    let entries = fs::read_dir(dir).map_err(|e| Failure::usage(format!("cannot read {}: {e}", dir.display())))?;
    let mut folders: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    for folder in folders {
        let file = folder.join("run.jsonl");
        match file.exists() {
            true => runs.push((folder.display().to_string(), one(&folder, &file)?)),
            false if deep > 1 => below(&folder, deep - 1, runs)?,
            false => {}
        }
    }
    Ok(())
}

/// The check of one record: of the verdict beside it where that lists its statements, else of the verdict as it is made now.
fn one(dir: &Path, file: &Path) -> Result<Checked, Failure> {
    let lines = fs::read_to_string(file).map_err(|e| Failure::usage(format!("cannot read {}: {e}", file.display())))?;
    let stored = fs::read_to_string(dir.join("verdict.json")).ok().and_then(|text| listed(&text));
    let (verdict, statements) = match stored {
        Some(stored) => stored,
        None => now(file)?,
    };
    genkai_check::check(&lines, &verdict, &statements).map_err(|e| Failure::usage(format!("{}: {e}", file.display())))
}

/// A verdict with its statements; none where it has none.
fn listed(text: &str) -> Option<(Value, Vec<Statement>)> {
    let verdict: Value = serde_json::from_str(text).ok()?;
    let statements = serde_json::from_value(verdict.get("statements")?.clone()).ok()?;
    Some((verdict, statements))
}

/// What is stated of a record today. A record with a line that is no event states nothing: the check names that line.
fn now(file: &Path) -> Result<(Value, Vec<Statement>), Failure> {
    let record = match outputs::record(file) {
        Ok(record) => record,
        Err(_) => return Ok((Value::Null, Vec::new())),
    };
    let found = found::found(&record).unwrap_or_else(|| found::tuned(&record, false));
    Ok(listed(found.json()).unwrap_or_default())
}
