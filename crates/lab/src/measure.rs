//! Load on something that already runs: one trial, no server of ours, nothing decided on the way.

use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use genkai_engine::StopFlag;
use genkai_model::event::{EndReason, Limits, Purpose, RunEnded, TrialStarted, What};
use genkai_model::load::Load;

use crate::error::LabError;
use crate::folder::Folder;
use crate::generator::{Generator, LoadEnd, LoadEvent, into, received};
use crate::job::{Job, Outcome};
use crate::reach;
use crate::recorder::{Recorder, Watcher};
use crate::system;
use crate::{headroom, redact};

/// How often the interrupt is looked at while nothing else happens.
const POLL: Duration = Duration::from_millis(50);

/// Makes the load of a plan that has its addresses, and gives the record; nobody keeps it where the job has no folder.
///
/// # Errors
/// When the load does not fit this machine, nobody listens, the load cannot begin, or the record cannot be written. What goes
/// wrong later is in [`Outcome::failure`].
pub(crate) fn run(job: &Job<'_>, watcher: &mut Watcher<'_>) -> Result<Outcome, LabError> {
    let folder = job.out.as_deref().map(|out| Folder::open(out, job.keep)).transpose()?;
    let environment = system::environment(&job.pin, None);
    let load = &headroom::fit(&job.plan.load, &headroom::look(&job.plan.load.addresses, &environment))?;
    headroom::raise_descriptors();
    reach::reach(load)?;
    reach::offered(load)?;
    let mut recorder = match &folder {
        None => Recorder::in_memory(watcher),
        Some(folder) => {
            folder.set_aside()?;
            Recorder::create(&folder.record(), watcher)?
        }
    };
    recorder.now(None, job.head(environment, &[]))?;
    recorder.now(None, What::Limits(Limits { limits: Vec::new() }))?;
    let generator = Generator { program: &job.place.program, cpus: None };
    let stop = StopFlag::new();
    let (sender, receiver) = mpsc::channel();
    let failure = std::thread::scope(|scope| {
        generator.spawn(scope, load, &stop, into(sender));
        let result = watch(job, load, &receiver, &stop, &mut recorder);
        // Whatever went wrong: the load must not go on.
        stop.stop();
        result
    })?;
    Ok(Outcome { record: recorder.into_record(), written: Vec::new(), failure })
}

/// Writes down what the generator tells, until it has ended. What cut the load short, if anything did.
fn watch(
    job: &Job<'_>,
    load: &Load,
    receiver: &Receiver<LoadEvent>,
    stop: &StopFlag,
    recorder: &mut Recorder<'_>,
) -> Result<Option<LabError>, LabError> {
    loop {
        if job.interrupt.is_stopped() {
            stop.stop();
        }
        match received(receiver, POLL)? {
            Some(LoadEvent::Started(at)) => recorder.at(at, Some(1), started(load))?,
            Some(LoadEvent::Tick(tick)) => recorder.now(Some(1), What::Tick(tick))?,
            Some(LoadEvent::Ended(made)) => return close(job, made?, recorder),
            None => {}
        }
    }
}

fn started(load: &Load) -> What {
    What::TrialStarted(Box::new(TrialStarted {
        purpose: Purpose::Measure,
        changes: Vec::new(),
        limit: None,
        load: redact::load(load),
    }))
}

fn close(job: &Job<'_>, made: LoadEnd, recorder: &mut Recorder<'_>) -> Result<Option<LabError>, LabError> {
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
