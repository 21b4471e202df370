//! Load on something that already runs: one trial, no server of ours, nothing decided on the way.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use genkai_engine::{End, EngineError, StopFlag};
use genkai_model::event::{
    EndReason, Environment, Limits, Purpose, RunEnded, RunStarted, SCHEMA, Tick, TrialEnded, TrialStarted, What,
};
use genkai_model::load::{Load, Protocol};
use genkai_model::plan::Plan;
use genkai_model::record::Record;

use crate::error::LabError;
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
}

enum Message {
    Started(Instant),
    Tick(Box<Tick>),
    Ended(Result<End, EngineError>),
}

/// Makes the load and gives the record.
///
/// # Errors
/// When the load does not fit this machine or the generator fails.
pub fn run(job: &Job<'_>, watcher: &mut Watcher<'_>) -> Result<Record, LabError> {
    let environment = system::environment(&Pin::Free, None);
    crate::tune::fits(&job.plan.load, &environment)?;
    crate::tune::raise_descriptors();
    offered(&job.plan.load)?;
    let mut recorder = Recorder::in_memory(watcher);
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
        loop {
            if job.interrupt.is_stopped() {
                stop.stop();
            }
            match receiver.recv_timeout(Duration::from_millis(50)) {
                Ok(Message::Started(at)) => recorder.at(at, Some(1), started(job))?,
                Ok(Message::Tick(tick)) => recorder.now(Some(1), What::Tick(tick))?,
                Ok(Message::Ended(end)) => return close(job, &end?, &mut recorder),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(lost_generator()),
            }
        }
    })?;
    Ok(recorder.into_record())
}

/// How long a server may take for each step of saying that it speaks HTTP/2.
const OFFER: Duration = Duration::from_secs(5);

/// Refuses HTTP/2 load on a server that does not speak it, before the load.
fn offered(load: &Load) -> Result<(), LabError> {
    let Protocol::Http2(_) = load.protocol else { return Ok(()) };
    genkai_engine::http2_offered(load, OFFER).map_err(|no| {
        LabError::Environment(format!(
            "{no}\n  hint: switch HTTP/2 on in the server (nginx: `listen ... http2`), or load it over HTTP/1.1, without --http2"
        ))
    })
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
