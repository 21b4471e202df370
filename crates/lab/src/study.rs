//! The one way into a run, whatever its study: what is checked before, and the run itself.

use genkai_model::plan::{Plan, Study};
use genkai_targets::application::Place;

use crate::error::LabError;
use crate::job::{Job, Outcome, Preview};
use crate::recorder::Watcher;
use crate::system::{self, Pin};
use crate::{cache, claims, compare, latencies, measure, rooms, tune};

/// Checks a plan without starting a server under test: configurations are read and tested by the products themselves, the load is held
/// against this machine.
///
/// # Errors
/// Whatever would keep the run from being made.
pub fn preview(plan: &Plan, place: &Place, pin: &Pin) -> Result<Preview, LabError> {
    match &plan.study {
        Study::Load => Ok(Preview::of(system::environment(pin, None))),
        Study::Tune => tune::preview(plan, pin),
        Study::Rooms(cluster) | Study::IdleRequests { cluster, .. } => {
            rooms::check(plan, cluster, place, pin).map(Preview::of)
        }
        Study::Latencies(comparison) => latencies::check(plan, comparison, place, pin).map(Preview::of),
        Study::Compare(_) if claims::line(plan).is_some() => Ok(Preview::of(system::environment(pin, None))),
        Study::Compare(comparison) => compare::preview(plan, comparison, pin),
        Study::Cache(caching) => cache::check(plan, caching, pin).map(Preview::of),
    }
}

/// Makes the run of a job's plan, checked first. Its folder holds `run.jsonl` afterwards, whatever happened.
///
/// # Errors
/// When the run could not begin. What goes wrong later is in [`Outcome::failure`].
pub fn run(job: &Job<'_>, watcher: &mut Watcher<'_>) -> Result<Outcome, LabError> {
    match &job.plan.study {
        Study::Load => measure::run(job, watcher),
        Study::Tune => tune::run(job, watcher),
        Study::Rooms(cluster) | Study::IdleRequests { cluster, .. } => rooms::run(job, cluster, watcher),
        Study::Latencies(comparison) => latencies::run(job, comparison, watcher),
        Study::Compare(comparison) => match claims::line(&job.plan) {
            Some(line) => claims::check(job, line, watcher),
            None => compare::run(job, comparison, watcher),
        },
        Study::Cache(caching) => cache::run(job, caching, watcher),
    }
}
