//! A run to be made, and what it leaves, whatever it is about.

use std::path::PathBuf;

use genkai_engine::StopFlag;
use genkai_model::event::{Environment, Rewrite, RunStarted, SCHEMA, What};
use genkai_model::finding::Predicted;
use genkai_model::latencies::ContenderRecord;
use genkai_model::plan::Plan;
use genkai_model::record::Record;
use genkai_targets::application::Place;

use crate::error::LabError;
use crate::folder::Folder;
use crate::headroom;
use crate::recorder::{Recorder, Watcher};
use crate::redact;
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
    /// The folder of the record, which holds `run.jsonl` afterwards, whatever happened. Only a load needs none: its record is not kept then.
    pub out: Option<PathBuf>,
    /// Keep the servers' private files.
    pub keep: bool,
    /// Write a proposal into the user's files once it is proved.
    pub write: bool,
    /// Set when the user wants to stop.
    pub interrupt: &'a StopFlag,
}

/// What a run left.
pub struct Outcome {
    /// The record, also on disk.
    pub record: Record,
    /// The user's files that a proposal was written into, each with its backup.
    pub written: Vec<(PathBuf, PathBuf)>,
    /// What cut the run short, if anything did. The record is still good.
    pub failure: Option<LabError>,
}

/// Everything known before anything is started.
pub struct Preview {
    /// The machine.
    pub environment: Environment,
    /// In a search for a limit: what the limits are predicted to do under the plan's load.
    pub predictions: Vec<Predicted>,
    /// In a comparison of systems: each contender as it would run.
    pub contenders: Vec<ContenderRecord>,
}

impl Preview {
    /// Nothing but the machine.
    pub(crate) fn of(environment: Environment) -> Preview {
        Preview { environment, predictions: Vec::new(), contenders: Vec::new() }
    }
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

    /// Makes a record in the job's folder: `start` starts what every trial needs, `make` makes the trials. What was started ends after
    /// the record's last line is written.
    ///
    /// # Errors
    /// When the run could not begin. What goes wrong later is in [`Outcome::failure`].
    pub(crate) fn recorded<S>(
        &self,
        watcher: &mut Watcher<'_>,
        start: impl FnOnce(&Folder) -> Result<S, LabError>,
        make: impl FnOnce(&mut S, &Folder, &mut Recorder<'_>) -> Result<(), LabError>,
    ) -> Result<Outcome, LabError> {
        let nowhere = || LabError::Plan("a folder is needed for the record".to_owned());
        let folder = Folder::open(self.out.as_deref().ok_or_else(nowhere)?, self.keep)?;
        let mut started = start(&folder)?;
        headroom::raise_descriptors();
        folder.set_aside()?;
        let mut recorder = Recorder::create(&folder.record(), watcher)?;
        let failure = make(&mut started, &folder, &mut recorder).err();
        let failure = recorder.close(self.interrupt.is_stopped(), failure);
        Ok(Outcome { record: recorder.into_record(), written: Vec::new(), failure })
    }
}
