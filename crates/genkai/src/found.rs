//! What an experiment showed that does not tune: its words, its files, its exit code.

use std::path::{Path, PathBuf};

use genkai_analysis::{cache, compare, idle_requests, latencies, rooms};
use genkai_model::exit::Exit;
use genkai_model::record::Record;
use genkai_report::document::Document;
use genkai_report::text::{self, Style};
use genkai_report::{csv, html, json, markdown, study};

use crate::cli::OutputFlags;
use crate::{Failure, outputs, view};

/// What a record showed.
pub(crate) struct Found {
    document: Document,
    /// `verdict.json`.
    json: String,
    /// A file of raw data with its name.
    table: Option<(&'static str, String)>,
}

/// What `record` showed; none when it is of something else, or nothing was seen.
pub(crate) fn found(record: &Record) -> Option<Found> {
    if let Some(finding) = rooms::findings(record) {
        return Some(Found::of(study::rooms(record, &finding), |says| json::finding(&finding, says)));
    }
    if let Some(finding) = idle_requests::findings(record) {
        return Some(Found::of(study::idle_requests(record, &finding), |says| json::finding(&finding, says)));
    }
    if let Some(finding) = latencies::findings(record) {
        return Some(Found::of(study::latencies(record, &finding), |says| json::finding(&finding, says)));
    }
    if let Some(finding) = compare::findings(record) {
        let table = Some(("turns.csv", csv::turns(&finding)));
        return Some(Found {
            table,
            ..Found::of(study::compare(record, &finding), |says| json::finding(&finding, says))
        });
    }
    let finding = cache::findings(record)?;
    let table = Some(("passes.csv", csv::cache(&cache::loads(record))));
    Some(Found { table, ..Found::of(study::cache(record, &finding), |says| json::finding(&finding, says)) })
}

/// Writes and prints what was found, if there was a run at all.
pub(crate) fn show(record: &Record, out: &Path, output: &OutputFlags, markdown: bool) -> Result<Exit, Failure> {
    let Some(found) = found(record) else { return Ok(Exit::Interrupted) };
    let page = found.write(record, out)?;
    if !output.quiet {
        view::print(&found.words(output.json, markdown, view::stdout_style(output.color)));
        view::say(&format!("report: {}", page.display()));
        view::say(&format!("record: {}", out.join("run.jsonl").display()));
    }
    Ok(found.exit(record))
}

impl Found {
    fn of(document: Document, json: impl Fn(&[String]) -> String) -> Found {
        Found { json: json(&document.sentences), document, table: None }
    }

    /// What is printed: Markdown, JSON or text.
    pub(crate) fn words(&self, as_json: bool, as_markdown: bool, style: Style) -> String {
        match (as_markdown, as_json) {
            (true, _) => markdown(&self.document),
            (_, true) => self.json.clone(),
            _ => text::document(&self.document, style),
        }
    }

    /// Writes `verdict.json`, `report.html` and, where there are any, raw data into `out`. Gives the page's path.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn write(&self, record: &Record, out: &Path) -> Result<PathBuf, Failure> {
        let page = out.join("report.html");
        outputs::whole(&out.join("verdict.json"), &self.json)?;
        if let Some((name, table)) = &self.table {
            outputs::whole(&out.join(name), table)?;
        }
        outputs::whole(&page, &html::page(record.head.as_ref(), &self.document))?;
        Ok(page)
    }

    /// The code that tells a script the answer.
    pub(crate) fn exit(&self, record: &Record) -> Exit {
        outputs::exit(record, self.document.outcome)
    }
}
