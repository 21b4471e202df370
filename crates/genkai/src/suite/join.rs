//! What the runs of an experiment showed together: the same from runs that just ended and from their records.

use std::path::{Path, PathBuf};

use genkai_analysis::{compare, statements, suite};
use genkai_lab::experiment::Size;
use genkai_lab::experiment::apache::{NAME, PROCESSOR, Part, Search, Task, is_of, parts};
use genkai_model::event::RunStarted;
use genkai_model::exit::Exit;
use genkai_model::finding::Findings;
use genkai_model::record::Record;
use genkai_model::suite::{AdviceFinding, ChangesFinding, PartFinding, SCHEMA, SuiteFinding, Untested};
use genkai_report::document::Document;
use genkai_report::{html, json, study};

use super::PRODUCT;
use crate::claims::{self, Tested, shipped};
use crate::cli::Colour;
use crate::{Failure, found, outputs, view};

/// What the runs showed so far.
pub(crate) struct Joined {
    /// What the first of them began with, under the experiment's title.
    head: Option<RunStarted>,
    finding: SuiteFinding,
    /// The records that it was read from.
    records: Vec<PathBuf>,
}

impl Joined {
    pub(super) fn new(title: &str) -> Joined {
        let finding = SuiteFinding {
            schema: SCHEMA.to_owned(),
            title: title.to_owned(),
            parts: Vec::new(),
            changes: Vec::new(),
            advice: None,
            processes: Vec::new(),
            interrupted: false,
        };
        Joined { head: None, finding, records: Vec::new() }
    }

    /// Takes note that it ended before all of it was done.
    pub(crate) fn cut_off(&mut self) {
        self.finding.interrupted = true;
    }

    /// Takes note of where and how it ran, and whether to its end.
    fn ran(&mut self, record: &Record) {
        if record.end.as_ref().is_none_or(|end| end.interrupted || end.failure.is_some()) {
            self.cut_off();
        }
        suite::add_processes(&mut self.finding.processes, record);
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
        let answer = study::sentences(&findings, record).into_iter().next().unwrap_or_default();
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

    /// A part that has one record.
    fn part(&mut self, part: &Part, record: &Record) {
        match &part.task {
            Task::Search(search) => self.search(part, search, record, genkai_analysis::findings(record)),
            Task::Changes(_) => self.changes(part, record),
            Task::Claims => {}
        }
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

    fn document(&self, head: &RunStarted) -> Document {
        Document { build: found::BUILD.to_owned(), ..study::suite(head, &self.finding) }
    }

    fn json(&self, head: &RunStarted) -> String {
        let says = Document { sentences: study::suite_sentences(&self.finding), ..self.document(head) };
        json::verdict(&self.finding, &says, &statements::of(&self.finding, None))
    }

    /// The records that it was read from; none where the runs have just ended.
    pub(crate) fn records(&self) -> &[PathBuf] {
        &self.records
    }

    /// `verdict.json` and `report.html`; none where nothing ran.
    pub(crate) fn files(&self) -> Option<(String, String)> {
        let head = self.head.as_ref()?;
        Some((self.json(head), html::page(Some(head), &self.document(head))))
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
        let (document, json) = (self.document(head), self.json(head));
        outputs::whole(&out.join("verdict.json"), &json)?;
        outputs::whole(&page, &html::page(Some(head), &document))?;
        if !quiet {
            view::show(as_json.then_some(json), &document, color);
            view::say(&format!("report: {}; each part's: {}/PART/report.html", page.display(), out.display()));
        }
        Ok(outputs::exit(self.finding.outcome(), self.finding.interrupted))
    }
}

/// The runs of the experiment in `dir`, from their records; none where there is not one of them.
pub(crate) fn again(dir: &Path) -> Option<Joined> {
    among(dir, |_| true)
}

/// The same of those parts alone that `wanted` takes by their names: one call may have made some, and others are of another.
pub(crate) fn among(dir: &Path, wanted: impl Fn(&str) -> bool) -> Option<Joined> {
    let mut joined = Joined::new(NAME);
    let quick = parts(Size::Quick);
    // The full size has every part, in the order of the experiment.
    for full in parts(Size::Full).iter().filter(|part| wanted(part.name)) {
        let small = quick.iter().find(|part| part.name == full.name).map(|part| (part, Size::Quick));
        let sizes: Vec<(&Part, Size)> = small.into_iter().chain([(full, Size::Full)]).collect();
        if let Err(failure) = told(&dir.join(full.name), &sizes, &mut joined) {
            view::say(&format!("warning: {}: left out: {}", full.name, failure.message));
        }
    }
    joined.head.is_some().then_some(joined)
}

/// Adds the part that was run in `folder`, in whichever of these sizes.
fn told(folder: &Path, sizes: &[(&Part, Size)], joined: &mut Joined) -> Result<(), Failure> {
    if let Some((part, _)) = sizes.iter().find(|(part, _)| matches!(part.task, Task::Claims)) {
        if folder.is_dir() {
            joined.claims(part, advice(folder)?);
            joined.records.extend(claims::files(folder)?);
        }
        return Ok(());
    }
    let file = folder.join("run.jsonl");
    let Some(record) = file.is_file().then(|| claims::record(&file)).flatten() else { return Ok(()) };
    let Some(head) = &record.head else { return Ok(()) };
    if let Some((part, _)) = sizes.iter().find(|(part, size)| is_of(&head.plan, part, *size)) {
        joined.part(part, &record);
        joined.records.push(file);
    }
    Ok(())
}

/// What came of the claims in a folder; of those that are shipped and have no record there, why they were not tested.
fn advice(folder: &Path) -> Result<Tested, Failure> {
    let records = claims::records(folder)?;
    let found: Vec<String> = records.iter().filter_map(claims::finding).map(|one| one.claim.name).collect();
    let known = claims::untested(folder);
    let why = |claim: &str| {
        let known = known.iter().find(|one| one.claim == claim);
        known.map_or_else(|| "there is no record of its test".to_owned(), |one| one.why.clone())
    };
    let missing = shipped::all(Some(PRODUCT))?.into_iter().filter(|claim| !found.contains(&claim.name));
    let untested = missing.map(|claim| Untested { why: why(&claim.name), claim: claim.name }).collect();
    Ok(Tested { records, untested })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use genkai_model::event::{Environment, Event, RunEnded, RunStarted, What};
    use genkai_model::plan::Plan;

    use genkai_model::finding::{Answered, Decision};

    use super::*;
    use genkai_model::finding::Outcome;

    /// How a record ends.
    enum Ends {
        Well,
        Interrupted,
        Nowhere,
    }

    fn plan(name: &str, size: Size) -> Plan {
        let part = parts(size).into_iter().find(|part| part.name == name).unwrap();
        let Task::Search(search) = part.task else { panic!("{name} is no search") };
        search.plan
    }

    /// Writes a record in which nothing was tried.
    fn write(folder: &Path, plan: Plan, started: &str, ends: Ends) {
        let head = RunStarted {
            schema: genkai_model::event::SCHEMA.to_owned(),
            version: String::new(),
            started: started.to_owned(),
            command: Vec::new(),
            environment: Environment::default(),
            plan,
            rewrites: Vec::new(),
        };
        let end = |interrupted| {
            What::RunEnded(RunEnded { interrupted, failure: None, diff: String::new(), files: Vec::new() })
        };
        let mut all = vec![What::RunStarted(Box::new(head))];
        match ends {
            Ends::Well => all.push(end(false)),
            Ends::Interrupted => all.push(end(true)),
            Ends::Nowhere => {}
        }
        let line = |what| serde_json::to_string(&Event { at_us: 0, trial: None, what }).unwrap() + "\n";
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("run.jsonl"), all.into_iter().map(line).collect::<String>()).unwrap();
    }

    /// An experiment of one part, whose record ends so, and its exit code.
    fn one(ends: Ends) -> (Joined, Exit) {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join("baseline"), plan("baseline", Size::Quick), "now", ends);
        let joined = again(dir.path()).unwrap();
        let exit = joined.show(dir.path(), true, false, Colour::Never).unwrap();
        (joined, exit)
    }

