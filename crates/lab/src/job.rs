//! A run to be made, and what it leaves, whatever it is about.

use std::path::Path;

use genkai_engine::StopFlag;
use genkai_model::event::{Environment, Rewrite, RunStarted, SCHEMA, What};
use genkai_model::plan::Plan;
use genkai_model::record::Record;
use genkai_targets::application::Place;

use crate::error::LabError;
use crate::folder::Folder;
use crate::recorder::{Recorder, Watcher};
use crate::redact;
use crate::room;
use crate::system::Pin;

/// A run to be made.
pub struct Job<'a> {
    /// What is to be done.
    pub plan: Plan,
    /// genkai's own executable, for embedded servers and worker processes, and the applications.
    pub place: Place,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// genkai's version, for the record.
    pub version: String,
    /// Wall-clock start, RFC 3339.
    pub started: String,
    /// Cores.
    pub pin: Pin,
    /// Keep the servers' private files.
    pub keep: bool,
    /// Set when the user wants to stop.
    pub interrupt: &'a StopFlag,
}

/// What a run left.
pub struct Outcome {
    /// The record, also on disk.
    pub record: Record,
    /// What cut the run short, if anything did. The record is still good.
    pub failure: Option<LabError>,
}

impl Job<'_> {
    /// The first line of its record, without secrets.
    pub(crate) fn head(&self, environment: Environment, rewrites: &[Rewrite]) -> What {
        What::RunStarted(Box::new(RunStarted {
            schema: SCHEMA.to_owned(),
            version: self.version.clone(),
            started: self.started.clone(),
            command: redact::command(&self.command),
            environment,
            plan: redact::plan(&self.plan),
            rewrites: redact::rewrites(rewrites),
        }))
    }

    /// Makes a record in the folder `out`, of what `make` does. It holds `run.jsonl` afterwards, whatever happened.
    ///
    /// # Errors
    /// When the run could not begin. What goes wrong later is in [`Outcome::failure`].
    pub(crate) fn recorded(
        &self,
        out: &Path,
        watcher: &mut Watcher<'_>,
        make: impl FnOnce(&Folder, &mut Recorder<'_>) -> Result<(), LabError>,
    ) -> Result<Outcome, LabError> {
        let folder = Folder::open(out, self.keep)?;
        room::raise_descriptors();
        folder.set_aside()?;
        let mut recorder = Recorder::create(&folder.record(), watcher)?;
        let failure = make(&folder, &mut recorder).err();
        let failure = recorder.close(self.interrupt.is_stopped(), failure, String::new());
        Ok(Outcome { record: recorder.into_record(), failure })
    }
}
