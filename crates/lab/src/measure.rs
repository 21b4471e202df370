//! Load on something that already runs: one trial, no server of ours, nothing decided on the way.

use genkai_model::event::{EndReason, Environment, Limits, RunEnded, TrialStarted, What};

use crate::error::LabError;
use crate::folder::Folder;
use crate::generator::{Generator, LoadEnd, Recorded, Workplaces, one_load};
use crate::job::{Job, Outcome};
use crate::reach;
use crate::recorder::{Recorder, Watcher};
use crate::system;
use crate::{headroom, redact};

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
    // What only others are to reach need not be reached from here.
    if load.scale.here() > 0 {
        reach::reach(load)?;
        reach::offered(load, reach::SWITCH_ON)?;
    }
    let places =
        Workplaces::open(&job.place.program, &load.scale, &load.addresses, one_load(load.stop.after), job.interrupt)?;
    places.check(load)?;
    let mut recorder = open(job, folder.as_ref(), environment, watcher)?;
    let generator = Generator { places: &places, cpus: None };
    let started = TrialStarted::measure(redact::load(load));
    let made = Recorded { number: 1, load, started, generator, interrupt: job.interrupt };
    let made = made.make(&mut recorder, |_, _| Ok(()))?;
    let failure = close(job, made, &mut recorder)?;
    Ok(Outcome { record: recorder.into_record(), written: Vec::new(), failure })
}

/// The record of one trial on something that already runs, up to where its load begins; in memory without a folder.
pub(crate) fn open<'a>(
    job: &Job<'_>,
    folder: Option<&Folder>,
    environment: Environment,
    watcher: &'a mut Watcher<'a>,
) -> Result<Recorder<'a>, LabError> {
    let mut recorder = match folder {
        None => Recorder::in_memory(watcher),
        Some(folder) => {
            folder.set_aside()?;
            Recorder::create(&folder.record(), watcher)?
        }
    };
    recorder.now(None, job.head(environment, &[]))?;
    recorder.now(None, What::Limits(Limits { limits: Vec::new() }))?;
    Ok(recorder)
}

/// Writes how that trial ended, and the run; what went wrong with the load, for whoever tells it.
pub(crate) fn close(job: &Job<'_>, made: LoadEnd, recorder: &mut Recorder<'_>) -> Result<Option<LabError>, LabError> {
    let interrupted = job.interrupt.is_stopped();
    let reason = match made.failure {
        _ if interrupted => EndReason::Interrupted,
        Some(_) => EndReason::EngineFailed,
        None => EndReason::Completed,
    };
    recorder.now(Some(1), What::TrialEnded(made.ended(reason)))?;
    let failure = made.failure.as_ref().map(ToString::to_string);
    recorder.now(None, What::RunEnded(RunEnded { interrupted, failure, diff: String::new(), files: Vec::new() }))?;
    Ok(made.failure)
}