    #[test]
    fn a_record_that_was_cut_off_is_told_as_one() {
        let (whole, exit) = one(Ends::Well);
        assert!(!whole.finding.interrupted, "nothing was tried, but nobody ended it");
        assert_eq!(exit, Exit::Environment);
        for ends in [Ends::Interrupted, Ends::Nowhere] {
            let (cut, exit) = one(ends);
            assert_eq!((cut.finding.outcome(), exit), (Outcome::Unfinished, Exit::Interrupted));
        }
    }

    #[test]
    fn a_cut_off_is_told_even_where_all_that_ran_was_named() {
        let (mut joined, _) = one(Ends::Well);
        let part = &mut joined.finding.parts[0];
        (part.named, part.verdict.answer) = (true, Answered(Decision::Holds));
        let dir = tempfile::tempdir().unwrap();
        let exit = |joined: &Joined| joined.show(dir.path(), true, false, Colour::Never).unwrap();
        assert_eq!(exit(&joined), Exit::Holds);
        joined.cut_off();
        assert_eq!(exit(&joined), Exit::Interrupted);
        let written = fs::read_to_string(dir.path().join("verdict.json")).unwrap();
        assert!(written.contains("cut off before its end"), "{written}");
    }

    #[test]
    fn a_record_that_cannot_be_read_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join("baseline"), plan("baseline", Size::Quick), "now", Ends::Well);
        fs::create_dir(dir.path().join("idle")).unwrap();
        fs::write(dir.path().join("idle/run.jsonl"), "no record\n").unwrap();
        let joined = again(dir.path()).unwrap();
        let names: Vec<&str> = joined.finding.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["baseline"]);
    }

    #[test]
    fn parts_are_told_in_the_order_of_the_experiment_in_every_size() {
        let dir = tempfile::tempdir().unwrap();
        let written = |folder: &str, plan, started| write(&dir.path().join(folder), plan, started, Ends::Well);
        written("claims/one", plan("baseline", Size::Quick), "last");
        written("idle", plan("idle", Size::Quick), "third");
        written("load-500", plan("load-500", Size::Full), "second");
        written("baseline", plan("baseline", Size::Full), "first");
        let joined = again(dir.path()).unwrap();
        let names: Vec<&str> = joined.finding.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["baseline", "load-500", "idle"]);
        assert_eq!(joined.head.unwrap().started, "first");
    }

    #[test]
    fn the_reason_why_a_claim_was_not_tested_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let name = shipped::all(Some(PRODUCT)).unwrap().remove(0).name;
        let why = "there is no event MPM here";
        let file = serde_json::json!([{ "claim": name, "why": why }, { "claim": "another", "why": "" }]);
        fs::write(dir.path().join("untested.json"), file.to_string()).unwrap();
        let untested = advice(dir.path()).unwrap().untested;
        assert_eq!(untested[0], Untested { claim: name, why: why.to_owned() });
        assert!(untested[1..].iter().all(|one| one.why == "there is no record of its test"), "{untested:?}");
        fs::write(dir.path().join("untested.json"), "{").unwrap();
        assert_ne!(advice(dir.path()).unwrap().untested[0].why, why);
    }

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
