//! Every output of a record, written whole or not at all.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use genkai_model::exit::Exit;
use genkai_model::finding::{Findings, Outcome};
use genkai_model::record::Record;
use genkai_report::document::Document;
use genkai_report::{html, json, study, svg};

use crate::Failure;

/// The outputs of one record.
pub(crate) struct Outputs<'a> {
    /// The record.
    pub(crate) record: &'a Record,
    /// What it means.
    pub(crate) findings: &'a Findings,
}

impl Outputs<'_> {
    fn document(&self) -> Document {
        study::tune(self.record, self.findings)
    }

    /// What `verdict.json` holds.
    pub(crate) fn json(&self) -> String {
        json::finding(&self.findings.verdict, &self.document().sentences)
    }

    /// Writes `verdict.json`, `report.html` and, if wanted, `figure.svg` into `dir`. Gives the page's path.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn write(&self, dir: &Path, figure: bool) -> Result<PathBuf, Failure> {
        let document = self.document();
        whole(&dir.join("verdict.json"), &json::finding(&self.findings.verdict, &document.sentences))?;
        let page = dir.join("report.html");
        whole(&page, &html::page(self.record.head.as_ref(), &document))?;
        if figure {
            whole(&dir.join("figure.svg"), &svg::figure(self.record, self.findings))?;
        }
        Ok(page)
    }

    /// The code that tells a script the verdict.
    pub(crate) fn exit(&self) -> Exit {
        exit(self.record, self.findings.verdict.outcome)
    }
}

/// The code that tells a script how a run ended.
pub(crate) fn exit(record: &Record, outcome: Outcome) -> Exit {
    let interrupted = record.end.as_ref().is_some_and(|e| e.interrupted);
    match outcome {
        _ if interrupted => Exit::Interrupted,
        Outcome::Holds => Exit::Holds,
        Outcome::Fails => Exit::Fails,
        Outcome::Invalid => Exit::Invalid,
        Outcome::Unfinished => Exit::Environment,
    }
}

/// The record of a run, from its file.
///
/// # Errors
/// When it cannot be read, or is no record.
pub(crate) fn record(file: &Path) -> Result<Record, Failure> {
    let raw = fs::read_to_string(file).map_err(|e| {
        Failure::usage(format!("cannot read {}: {e}\n  hint: give the folder of a run", file.display()))
    })?;
    Record::read(raw.lines()).map_err(|e| Failure::usage(format!("{}: {e}", file.display())))
}

/// Writes a file so that a reader sees the old one or the new one, never half of it.
pub(crate) fn whole(path: &Path, text: &str) -> Result<(), Failure> {
    let part = path.with_extension("part");
    let written = fs::File::create(&part)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&part, path));
    written.map_err(|e| {
        let _ = fs::remove_file(&part);
        Failure::environment(format!(
            "cannot write {}: {e}\n  hint: the record is safe; free some space and run `genkai report {}`",
            path.display(),
            path.parent().unwrap_or(path).display()
        ))
    })
}
