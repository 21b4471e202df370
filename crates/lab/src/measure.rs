//! Load on something that already runs: one trial, no server of ours, nothing decided on the way.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use genkai_engine::{End, EngineError, StopFlag};
use genkai_model::event::{
    EndReason, Environment, Limits, Purpose, RunEnded, RunStarted, SCHEMA, Tick, TrialEnded, TrialStarted, What,
};
use genkai_model::plan::Plan;
use genkai_model::record::Record;

use crate::error::LabError;
use crate::folder::Folder;
use crate::reach;
use crate::recorder::{Recorder, Watcher};
use crate::redact;
use crate::system::{self, Pin};
use crate::trial::lost_generator;

/// A measurement to be made. The plan's load has its addresses.
pub struct Job<'a> {
    /// What is to be sent, where, and what must hold.
    pub plan: Plan,
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
    Ended(Result<End, EngineError>),
}

/// Makes the load and gives the record.
///
/// # Errors
/// When the load does not fit this machine, nobody listens, the generator fails, or the record cannot be written.
pub fn run(job: &Job<'_>, watcher: &mut Watcher<'_>) -> Result<Record, LabError> {
    let environment = system::environment(&Pin::Free, None);
    crate::tune::fits(&job.plan.load, &environment)?;
    crate::tune::raise_descriptors();
    reach::reach(&job.plan.load)?;
    reach::offered(&job.plan.load)?;
    let mut recorder = match job.folder {
        None => Recorder::in_memory(watcher),
        Some(folder) => {
            folder.set_aside()?;
            Recorder::create(&folder.record(), watcher)?
        }
    };
    head(job, environment, &mut recorder)?;
    let stop = StopFlag::new();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let load = &job.plan.load;
        let engine_stop = stop.clone();
        scope.spawn(move || {
            let started = |at| drop(sender.send(Message::Started(at)));
            let tick = |tick| drop(sender.send(Message::Tick(Box::new(tick))));
            let ended = genkai_engine::run(load, None, &engine_stop, started, tick);
            let _ = sender.send(Message::Ended(ended));
        });
        let result = watch(job, &receiver, &stop, &mut recorder);
        // Whatever went wrong: the load must not go on.
        stop.stop();
        result
    })?;
    Ok(recorder.into_record())
}

/// Writes down what the engine tells, until it has ended.
fn watch(
    job: &Job<'_>,
    receiver: &Receiver<Message>,
    stop: &StopFlag,
    recorder: &mut Recorder<'_>,
) -> Result<(), LabError> {
    loop {
        if job.interrupt.is_stopped() {
            stop.stop();
        }
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(Message::Started(at)) => recorder.at(at, Some(1), started(job))?,
            Ok(Message::Tick(tick)) => recorder.now(Some(1), What::Tick(redact::tick(tick)))?,
            Ok(Message::Ended(end)) => return close(job, &end?, recorder),
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

fn started(job: &Job<'_>) -> What {
    What::TrialStarted(Box::new(TrialStarted {
        purpose: Purpose::Measure,
        changes: Vec::new(),
        limit: None,
        load: redact::load(&job.plan.load),
    }))
}

fn close(job: &Job<'_>, end: &End, recorder: &mut Recorder<'_>) -> Result<(), LabError> {
    let interrupted = job.interrupt.is_stopped();
    let reason = if interrupted { EndReason::Interrupted } else { EndReason::Completed };
    let ended = TrialEnded { reason, lasted: end.lasted, abandoned: end.abandoned, client_rss: end.client_rss };
    recorder.now(Some(1), What::TrialEnded(ended))?;
    recorder.now(None, What::RunEnded(RunEnded { interrupted, failure: None, diff: String::new() }))
}
