//! Writes events down as they happen and hands them to whoever watches.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use genkai_model::event::{Event, What};
use genkai_model::record::Record;

use crate::error::LabError;

/// Takes every event of a run as it happens.
pub type Watcher<'a> = dyn FnMut(&Event) + 'a;

/// The record of a run in the making: on disk (a line an event, flushed, so that a crash loses at most one), in memory
/// (for the next decision), and at the watcher.
pub struct Recorder<'a> {
    began: Instant,
    path: PathBuf,
    file: BufWriter<File>,
    record: Record,
    watcher: &'a mut Watcher<'a>,
}

impl<'a> Recorder<'a> {
    /// Starts a record at `path`; the run's clock starts now.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path, watcher: &'a mut Watcher<'a>) -> Result<Recorder<'a>, LabError> {
        let file = File::create_new(path).map_err(LabError::folder(path))?;
        Ok(Recorder {
            began: Instant::now(),
            path: path.to_owned(),
            file: BufWriter::new(file),
            record: Record::default(),
            watcher,
        })
    }

    /// Records something that happens now.
    ///
    /// # Errors
    /// When it cannot be written (disk full).
    pub fn now(&mut self, trial: Option<u32>, what: What) -> Result<(), LabError> {
        self.at(Instant::now(), trial, what)
    }

    /// Records something that happened at `instant`.
    ///
    /// # Errors
    /// When it cannot be written (disk full).
    pub fn at(&mut self, instant: Instant, trial: Option<u32>, what: What) -> Result<(), LabError> {
        let at_us = instant.saturating_duration_since(self.began).as_micros() as u64;
        let event = Event { at_us, trial, what };
        let written = serde_json::to_writer(&mut self.file, &event)
            .map_err(std::io::Error::from)
            .and_then(|()| self.file.write_all(b"\n"))
            .and_then(|()| self.file.flush());
        (self.watcher)(&event);
        self.record.push(event);
        written.map_err(LabError::folder(&self.path))
    }

    /// What was recorded so far.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Ends the recording.
    pub fn into_record(self) -> Record {
        self.record
    }
}
