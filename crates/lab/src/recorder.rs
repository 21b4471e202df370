//! Writes events down as they happen and hands them to whoever watches.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use genkai_model::event::{Event, FinishedFile, Note, RunEnded, What};
use genkai_model::record::Record;
use genkai_model::seal::Seal;
use genkai_place::observation::Observation;

use crate::error::LabError;
use crate::redact;

/// Takes every event of a run as it happens.
pub type Watcher<'a> = dyn FnMut(&Event) + 'a;

/// The record of a run in the making: on disk (a line an event, flushed, so that a crash loses at most one), in memory
/// (for the next decision), and at the watcher.
pub struct Recorder<'a> {
    began: Instant,
    file: Option<(PathBuf, BufWriter<File>, Seal)>,
    record: Record,
    /// What the last line says of the proposal.
    diff: String,
    files: Vec<FinishedFile>,
    watcher: &'a mut Watcher<'a>,
}

impl<'a> Recorder<'a> {
    /// Starts a record at `path`; the run's clock starts now.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path, watcher: &'a mut Watcher<'a>) -> Result<Recorder<'a>, LabError> {
        let file = File::create_new(path).map_err(LabError::folder(path))?;
        let file = Some((path.to_owned(), BufWriter::new(file), Seal::default()));
        Ok(Recorder { file, ..Recorder::in_memory(watcher) })
    }

    /// Starts a record that nobody keeps.
    pub fn in_memory(watcher: &'a mut Watcher<'a>) -> Recorder<'a> {
        Recorder {
            began: Instant::now(),
            file: None,
            record: Record::default(),
            diff: String::new(),
            files: Vec::new(),
            watcher,
        }
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
        let what = match what {
            What::Tick(tick) => What::Tick(redact::tick(tick)),
            other => other,
        };
        let event = Event { at_us, trial, what };
        let written = match &mut self.file {
            None => Ok(()),
            Some((path, file, seal)) => line(file, seal, &event).map_err(LabError::folder(&*path)),
        };
        (self.watcher)(&event);
        self.record.push(event);
        written
    }

    /// Records something that the reader should know.
    ///
    /// # Errors
    /// When it cannot be written (disk full).
    pub fn note(&mut self, trial: Option<u32>, id: &str, text: String) -> Result<(), LabError> {
        self.now(trial, What::Note(Note { id: id.to_owned(), text }))
    }

    /// Records what servers said before a load, but for their figures.
    ///
    /// # Errors
    /// When it cannot be written (disk full).
    pub fn before(&mut self, seen: Observation) -> Result<(), LabError> {
        let all = seen.logs.into_iter().map(What::Log).chain(seen.states.into_iter().map(What::State));
        all.into_iter().try_for_each(|what| self.now(None, what))
    }

    /// Records what a look at servers at `instant` brought.
    ///
    /// # Errors
    /// When it cannot be written (disk full).
    pub fn look(&mut self, instant: Instant, trial: u32, seen: Observation) -> Result<(), LabError> {
        let Observation { samples, logs, states } = seen;
        let all = samples.into_iter().map(What::Sample);
        let mut all = all.chain(logs.into_iter().map(What::Log)).chain(states.into_iter().map(What::State));
        all.try_for_each(|what| self.at(instant, Some(trial), what))
    }

    /// Takes the diff of a proposal for the last line, and where the files with it in place are.
    pub fn propose(&mut self, diff: String, files: Vec<FinishedFile>) {
        (self.diff, self.files) = (diff, files);
    }

    /// Writes the last line of a run. Gives the failure that counts: the first.
    pub fn close(&mut self, interrupted: bool, failure: Option<LabError>) -> Option<LabError> {
        let (diff, files) = (std::mem::take(&mut self.diff), std::mem::take(&mut self.files));
        let end = RunEnded { interrupted, failure: failure.as_ref().map(ToString::to_string), diff, files };
        let written = self.now(None, What::RunEnded(end));
        failure.or(written.err())
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

fn line(file: &mut BufWriter<File>, seal: &mut Seal, event: &Event) -> std::io::Result<()> {
    file.write_all(seal.write(&serde_json::to_string(event)?).as_bytes())?;
    file.write_all(b"\n")?;
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::event::{Handshakes, Refusal, Tick};

    #[test]
    fn no_interval_is_recorded_with_secrets() {
        let location = Some("https://u:SECRET@example.org/?token=SECRET".to_owned());
        let refusal = Some(Refusal { status: 302, location, body: String::new() });
        let handshakes = Some(Handshakes { refusal, ..Handshakes::default() });
        let mut seen = String::new();
        let mut watcher = |event: &Event| seen = serde_json::to_string(event).unwrap();
        let mut recorder = Recorder::in_memory(&mut watcher);
        let tick = Tick { handshakes, ..Tick::default() };
        recorder.now(Some(1), What::Tick(Box::new(tick))).unwrap();
        drop(recorder);
        assert!(seen.contains("example.org") && !seen.contains("SECRET"), "{seen}");
    }
}
