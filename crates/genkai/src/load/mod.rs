//! `genkai load URL`: load on something that already runs. What is to be done is in `plan`, what is left of it in
//! `tables` (and, with `--out`, the same files as a tuning run's).

mod plan;
mod script;
pub(crate) mod tables;

use genkai_analysis::findings;
use genkai_lab::folder::Folder;
use genkai_lab::job::Outcome;
use genkai_lab::measure;
use genkai_lab::system::Pin;
use genkai_model::exit::Exit;
use genkai_report::{json, text};

use crate::cli::Load;
use crate::outputs::Outputs;
use crate::view::{self, View};
use crate::{Failure, interrupt, made};

/// `genkai load`.
pub(crate) fn run(flags: &Load) -> Result<Exit, Failure> {
    let plan = plan::plan(flags)?;
    if flags.dry_run {
        let style = view::stdout_style(flags.color);
        view::print(&if flags.json { json::value(&plan.load) } else { text::script(&plan, style) });
        return Ok(Exit::Holds);
    }
    let tables = flags.tables.open()?;
    let folder = flags.out.as_deref().map(|out| Folder::open(out, false)).transpose()?;
    let interrupt = interrupt::flag();
    let job = made::job(plan, made::place(None)?, Pin::Free, false, &interrupt);
    let mut view = View::choose(flags.quiet, flags.color, &interrupt);
    let outcome = measure::run(&job, folder.as_ref(), &mut |event| view.event(event));
    view.finish();
    let Outcome { record, failure } = outcome?;
    let findings = findings(&record);
    let outputs = Outputs { record: &record, findings: &findings };
    if !flags.quiet {
        show(flags, &outputs);
    }
    let page = folder.as_ref().map(|folder| outputs.write(folder.path(), false)).transpose()?;
    let said = tables.write(&record)?;
    if !flags.quiet {
        page.iter().for_each(|page| view::say(&format!("report: {}", page.display())));
        said.iter().for_each(|line| view::say(line));
    }
    match failure {
        Some(failure) => Err(failure.into()),
        None => Ok(outputs.exit()),
    }
}

fn show(flags: &Load, outputs: &Outputs<'_>) {
    let shown = if flags.json {
        outputs.json()
    } else {
        text::measure(outputs.record, outputs.findings, view::stdout_style(flags.color))
    };
    view::print(&shown);
}
