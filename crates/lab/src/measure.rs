//! Load on something that already runs: one trial, no server of ours, nothing decided on the way.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use genkai_engine::StopFlag;
use genkai_model::event::{
    EndReason, Environment, Limits, Purpose, RunEnded, RunStarted, SCHEMA, Tick, TrialStarted, What,
};
use genkai_model::load::Load;
use genkai_model::plan::Plan;
use genkai_model::record::Record;

use crate::error::LabError;
use crate::folder::Folder;
use crate::generator::{Generator, Made};
use crate::reach;
use crate::recorder::{Recorder, Watcher};
use crate::system::{self, Pin};
use crate::trial::lost_generator;
use crate::{redact, room};

/// A measurement to be made. The plan's load has its addresses.
pub struct Job<'a> {
    /// What is to be sent, where, and what must hold.
    pub plan: Plan,
    /// genkai's own executable, for worker processes.
    pub program: PathBuf,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// genkai's version, for the record.
    pub version: String,
    /// Wall-clock start, RFC 3339.
    pub started: String,
    /// Set when the user wants to stop.
    pub interrupt: &'a StopFlag,
    /// Where the record is kept; none: nobody keeps it.
    pub folder: Option<&'a Folder>,
}

enum Message {
    Started(Instant),
    Tick(Box<Tick>),
    Ended(Result<Made, LabError>),
}

/// What a measurement left.
pub struct Outcome {
    /// The record.
    pub record: Record,
    /// What cut it short, if anything did. The record is still good.
    pub failure: Option<LabError>,
}

/// Makes the load and gives the record.
///
/// # Errors
/// When the load does not fit this machine, nobody listens, the load cannot begin, or the record cannot be written. What goes
/// wrong later is in [`Outcome::failure`].
pub fn run(job: &Job<'_>, watcher: &mut Watcher<'_>) -> Result<Outcome, LabError> {
    let environment = system::environment(&Pin::Free, None);
    let load = &room::fit(&job.plan.load, &room::look(&job.plan.load.addresses, &environment))?;
    room::raise_descriptors();
    reach::reach(load)?;
    reach::offered(load)?;
    let mut recorder = match job.folder {
        None => Recorder::in_memory(watcher),
        Some(folder) => {
            folder.set_aside()?;
            Recorder::create(&folder.record(), watcher)?
        }
    };
    head(job, environment, &mut recorder)?;
    let generator = Generator { program: &job.program, cpus: None };
    let stop = StopFlag::new();
    let (sender, receiver) = mpsc::channel();
    let failure = std::thread::scope(|scope| {
        let engine_stop = stop.clone();
        scope.spawn(move || {
            let started = |at| drop(sender.send(Message::Started(at)));
            let tick = |tick| drop(sender.send(Message::Tick(Box::new(tick))));
            let ended = generator.run(load, &engine_stop, started, tick);
            let _ = sender.send(Message::Ended(ended));
        });
        let result = watch(job, load, &receiver, &stop, &mut recorder);
        // Whatever went wrong: the load must not go on.
        stop.stop();
        result
    })?;
    Ok(Outcome { record: recorder.into_record(), failure })
}

/// Writes down what the generator tells, until it has ended. What cut the load short, if anything did.
fn watch(
    job: &Job<'_>,
    load: &Load,
    receiver: &Receiver<Message>,
    stop: &StopFlag,
    recorder: &mut Recorder<'_>,
) -> Result<Option<LabError>, LabError> {
    loop {
        if job.interrupt.is_stopped() {
            stop.stop();
        }
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(Message::Started(at)) => recorder.at(at, Some(1), started(load))?,
            Ok(Message::Tick(tick)) => recorder.now(Some(1), What::Tick(redact::tick(tick)))?,
            Ok(Message::Ended(made)) => return close(job, made?, recorder),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(lost_generator()),
        }
    }
}

fn head(job: &Job<'_>, environment: Environment, recorder: &mut Recorder<'_>) -> Result<(), LabError> {
    let head = RunStarted {
        schema: SCHEMA.to_owned(),
        version: job.version.clone(),
        started: job.started.clone(),
        command: redact::command(&job.command),
        environment,
        plan: redact::plan(&job.plan),
        rewrites: Vec::new(),
    };
    recorder.now(None, What::RunStarted(Box::new(head)))?;
    recorder.now(None, What::Limits(Limits { limits: Vec::new() }))
}

fn started(load: &Load) -> What {
    What::TrialStarted(Box::new(TrialStarted {
        purpose: Purpose::Measure,
        changes: Vec::new(),
        limit: None,
        load: redact::load(load),
    }))
}

fn close(job: &Job<'_>, made: Made, recorder: &mut Recorder<'_>) -> Result<Option<LabError>, LabError> {
    let interrupted = job.interrupt.is_stopped();
    let reason = match made.failure {
        _ if interrupted => EndReason::Interrupted,
        Some(_) => EndReason::EngineFailed,
        None => EndReason::Completed,
    };
    recorder.now(Some(1), What::TrialEnded(made.ended(reason)))?;
    let failure = made.failure.as_ref().map(ToString::to_string);
    recorder.now(None, What::RunEnded(RunEnded { interrupted, failure, diff: String::new() }))?;
    Ok(made.failure)
}
