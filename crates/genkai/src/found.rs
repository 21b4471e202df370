//! What an experiment showed that does not tune: its words, its files, its exit code.

use std::path::{Path, PathBuf};

use genkai_analysis::{cache, compare, contest, held, rooms};
use genkai_model::exit::Exit;
use genkai_model::finding::cache::CacheFinding;
use genkai_model::finding::comparison::ComparisonFinding;
use genkai_model::finding::contest::ContestFinding;
use genkai_model::finding::idle_requests::IdleFinding;
use genkai_model::finding::rooms::RoomsFinding;
use genkai_model::record::Record;
use genkai_report::text::Style;
use genkai_report::{csv, html, json, markdown, text};

use crate::cli::OutputFlags;
use crate::{Failure, outputs, view};

/// What a record showed.
pub(crate) enum Found {
    /// Chat rooms.
    Rooms(RoomsFinding),
    /// Requests held open.
    Held(IdleFinding),
    /// Servers compared.
    Contest(Box<ContestFinding>),
    /// Systems compared.
    Comparison(Box<ComparisonFinding>),
    /// Caches compared.
    Cache(Box<CacheFinding>),
}

/// What `record` showed; none when it is of something else, or nothing was seen.
pub(crate) fn found(record: &Record) -> Option<Found> {
    let rooms = rooms::findings(record).map(Found::Rooms);
    let held = || held::findings(record).map(Found::Held);
    let contest = || contest::findings(record).map(|finding| Found::Contest(Box::new(finding)));
    let compared = || compare::findings(record).map(|finding| Found::Comparison(Box::new(finding)));
    let cache = || cache::findings(record).map(|finding| Found::Cache(Box::new(finding)));
    rooms.or_else(held).or_else(contest).or_else(compared).or_else(cache)
}

/// Writes and prints what was found, if there was a run at all.
pub(crate) fn show(record: &Record, out: &Path, output: &OutputFlags, markdown: bool) -> Result<Exit, Failure> {
    let Some(found) = found(record) else { return Ok(Exit::Interrupted) };
    let page = found.write(record, out)?;
    if !output.quiet {
        let markdown = found.markdown().filter(|_| markdown);
        view::print(&markdown.unwrap_or_else(|| found.words(output.json, view::stdout_style(output.color))));
        page.iter().for_each(|page| view::say(&format!("report: {}", page.display())));
        view::say(&format!("record: {}", out.join("run.jsonl").display()));
    }
    Ok(found.exit(record))
}

impl Found {
    fn json(&self) -> String {
        match self {
            Found::Rooms(finding) => json::rooms(finding),
            Found::Held(finding) => json::held(finding),
            Found::Contest(finding) => json::contest(finding),
            Found::Comparison(finding) => json::comparison(finding),
            Found::Cache(finding) => json::cache(finding),
        }
    }

    /// What is printed.
    pub(crate) fn words(&self, as_json: bool, style: Style) -> String {
        match self {
            _ if as_json => self.json(),
            Found::Rooms(finding) => text::rooms(finding, style),
            Found::Held(finding) => text::held(finding, style),
            Found::Contest(finding) => text::contest(finding, style),
            Found::Comparison(finding) => text::compare(finding, style),
            Found::Cache(finding) => text::cache(finding, style),
        }
    }

    /// As Markdown, where there is such a form.
    pub(crate) fn markdown(&self) -> Option<String> {
        match self {
            Found::Comparison(finding) => Some(markdown::compare(finding)),
            Found::Cache(finding) => Some(markdown::cache(finding)),
            _ => None,
        }
    }

    /// Writes `verdict.json`, and `report.html` where there is one, into `out`. Gives the page's path.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn write(&self, record: &Record, out: &Path) -> Result<Option<PathBuf>, Failure> {
        outputs::whole(&out.join("verdict.json"), &self.json())?;
        let shown = match self {
            Found::Rooms(finding) => html::rooms(record, &genkai_analysis::findings(record), finding),
            Found::Contest(finding) => html::contest(record, finding),
            Found::Comparison(finding) => {
                outputs::whole(&out.join("turns.csv"), &csv::turns(finding))?;
                html::comparison(record, finding)
            }
            Found::Cache(finding) => {
                let loads = cache::loads(record);
                let table = csv::cache(&loads);
                outputs::whole(&out.join("passes.csv"), &table)?;
                html::cache(record, finding)
            }
            Found::Held(finding) => html::held(record, &genkai_analysis::findings(record), finding),
        };
        let page = out.join("report.html");
        outputs::whole(&page, &shown)?;
        Ok(Some(page))
    }

    /// The code that tells a script the answer.
    pub(crate) fn exit(&self, record: &Record) -> Exit {
        let outcome = match self {
            Found::Rooms(finding) => finding.outcome,
            Found::Held(finding) => finding.outcome,
            Found::Contest(finding) => finding.outcome,
            Found::Comparison(finding) => finding.outcome,
            Found::Cache(finding) => finding.outcome,
        };
        outputs::exit(record, outcome)
    }
}
