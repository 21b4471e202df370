//! `genkai report --check`: every statement of a verdict again, from the raw events, by code that does not know how it was made; and
//! the files beside it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use genkai_check::{Held, Part};
use genkai_model::exit::Exit;
use genkai_model::record::Record;
use genkai_model::statement::{Checked, FileDiffers, Statement, Unheld, UnheldWhy};
use genkai_report::{json, markdown, study};
use serde_json::Value;

use crate::cli::Report;
use crate::found::{self, Found};
use crate::{Failure, outputs, platforms, suite, view};

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
        false => {
            below(dir, DEPTH, &mut runs)?;
            runs.extend(platforms(dir)?);
            runs.extend(joined(dir)?);
        }
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

/// The check of the report of several platforms in `dir`: every statement against the record of its platform, and the files against what all records give.
fn platforms(dir: &Path) -> Result<Vec<(String, Checked)>, Failure> {
    let stored = fs::read_to_string(dir.join("verdict.json")).ok();
    let (Some(both), Some((verdict, statements))) = (platforms::again(dir), stored.as_deref().and_then(listed)) else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for (number, platform) in both.finding().platforms.iter().enumerate() {
        let (before, file) = (platforms::address(number), dir.join(&platform.name).join("run.jsonl"));
        let own = statements.iter().filter_map(|one| {
            let address = one.address.strip_prefix(&before)?.to_owned();
            Some(Statement { address, ..one.clone() })
        });
        let own: Vec<Statement> = own.collect();
        let lines =
            fs::read_to_string(&file).map_err(|e| Failure::usage(format!("cannot read {}: {e}", file.display())))?;
        let told = verdict.pointer(&before).cloned().unwrap_or_default();
        let checked = genkai_check::check(&lines, &told, &own);
        let mut checked = checked.map_err(|e| Failure::usage(format!("{}: {e}", file.display())))?;
        if number == 0 && verdict["build"] == found::BUILD {
            let mut held = Held::default();
            held.verdict(&verdict, &serde_json::from_str(&both.json()).unwrap_or_default(), &BTreeSet::new());
            if let Ok(page) = fs::read_to_string(dir.join("report.html")) {
                held.page(&page, &both.page(), &verdict);
            }
            (checked.files, checked.unheld) = (held.differing, held.unheld);
        }
        all.push((format!("{} ({} in both)", dir.display(), platform.name), checked));
    }
    Ok(all)
}

