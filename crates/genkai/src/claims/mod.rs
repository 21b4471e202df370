//! `genkai claims`: files to claims, their tests one after the other, the table of what came of them.

pub(crate) mod shipped;

use std::fs;
use std::path::{Path, PathBuf};

use genkai_analysis::compare::findings;
use genkai_engine::StopFlag;
use genkai_lab::LabError;
use genkai_lab::claims::{self, Effort};
use genkai_lab::compare::{self, Usual};
use genkai_lab::experiment::Size;
use genkai_lab::placement::Placement;
use genkai_lab::study::preview;
use genkai_lab::system::Pin;
use genkai_model::claim::Claim;
use genkai_model::exit::Exit;
use genkai_model::finding::claim::{ClaimFinding, ClaimVerdict};
use genkai_model::plan::Plan;
use genkai_model::record::Record;
use genkai_model::suite::Untested;
use genkai_report::{json, markdown};
use genkai_targets::catalog;

use crate::cli::Claims;
use crate::view::{self, View};
use crate::{Failure, flags, found, interrupt, outputs, study};

/// How deep below a folder records are looked for: a folder of runs, of which each has a folder for each claim.
const DEPTH: u32 = 3;
/// A record's file in its folder.
const RECORD: &str = "run.jsonl";
/// The claims that the last tests in a folder did not come to, and why: they have no record to tell it.
const UNTESTED: &str = "untested.json";

/// `genkai claims`.
pub(crate) fn run(flags: &Claims) -> Result<Exit, Failure> {
    if !flags.from.is_empty() {
        return Ok(show(flags, &again(&flags.from)?));
    }
    let pin = flags::pin(&flags.pin)?;
    let effort = effort(flags, &pin);
    let all = asked(flags)?;
    if let Some(twice) =
        all.iter().enumerate().find_map(|(n, one)| all[..n].iter().find(|other| other.name == one.name))
    {
        return Err(Failure::usage(format!(
            "two claims are called `{}`\n  hint: give one of them another `name`",
            twice.name
        )));
    }
    if flags.dry_run {
        for claim in &all {
            plan(claim, &effort, &pin)?;
            if !flags.quiet {
                view::print(&format!("{}: {}", claim.name, claim.advice));
            }
        }
        return Ok(Exit::Holds);
    }
    let out = flags.out.clone().unwrap_or_else(|| study::default_folder("claims"));
    let interrupt = interrupt::flag();
    let tests = Tests { effort, pin, quiet: flags.quiet, out: &out, interrupt: &interrupt };
    let tested = tests.all(&all);
    let findings: Vec<ClaimFinding> = tested.records.iter().filter_map(finding).collect();
    let exit = show(flags, &findings);
    if !flags.quiet {
        view::say(&format!("records: {}", out.display()));
    }
    Ok(match () {
        () if interrupt.is_stopped() => Exit::Interrupted,
        () if !tested.untested.is_empty() => Exit::Environment,
        () => exit,
    })
}

/// The plan of a claim's test, checked.
///
/// # Errors
/// Whatever would keep it from being tested.
pub(crate) fn plan(claim: &Claim, effort: &Effort, pin: &Pin) -> Result<Plan, Failure> {
    let named = |e: LabError| {
        let failure = Failure::from(e);
        Failure { message: format!("{}: {}", claim.name, failure.message), ..failure }
    };
    let plan = claims::plan(claim, effort).map_err(named)?;
    preview(&plan, &study::place(None)?, pin).map_err(named)?;
    Ok(plan)
}

/// How claims are tested, one after the other, each in a folder of its own.
pub(crate) struct Tests<'a> {
    pub(crate) effort: Effort,
    pub(crate) pin: Pin,
    pub(crate) quiet: bool,
    /// The folder that has those of the claims.
    pub(crate) out: &'a Path,
    pub(crate) interrupt: &'a StopFlag,
}

/// What came of tests.
#[derive(Default)]
pub(crate) struct Tested {
    pub(crate) records: Vec<Record>,
    /// Claims that could not be tested.
    pub(crate) untested: Vec<Untested>,
}

