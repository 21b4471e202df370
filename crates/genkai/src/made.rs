//! Runs of experiments that are made and shown alike, and what all runs begin with.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use genkai_engine::StopFlag;
use genkai_lab::job::{Job, Outcome};
use genkai_lab::recorder::Watcher;
use genkai_lab::system::Pin;
use genkai_lab::{LabError, contest};
use genkai_model::event::Environment;
use genkai_model::exit::Exit;
use genkai_model::plan::Plan;
use genkai_report::json;
use genkai_targets::application::Place;

use crate::cli::OutputFlags;
use crate::view::{self, View};
use crate::{Failure, found, interrupt};

/// How an experiment is checked and made.
pub(crate) struct Experiment {
    /// Whether it can be made at all.
    pub(crate) check: fn(&Plan, &Place, &Pin) -> Result<Environment, LabError>,
    /// Makes it.
    pub(crate) run: fn(&Job<'_>, &Path, &mut Watcher<'_>) -> Result<Outcome, LabError>,
    /// The view that suits it.
    pub(crate) view: fn(&OutputFlags, &StopFlag) -> View,
    /// Whether its answer is printed as Markdown.
    pub(crate) markdown: bool,
}

/// Makes a run and its outputs.
pub(crate) fn run(plan: Plan, place: Place, experiment: &Experiment, output: &OutputFlags) -> Result<Exit, Failure> {
    let pin = Pin::Apart;
    let environment = (experiment.check)(&plan, &place, &pin)?;
    if output.dry_run {
        if !output.quiet {
            view::print(&json::plan(&plan, &[], &environment));
        }
        return Ok(Exit::Holds);
    }
    let out = output.out.clone().unwrap_or_else(|| default_folder(&plan.title));
    let interrupt = interrupt::flag();
    let job = job(plan, place, pin, output.keep, &interrupt);
    let mut view = (experiment.view)(output, &interrupt);
    let outcome = (experiment.run)(&job, &out, &mut |event| view.event(event));
    view.finish();
    let outcome = outcome?;
    let shown = found::show(&outcome.record, &out, output, experiment.markdown);
    match outcome.failure {
        Some(failure) => Err(failure.into()),
        None => shown,
    }
}

/// Where this program is, and the applications: in the folder given, else where they are found.
///
/// # Errors
/// When the program does not know itself.
pub(crate) fn place(apps: Option<&Path>) -> Result<Place, Failure> {
    Ok(contest::place(&crate::program()?, apps))
}

/// A run of `plan` by this program, from now.
pub(crate) fn job(plan: Plan, place: Place, pin: Pin, keep: bool, interrupt: &StopFlag) -> Job<'_> {
    Job {
        plan,
        place,
        command: std::env::args().collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        pin,
        keep,
        interrupt,
    }
}

/// `genkai-runs/2026-11-21T11-22-33-tune-nginx`.
pub(crate) fn default_folder(title: &str) -> PathBuf {
    let time = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let name: String = format!("{}-{title}", time.trim_end_matches('Z'))
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    PathBuf::from("genkai-runs").join(name.trim_end_matches('-'))
}
