//! Runs of plans, the same for every study: checked, made, shown while they go on, written and ended.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use genkai_engine::StopFlag;
use genkai_lab::job::{Job, Outcome, Preview};
use genkai_lab::system::Pin;
use genkai_lab::{LabError, latencies, redact};
use genkai_model::exit::Exit;
use genkai_model::plan::{Plan, Study};
use genkai_report::{json, study as report};
use genkai_targets::application::Place;

use crate::cli::OutputFlags;
use crate::view::{self, View};
use crate::{Failure, found, interrupt};

/// How a run is made, beside what its plan says.
pub(crate) struct How {
    /// Cores.
    pub(crate) pin: Pin,
    /// Whether a proved proposal is written into the user's files.
    pub(crate) write: bool,
    /// Whether the answer is printed as Markdown.
    pub(crate) markdown: bool,
}

impl Default for How {
    fn default() -> How {
        How { pin: Pin::Apart, write: false, markdown: false }
    }
}

/// Makes a run and its outputs; or shows what would be done.
///
/// # Errors
/// When the run could not be made to its end, or its outputs cannot be written.
pub(crate) fn run(plan: Plan, place: Place, how: How, output: &OutputFlags) -> Result<Exit, Failure> {
    if output.dry_run {
        let preview = genkai_lab::study::preview(&plan, &place, &how.pin)?;
        if !output.quiet {
            planned(&redact::plan(&plan), &preview, output);
        }
        return Ok(Exit::Holds);
    }
    run_until(plan, place, how, output, &interrupt::flag())
}

/// Makes a run and its outputs, until it is told to stop.
///
/// # Errors
/// When the run could not be made to its end, or its outputs cannot be written.
pub(crate) fn run_until(
    plan: Plan,
    place: Place,
    how: How,
    output: &OutputFlags,
    interrupt: &StopFlag,
) -> Result<Exit, Failure> {
    let out = output.out.clone().unwrap_or_else(|| default_folder(&plan.title));
    let job = job(plan, place, how.pin, Some(out.clone()), interrupt);
    let job = Job { keep: output.keep, write: how.write, ..job };
    let outcome = make(&job, View::of(&job.plan.study, output.quiet, output.color, interrupt))?;
    let shown = show(&job.plan.study, &outcome, &out, output, how.markdown);
    match outcome.failure {
        Some(failure) => Err(failure.into()),
        None => shown,
    }
}

/// Makes the run of a job, shown while it goes on.
///
/// # Errors
/// When it could not begin. What goes wrong later is in [`Outcome::failure`].
pub(crate) fn make(job: &Job<'_>, mut view: View) -> Result<Outcome, LabError> {
    let outcome = genkai_lab::study::run(job, &mut |event| view.event(event));
    view.finish();
    outcome
}

/// Prints what would be done.
fn planned(plan: &Plan, seen: &Preview, output: &OutputFlags) {
    let (predictions, environment) = (&seen.predictions, &seen.environment);
    let json = || match plan.study {
        Study::Compare(_) => json::comparison_plan(plan, &seen.contenders, environment),
        _ => json::plan(plan, predictions, environment),
    };
    let document = match plan.study {
        Study::Compare(_) => report::compare_plan(plan, &seen.contenders, environment),
        _ => report::plan(plan, predictions, environment),
    };
    // Only these two have a plan in words.
    let words = matches!(plan.study, Study::Compare(_) | Study::Tune) && !output.json;
    view::show((!words).then(json), &document, output.color);
}

/// Writes and prints what a run came to, if there was anything to see.
fn show(study: &Study, outcome: &Outcome, out: &Path, output: &OutputFlags, markdown: bool) -> Result<Exit, Failure> {
    let record = &outcome.record;
    let tuning = matches!(study, Study::Tune | Study::Load);
    let found = if tuning { Some(found::tuned(record)) } else { found::found(record) };
    let Some(found) = found else { return Ok(Exit::Interrupted) };
    let page = found.write(record, out, output.svg);
    if !output.quiet {
        found.print(output.json, markdown, output.color);
    }
    let page = page?;
    if !output.quiet && (outcome.failure.is_none() || !tuning) {
        for (file, backup) in &outcome.written {
            view::say(&format!("written: {} (backup: {})", file.display(), backup.display()));
        }
        if !outcome.written.is_empty() {
            view::say("hint: a server that runs already takes it when it is reloaded");
        }
        view::say(&format!("report: {}", page.display()));
        if !tuning {
            view::say(&format!("record: {}", out.join("run.jsonl").display()));
        }
    }
    Ok(found.exit(record))
}

/// Where this program is, and the applications: in the folder given, else where they are found.
///
/// # Errors
/// When the program does not know itself.
pub(crate) fn place(apps: Option<&Path>) -> Result<Place, Failure> {
    Ok(latencies::place(&crate::program()?, apps))
}

/// A run of `plan` by this program, from now, with its record in `out`.
pub(crate) fn job(plan: Plan, place: Place, pin: Pin, out: Option<PathBuf>, interrupt: &StopFlag) -> Job<'_> {
    Job {
        plan,
        place,
        command: std::env::args().collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
        pin,
        out,
        keep: false,
        write: false,
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