impl Tests<'_> {
    /// Tests `all`, until the user interrupts: those that are left then were not tested.
    pub(crate) fn all(&self, all: &[Claim]) -> Tested {
        let mut tested = Tested::default();
        for claim in all {
            let untested = |why: String| Untested { claim: claim.name.clone(), why };
            if self.interrupt.is_stopped() {
                tested.untested.push(untested("interrupted before it was tested".to_owned()));
                continue;
            }
            match self.one(claim) {
                Ok(record) => tested.records.push(record),
                Err(failure) => {
                    view::say(&view::error(&format!("{}: {}", claim.name, failure.message)));
                    tested.untested.push(untested(failure.message));
                }
            }
        }
        if let Err(failure) = keep(self.out, &tested.untested) {
            view::say(&format!("warning: {}", failure.message));
        }
        tested
    }

    /// One test with its outputs.
    fn one(&self, claim: &Claim) -> Result<Record, Failure> {
        if !self.quiet {
            view::say(&format!("{}: {}", claim.name, claim.advice));
        }
        let plan = claims::plan(claim, &self.effort)?;
        let out = self.out.join(slug(&claim.name));
        let job = study::job(plan, study::place(None)?, self.pin.clone(), Some(out.clone()), self.interrupt);
        let outcome = study::make(&job, View::plain(self.quiet))?;
        if let Some(found) = found::found(&outcome.record) {
            found.write(&outcome.record, &out, false)?;
        }
        outcome.failure.map_or(Ok(outcome.record), |failure| Err(failure.into()))
    }
}

/// Writes down why claims were not tested, in place of what an earlier run wrote.
fn keep(out: &Path, untested: &[Untested]) -> Result<(), Failure> {
    let file = out.join(UNTESTED);
    if untested.is_empty() {
        // There is none, as a rule.
        let _ = fs::remove_file(&file);
        return Ok(());
    }
    fs::create_dir_all(out).map_err(|e| Failure::environment(format!("cannot make {}: {e}", out.display())))?;
    outputs::whole(&file, &serde_json::json!(untested).to_string())
}

/// The claims that the last tests in a folder did not come to, and why.
pub(crate) fn untested(folder: &Path) -> Vec<Untested> {
    let file = folder.join(UNTESTED);
    let Ok(text) = fs::read_to_string(&file) else { return Vec::new() };
    serde_json::from_str(&text).unwrap_or_else(|e| {
        view::say(&format!("warning: {}: left out: {e}", file.display()));
        Vec::new()
    })
}

fn effort(flags: &Claims, pin: &Pin) -> Effort {
    let usual = match (flags.quick, flags.full) {
        (true, _) => compare::usual(Size::Quick),
        (_, true) => compare::usual(Size::Full),
        _ => Usual::default(),
    };
    let looks = flags.blocks.map_or_else(|| usual.looks.clone(), compare::looks);
    Effort { usual: Usual { looks, ..usual }, threads: threads(pin), seed: flags.seed, placement: Placement::default() }
}

/// Threads of the generator: one for each of its cores.
pub(crate) fn threads(pin: &Pin) -> u16 {
    let cores = pin.resolve().map_or_else(|| genkai_lab::pinning::cores().len(), |p| p.client.len());
    cores.clamp(1, 64) as u16
}

/// The claims asked for; else those that genkai ships.
fn asked(flags: &Claims) -> Result<Vec<Claim>, Failure> {
    if flags.files.is_empty() { shipped::all(None) } else { flags.files.iter().map(|file| read(file)).collect() }
}

fn read(file: &Path) -> Result<Claim, Failure> {
    let shown = file.display().to_string();
    let text = fs::read_to_string(file).map_err(|e| Failure::usage(format!("cannot read {shown}: {e}")))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    genkai_scenario::claim(&shown, &text, folder, &catalog::proxies().collect::<Vec<_>>())
        .map_err(|fault| Failure::usage(fault.to_string()))
}

/// What the record of a claim's test says of it; none for other records.
pub(crate) fn finding(record: &Record) -> Option<ClaimFinding> {
    findings(record)?.claim.map(|claim| *claim)
}

/// What the records in some folders say, in order of the claims' names.
fn again(folders: &[PathBuf]) -> Result<Vec<ClaimFinding>, Failure> {
    let mut all = Vec::new();
    for folder in folders {
        let before = all.len();
        all.extend(records(folder)?.iter().filter_map(finding));
        if all.len() == before {
            return Err(Failure::usage(format!("{}: no record of a claim in its folders", folder.display())));
        }
    }
    all.sort_by(|a, b| a.claim.name.cmp(&b.claim.name));
    Ok(all)
}

