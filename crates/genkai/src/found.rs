//! What a record showed: its words, its files, its exit code.

use std::path::{Path, PathBuf};

use genkai_analysis::{cache, compare, doubts, findings, idle_requests, latencies, rooms, statements};
use genkai_model::exit::Exit;
use genkai_model::plan::Study;
use genkai_model::record::Record;
use genkai_report::document::Document;
use genkai_report::{csv, html, json, markdown, study, svg};
use serde::Serialize;

use crate::cli::Colour;
use crate::{Failure, outputs, view};

/// This build: the version, and what tells it from others of the same version.
pub(crate) const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("GENKAI_SOURCE"));

/// What a record showed.
pub(crate) struct Found {
    document: Document,
    /// `verdict.json`.
    json: String,
    /// A file beside these, with its name: raw data.
    file: Option<(&'static str, String)>,
}

/// What `record` showed; none when it is a search for a limit or a load, or when nothing was seen.
pub(crate) fn found(record: &Record) -> Option<Found> {
    match record.head.as_ref()?.plan.study {
        Study::Load | Study::Tune => None,
        Study::Rooms(_) => {
            rooms::findings(record).map(|finding| Found::of(record, &finding, study::rooms(record, &finding), None))
        }
        Study::IdleRequests { .. } => idle_requests::findings(record)
            .map(|finding| Found::of(record, &finding, study::idle_requests(record, &finding), None)),
        Study::Latencies(_) => latencies::findings(record)
            .map(|finding| Found::of(record, &finding, study::latencies(record, &finding), None)),
        Study::Compare(_) => compare::findings(record).map(|finding| {
            let turns = ("turns.csv", csv::turns(&finding));
            Found::of(record, &finding, study::compare(record, &finding), Some(turns))
        }),
        Study::Cache(_) => cache::findings(record).map(|finding| {
            let passes = ("passes.csv", csv::cache(&cache::loads(record)));
            Found::of(record, &finding, study::cache(record, &finding), Some(passes))
        }),
    }
}

/// What a search for a limit, or a load, showed.
pub(crate) fn tuned(record: &Record) -> Found {
    let findings = findings(record);
    Found::of(record, &findings.verdict, study::tune(record, &findings), None)
}

/// What `record` showed, whatever its study is.
pub(crate) fn any(record: &Record) -> Found {
    found(record).unwrap_or_else(|| tuned(record))
}

impl Found {
    fn of(
        record: &Record,
        finding: &impl Serialize,
        document: Document,
        file: Option<(&'static str, String)>,
    ) -> Found {
        let stated = statements::of(finding, Some(record));
        let doubts = study::doubts(&doubts::of(record, env!("CARGO_PKG_VERSION")));
        let document = Document { doubts, build: BUILD.to_owned(), ..document };
        Found { json: json::verdict(finding, &document, &stated), document, file }
    }

    /// `verdict.json`.
    pub(crate) fn json(&self) -> &str {
        &self.json
    }

    /// `report.html`.
    pub(crate) fn page(&self, record: &Record) -> String {
        html::page(record.head.as_ref(), &self.document)
    }

    /// The file beside these, with its name.
    pub(crate) fn file(&self) -> Option<(&'static str, &str)> {
        self.file.as_ref().map(|(name, text)| (*name, text.as_str()))
    }

    /// Prints it as Markdown, JSON or text.
    pub(crate) fn print(&self, as_json: bool, as_markdown: bool, colour: Colour) {
        let markdown = as_markdown.then(|| markdown(&self.document));
        let shown = markdown.or_else(|| as_json.then(|| self.json.clone()));
        view::show(shown, &self.document, colour);
    }

    /// Every drawing as `figure.svg`, `figure-2.svg` and so on, the numbers of a chart beside it as `.csv`.
    pub(crate) fn figures(&self, record: &Record) -> Vec<(String, String)> {
        let name = |i: usize| if i == 0 { "figure".to_owned() } else { format!("figure-{}", i + 1) };
        let all = svg::figures(record.head.as_ref(), &self.document).into_iter().enumerate();
        let files = all.flat_map(|(i, figure)| {
            let numbers = figure.csv.map(|numbers| (format!("{}.csv", name(i)), numbers));
            std::iter::once((format!("{}.svg", name(i)), figure.svg)).chain(numbers)
        });
        files.collect()
    }

    /// Writes `verdict.json`, `report.html`, the file beside them where there is one, and with `svg` the figures into `out`. Gives the
    /// page's path.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn write(&self, record: &Record, out: &Path, svg: bool) -> Result<PathBuf, Failure> {
        let page = out.join("report.html");
        outputs::whole(&out.join("verdict.json"), &self.json)?;
        if svg {
            self.figures(record).iter().try_for_each(|(name, text)| outputs::whole(&out.join(name), text))?;
        }
        if let Some((name, text)) = &self.file {
            outputs::whole(&out.join(name), text)?;
        }
        outputs::whole(&page, &self.page(record))?;
        Ok(page)
    }

    /// The code that tells a script the answer.
    pub(crate) fn exit(&self, record: &Record) -> Exit {
        outputs::exit(self.document.outcome, record.end.as_ref().is_some_and(|end| end.interrupted))
    }
}
