//! A load as tables for other programs: CSV an interval a line, and JMeter's JTL.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use genkai_analysis::summary;
use genkai_model::plan::Backend;
use genkai_model::record::{Record, Trial};
use genkai_report::{csv, jtl};

use crate::Failure;
use crate::cli::TableFlags;

impl TableFlags {
    /// Makes sure that the files can be written, before there is something to be lost.
    ///
    /// # Errors
    /// When one cannot be made.
    pub(crate) fn open(&self) -> Result<Open, Failure> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(Sheet::open).transpose();
        Ok(Open { csv: open(&self.csv)?, jtl: open(&self.jtl)?, most: self.jtl_lines })
    }
}

/// Files that are being written.
pub(crate) struct Open {
    csv: Option<Sheet>,
    jtl: Option<Sheet>,
    most: u64,
}

impl Open {
    /// Writes all that were asked for; gives what is to be said about them.
    ///
    /// # Errors
    /// When one cannot be written; it is then as it was before.
    pub(crate) fn write(self, record: &Record) -> Result<Vec<String>, Failure> {
        let trial = record.trials.first();
        if trial.is_some_and(|trial| trial.started.load.locust.is_some()) {
            return Err(Failure::usage(
                "--csv, --jtl: Locust made the load, and tells sums only\n  hint: verdict.json has what they come to, run.jsonl has them",
            ));
        }
        let mut said = Vec::new();
        if record.trials.len() > 1 && (self.csv.is_some() || self.jtl.is_some()) {
            said.push(format!(
                "--csv, --jtl: the run made {} loads; its first one is in the table",
                record.trials.len()
            ));
        }
        if let Some(sheet) = self.csv {
            sheet.write(|out| csv::intervals(out, trial.into_iter().flat_map(summary::intervals)))?;
        }
        if let (Some(sheet), Some(trial)) = (self.jtl, trial) {
            let written = sheet.write(|out| jtl::trial(out, trial, &limit(record, trial, self.most)))?;
            if written.each > 1 {
                said.push(format!(
                    "jtl: {} lines, each for {} requests (SampleCount); --jtl-lines N writes more",
                    written.lines, written.each
                ));
            }
        }
        Ok(said)
    }
}

fn limit<'r>(record: &'r Record, trial: &Trial, most: u64) -> jtl::Limit<'r> {
    let head = record.head.as_ref();
    let began = head.and_then(|head| humantime::parse_rfc3339(&head.started).ok()).unwrap_or(UNIX_EPOCH);
    let began = began.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let url = match head.map(|head| &head.plan.system.backend) {
        Some(Backend::Url(url)) => url,
        _ => "",
    };
    jtl::Limit { began_ms: began + trial.at_us / 1_000, url, most }
}

/// A file that appears whole or not at all; what is no regular file (a pipe, a terminal) is written as it comes.
struct Sheet {
    path: PathBuf,
    part: Option<PathBuf>,
    file: File,
}

impl Sheet {
    fn open(path: &Path) -> Result<Sheet, Failure> {
        let special = fs::metadata(path).is_ok_and(|m| !m.is_file());
        let part = (!special).then(|| {
            let mut name = path.as_os_str().to_owned();
            name.push(".part");
            PathBuf::from(name)
        });
        let made = match &part {
            Some(part) => File::create(part),
            None => File::options().write(true).open(path),
        };
        let file = made.map_err(|e| broken(path, &e))?;
        Ok(Sheet { path: path.to_owned(), part, file })
    }

    fn write<T>(mut self, what: impl FnOnce(&mut BufWriter<&File>) -> io::Result<T>) -> Result<T, Failure> {
        let mut out = BufWriter::new(&self.file);
        let written = what(&mut out).and_then(|done| out.flush().map(|()| done));
        drop(out);
        let written = written.and_then(|done| match &self.part {
            Some(part) => fs::rename(part, &self.path).map(|()| done),
            None => Ok(done),
        });
        if written.is_ok() {
            self.part = None;
        }
        written.map_err(|e| broken(&self.path, &e))
    }
}

impl Drop for Sheet {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let _ = fs::remove_file(part);
        }
    }
}

fn broken(path: &Path, error: &io::Error) -> Failure {
    Failure::environment(format!(
        "cannot write {}: {error}\n  hint: choose another file, or free some space",
        path.display()
    ))
}