/// The check of the joined report of an experiment's parts in `dir`: what it says of each against that part's record, what it says of all against all
/// records, and the files against what all records give.
fn joined(dir: &Path) -> Result<Option<(String, Checked)>, Failure> {
    let stored = fs::read_to_string(dir.join("verdict.json")).ok();
    let Some((verdict, statements)) = stored.as_deref().and_then(listed) else { return Ok(None) };
    let told: Vec<&Value> = ["parts", "changes"].iter().filter_map(|list| verdict[list].as_array()).flatten().collect();
    let told: BTreeSet<&str> =
        told.into_iter().chain([&verdict["advice"]]).filter_map(|one| one["name"].as_str()).collect();
    let Some(mut again) = suite::among(dir, |name| told.contains(name)) else { return Ok(None) };
    // One that cannot be read at all was left out, and is told as such.
    let readable = again.records().iter().filter(|file| outputs::record(file).is_ok());
    let read = |file: &PathBuf| {
        let folder = file.parent()?.strip_prefix(dir).ok()?.display().to_string();
        Some(Part { folder, lines: fs::read_to_string(file).ok()? })
    };
    let parts: Vec<Part> = readable.filter_map(read).collect();
    let checked = genkai_check::joined(&parts, &verdict, &statements);
    let mut checked = checked.map_err(|e| Failure::usage(format!("{}: {e}", dir.display())))?;
    // Who ended it between two parts is in no record.
    if verdict["interrupted"] == true {
        again.cut_off();
    }
    if verdict["build"] != found::BUILD {
        checked = genkai_check::of_another_build(checked, &verdict);
    } else if let Some((json, page)) = again.files() {
        let mut held = Held::default();
        let differences = checked.differences.iter().map(|one| one.statement.address.clone());
        let known = differences.chain(checked.contradicted.iter().map(|one| one.address.clone())).collect();
        held.verdict(&verdict, &serde_json::from_str(&json).unwrap_or_default(), &known);
        if let Ok(stored) = fs::read_to_string(dir.join("report.html")) {
            held.page(&stored, &page, &verdict);
        }
        (checked.files, checked.unheld) = (held.differing, held.unheld);
    }
    Ok(Some((format!("{} (all parts)", dir.display()), checked)))
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

/// The check of one record: of the verdict beside it where that lists its statements, else of the verdict as it is made now; and of the files
/// beside it.
fn one(dir: &Path, file: &Path) -> Result<Checked, Failure> {
    let lines = fs::read_to_string(file).map_err(|e| Failure::usage(format!("cannot read {}: {e}", file.display())))?;
    let beside = fs::read_to_string(dir.join("verdict.json")).ok();
    let stored = beside.as_deref().and_then(listed);
    let made = now(file);
    let this_build = stored.as_ref().is_none_or(|(verdict, _)| verdict["build"] == found::BUILD);
    let unlisted = beside.is_some() && stored.is_none();
    let again = || made.as_ref().and_then(|(_, found)| listed(found.json())).unwrap_or_default();
    let (verdict, statements) = stored.unwrap_or_else(again);
    let checked = genkai_check::check(&lines, &verdict, &statements);
    let checked = checked.map_err(|e| Failure::usage(format!("{}: {e}", file.display())))?;
    let mut checked = if this_build { checked } else { genkai_check::of_another_build(checked, &verdict) };
    let mut held = Held::default();
    let beside_of_this = || {
        let verdict: Option<Value> = beside.as_deref().and_then(|text| serde_json::from_str(text).ok());
        verdict.is_none_or(|verdict| verdict["build"] == found::BUILD)
    };
    if unlisted && beside_of_this() {
        // Every verdict of this build lists them.
        held.differing.push(FileDiffers {
            file: "verdict.json".to_owned(),
            address: Some("/statements".to_owned()),
            stated: "no list of statements".to_owned(),
            record: "one for each figure".to_owned(),
        });
    } else if unlisted {
        held.unheld.push(Unheld { file: "verdict.json".to_owned(), why: UnheldWhy::NoStatements });
    }
    if let Some((record, found)) = &made {
        if this_build && !unlisted && beside.is_some() {
            words(dir, &verdict, (record, found), &checked, &mut held);
        }
        if let Ok(page) = fs::read_to_string(dir.join("report.html")) {
            held.page(&page, &found.page(record), &verdict);
        }
    }
    held.proposal(&lines, |path| fs::read(dir.join(path)).ok(), |folder| files(dir, folder));
    checked.files = held.differing;
    checked.unheld = held.unheld;
    Ok(checked)
}

/// What this build wrote beside a record: every word of the verdict, the table, and the figures that are there.
fn words(dir: &Path, verdict: &Value, (record, found): (&Record, &Found), checked: &Checked, held: &mut Held) {
    let differences = checked.differences.iter().map(|one| one.statement.address.clone());
    let known = differences.chain(checked.contradicted.iter().map(|one| one.address.clone())).collect();
    let made = serde_json::from_str(found.json()).unwrap_or_default();
    held.verdict(verdict, &made, &known);
    let file = found.file().map(|(name, text)| (name.to_owned(), text.to_owned()));
    for (name, text) in file.into_iter().chain(found.figures(record)) {
        if let Ok(stored) = fs::read_to_string(dir.join(&name)) {
            held.text(&name, &stored, &text);
        }
    }
}

/// All files below a folder of a run, by their paths in the run's folder.
fn files(dir: &Path, folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join(folder)).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries
        .flat_map(|entry| {
            let path = folder.join(entry.file_name());
            // A link is a file of another's, wherever it leads.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) { files(dir, &path) } else { vec![path] }
        })
        .collect();
    all.sort();
    all
}

/// A verdict with its statements; none where it has none.
fn listed(text: &str) -> Option<(Value, Vec<Statement>)> {
    let verdict: Value = serde_json::from_str(text).ok()?;
    let statements = serde_json::from_value(verdict.get("statements")?.clone()).ok()?;
    Some((verdict, statements))
}

/// What is stated of a record today. A record with a line that is no event states nothing: the check names that line.
fn now(file: &Path) -> Option<(Record, Found)> {
    let record = outputs::record(file).ok()?;
    let found = found::any(&record);
    Some((record, found))
}
