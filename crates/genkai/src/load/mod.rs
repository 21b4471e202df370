//! `genkai load URL`: load on something that already runs. What is to be done is in `plan`, what is left of it in
//! `tables` (and, with `--out`, the same files as a tuning run's).

mod locust;
mod plan;
pub(crate) mod script;
mod tables;

use genkai_lab::job::Outcome;
use genkai_lab::system::Pin;
use genkai_model::exit::Exit;
use genkai_report::{json, study as report};

use crate::cli::Load;
use crate::view::{self, View};
use crate::{Failure, found, interrupt, study};

/// `genkai load`.
pub(crate) fn run(flags: &Load) -> Result<Exit, Failure> {
    if let (Some(master), false) = (&flags.locust, flags.dry_run) {
        return locust::run(flags, master);
    }
    let plan = plan::plan(flags)?;
    if flags.dry_run {
        view::show(flags.json.then(|| json::value(&plan.load)), &report::script(&plan), flags.color);
        return Ok(Exit::Holds);
    }
    let tables = flags.tables.open()?;
    let interrupt = interrupt::flag();
    let job = study::job(plan, study::place(None)?, Pin::Free, flags.out.clone(), &interrupt);
    let view = View::of(&job.plan.study, flags.quiet, flags.color, &interrupt);
    let outcome = study::make(&job, view)?;
    let exit = show(flags, &outcome, Some(tables))?;
    match outcome.failure {
        Some(failure) => Err(failure.into()),
        None => Ok(exit),
    }
}

/// Prints and writes what a load came to; its exit code.
fn show(flags: &Load, Outcome { record, .. }: &Outcome, tables: Option<tables::Open>) -> Result<Exit, Failure> {
    let found = found::tuned(record);
    if !flags.quiet {
        found.print(flags.json, false, flags.color);
    }
    let out = flags.out.as_ref().map(|out| out.canonicalize().unwrap_or_else(|_| out.clone()));
    let page = out.map(|out| found.write(record, &out, false)).transpose()?;
    let said = tables.map(|tables| tables.write(record)).transpose()?.unwrap_or_default();
    if !flags.quiet {
        page.iter().for_each(|page| view::say(&format!("report: {}", page.display())));
        said.iter().for_each(|line| view::say(line));
    }
    Ok(found.exit(record))
}