/// The records in a folder and those below it: of a folder that has one, that alone, and nothing that a later run set aside.
///
/// # Errors
/// When the folder cannot be read.
pub(crate) fn records(folder: &Path) -> Result<Vec<Record>, Failure> {
    Ok(files(folder)?.iter().filter_map(|file| record(file)).collect())
}

/// The files of these records, by their names.
///
/// # Errors
/// When the folder cannot be read.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    gather(folder, DEPTH, &mut files).map_err(|e| Failure::usage(format!("cannot read {}: {e}", folder.display())))?;
    files.sort();
    Ok(files)
}

/// A record that is one of several; what cannot be read is said, and does not keep the others from being told.
pub(crate) fn record(file: &Path) -> Option<Record> {
    let left_out = |failure: &Failure| {
        let why = failure.message.lines().next().unwrap_or_default();
        view::say(&format!("warning: left out: {why}"));
    };
    outputs::record(file).inspect_err(left_out).ok()
}

fn gather(folder: &Path, deep: u32, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let record = folder.join(RECORD);
    if record.is_file() {
        files.push(record);
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let aside = ["previous-", "work-"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix));
        // `file_type` does not follow links.
        if deep > 0 && !aside && entry.file_type()?.is_dir() {
            // One that cannot be read does not keep the others from it.
            if let Err(e) = gather(&entry.path(), deep - 1, files) {
                view::say(&format!("warning: {}: left out: {e}", entry.path().display()));
            }
        }
    }
    Ok(())
}

fn show(flags: &Claims, all: &[ClaimFinding]) -> Exit {
    if !flags.quiet && !all.is_empty() {
        let document = genkai_report::study::claims(all);
        let json = flags.json.then(|| json::value(&all));
        view::show(json.or_else(|| flags.markdown.then(|| markdown(&document))), &document, flags.color);
    }
    if all.iter().any(|one| one.verdict == ClaimVerdict::CannotTell) { Exit::Fails } else { Exit::Holds }
}

/// A name as a folder's.
fn slug(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_record_of_each_claim_is_found_and_what_was_set_aside_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let kept = ["a/one/run.jsonl", "a/two/run.jsonl"];
        let passed = ["a/one/previous-1/run.jsonl", "a/three/previous-1/run.jsonl", "a/two/work-x/run.jsonl"];
        for file in kept.iter().chain(&passed) {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink(dir.path(), dir.path().join("a/again")).unwrap();
        let mut found = Vec::new();
        gather(dir.path(), DEPTH, &mut found).unwrap();
        found.sort();
        assert_eq!(found, kept.map(|file| dir.path().join(file)));
        assert!(gather(&dir.path().join("nowhere"), DEPTH, &mut found).is_err(), "what was asked for must be readable");
    }

    #[test]
    fn claims_that_an_interrupt_left_are_untested_and_their_folder_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("claims");
        let interrupt = StopFlag::new();
        interrupt.stop();
        let effort = Effort { usual: Usual::default(), threads: 1, seed: 1, placement: Placement::default() };
        let tests = Tests { effort, pin: Pin::Apart, quiet: true, out: &out, interrupt: &interrupt };
        let all = shipped::all(Some("apache")).unwrap();
        let tested = tests.all(&all);
        assert!(tested.records.is_empty());
        let names: Vec<&str> = tested.untested.iter().map(|one| one.claim.as_str()).collect();
        assert_eq!(names, all.iter().map(|claim| claim.name.as_str()).collect::<Vec<_>>());
        assert!(tested.untested.iter().all(|one| one.why == "interrupted before it was tested"));
        assert_eq!(untested(&out), tested.untested);
        tests.all(&[]);
        assert!(untested(&out).is_empty(), "a later run in which nothing was left");
    }

    #[test]
    fn a_record_that_cannot_be_read_does_not_keep_the_others_from_being_told() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["one", "two"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
            fs::write(dir.path().join(folder).join(RECORD), "no record\n").unwrap();
        }
        assert!(records(dir.path()).unwrap().is_empty());
        assert!(records(&dir.path().join("nowhere")).is_err());
    }
}
