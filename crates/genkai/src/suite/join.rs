//! What the runs of an experiment showed together: the same from runs that just ended and from their records.

use std::path::Path;

use genkai_analysis::{compare, suite};
use genkai_lab::experiment::Size;
use genkai_lab::experiment::apache::{NAME, PROCESSOR, Part, Search, Task, is_of, parts};
use genkai_model::event::RunStarted;
use genkai_model::exit::Exit;
use genkai_model::finding::{Findings, Outcome};
use genkai_model::record::Record;
use genkai_model::suite::{AdviceFinding, ChangesFinding, PartFinding, SCHEMA, SuiteFinding, Untested};
use genkai_report::{html, json, says, text};

use super::PRODUCT;
use crate::claims::{self, Tested, shipped};
use crate::cli::Colour;
use crate::{Failure, outputs, view};

/// What the runs showed so far.
pub(crate) struct Joined {
    /// What the first of them began with, under the experiment's title.
    head: Option<RunStarted>,
    finding: SuiteFinding,
}

impl Joined {
    pub(super) fn new(title: &str) -> Joined {
        let finding = SuiteFinding {
            schema: SCHEMA.to_owned(),
            title: title.to_owned(),
            parts: Vec::new(),
            changes: Vec::new(),
            advice: None,
        };
        Joined { head: None, finding }
    }

    /// Takes note of where and how it ran.
    fn ran(&mut self, record: &Record) {
        let (title, head) = (&self.finding.title, &mut self.head);
        if let (None, Some(first)) = (&head, &record.head) {
            let mut first = first.clone();
            first.plan.title.clone_from(title);
            *head = Some(first);
        }
        let versions = record.head.as_ref().map(|one| one.environment.versions.clone());
        if let (Some(head), Some(versions)) = (head, versions) {
            head.environment.versions.extend(versions);
        }
    }

    pub(super) fn search(&mut self, part: &Part, search: &Search, record: &Record, findings: Findings) {
        self.ran(record);
        let answer = says::sentences(&findings, record).into_iter().next().unwrap_or_default();
        self.finding.parts.push(PartFinding {
            name: part.name.to_owned(),
            question: part.question.clone(),
            trouble: search.trouble.map(str::to_owned),
            answer,
            named: suite::is_named(&findings.verdict, search.limit, search.limit == Some(PROCESSOR)),
            loads: suite::loads(record),
            verdict: findings.verdict,
        });
    }

    pub(super) fn changes(&mut self, part: &Part, record: &Record) {
        self.ran(record);
        let Some(comparison) = compare::findings(record) else { return };
        let (name, question) = (part.name.to_owned(), part.question.clone());
        self.finding.changes.push(ChangesFinding { name, question, loads: suite::turns(record), comparison });
    }

    pub(super) fn claims(&mut self, part: &Part, tested: Tested) {
        tested.records.iter().for_each(|record| self.ran(record));
        let (name, question) = (part.name.to_owned(), part.question.clone());
        let claims: Vec<_> = tested.records.iter().filter_map(claims::finding).collect();
        if claims.is_empty() && tested.untested.is_empty() {
            return;
        }
        self.finding.advice = Some(AdviceFinding { name, question, claims, untested: tested.untested });
    }

    /// Writes `verdict.json` and `report.html` into `out`, and prints. Gives the code that tells a script the answer. Where nothing ran
    /// there is nothing to write: that is said where it was tried.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn show(&self, out: &Path, quiet: bool, as_json: bool, color: Colour) -> Result<Exit, Failure> {
        let Some(head) = &self.head else {
            if self.finding.advice.is_some() {
                view::say("no part could be run on this machine: there is no verdict, and no report");
            }
            return Ok(Exit::Environment);
        };
        let page = out.join("report.html");
        outputs::whole(&out.join("verdict.json"), &json::suite(&self.finding))?;
        outputs::whole(&page, &html::suite(head, &self.finding))?;
        if !quiet {
            let words = || text::suite(&self.finding, view::stdout_style(color));
            view::print(&if as_json { json::suite(&self.finding) } else { words() });
            view::say(&format!("report: {}; each part's: {}/PART/report.html", page.display(), out.display()));
        }
        Ok(match self.finding.outcome() {
            Outcome::Holds => Exit::Holds,
            Outcome::Invalid => Exit::Invalid,
            Outcome::Fails => Exit::Fails,
            Outcome::Unfinished => Exit::Environment,
        })
    }
}

/// The runs of the experiment in `dir`, from their records; none where there is not one of them.
pub(crate) fn again(dir: &Path) -> Option<Result<Joined, Failure>> {
    let mut joined = Joined::new(NAME);
    for size in [Size::Quick, Size::Full] {
        for part in parts(size) {
            if let Err(failure) = told(dir, &part, size, &mut joined) {
                return Some(Err(failure));
            }
        }
    }
    joined.head.is_some().then_some(Ok(joined))
}

/// Adds a part that was run in this size.
fn told(dir: &Path, part: &Part, size: Size, joined: &mut Joined) -> Result<(), Failure> {
    let folder = dir.join(part.name);
    if let Task::Claims = part.task {
        if size == Size::Quick && folder.is_dir() {
            joined.claims(part, advice(&folder)?);
        }
        return Ok(());
    }
    let file = folder.join("run.jsonl");
    if !file.is_file() {
        return Ok(());
    }
    let record = outputs::record(&file)?;
    let title = record.head.as_ref().map_or("", |head| head.plan.title.as_str());
    match &part.task {
        _ if !is_of(title, part, size) => {}
        Task::Search(search) => joined.search(part, search, &record, genkai_analysis::findings(&record)),
        Task::Changes(_) | Task::Claims => joined.changes(part, &record),
    }
    Ok(())
}

/// What came of the claims in a folder; of those that are shipped and have no record there, that they were not tested.
fn advice(folder: &Path) -> Result<Tested, Failure> {
    let records = claims::records(folder)?;
    let found: Vec<String> = records.iter().filter_map(claims::finding).map(|one| one.claim.name).collect();
    let missing = shipped::all(Some(PRODUCT))?.into_iter().filter(|claim| !found.contains(&claim.name));
    let why = "there is no record of its test";
    let untested = missing.map(|claim| Untested { claim: claim.name, why: why.to_owned() }).collect();
    Ok(Tested { records, untested })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_of_which_none_could_be_tested_are_no_interrupt_and_no_success() {
        let dir = tempfile::tempdir().unwrap();
        let tested = advice(dir.path()).unwrap();
        assert_eq!(tested.untested.len(), shipped::all(Some(PRODUCT)).unwrap().len());
        assert!(tested.records.is_empty() && !tested.untested.is_empty());
        let all = parts(Size::Quick);
        let part = all.iter().find(|part| matches!(part.task, Task::Claims)).unwrap();
        let mut joined = Joined::new(NAME);
        joined.claims(part, Tested::default());
        assert_eq!(joined.finding.advice, None, "nothing was asked");
        joined.claims(part, tested);
        assert_eq!(joined.finding.outcome(), Outcome::Fails);
        assert_eq!(joined.show(dir.path(), true, false, Colour::Never).unwrap(), Exit::Environment);
        assert!(!dir.path().join("verdict.json").exists());
    }
}
