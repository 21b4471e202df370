//! An experiment of several runs: one after the other, each in a folder of its own, and what they showed together.

use std::path::Path;

use genkai_analysis::{findings, suite};
use genkai_engine::StopFlag;
use genkai_lab::experiment::Size;
use genkai_lab::experiment::apache::{PROCESSOR, Part, parts};
use genkai_lab::system::Pin;
use genkai_lab::tune;
use genkai_model::exit::Exit;
use genkai_model::finding::Outcome;
use genkai_model::suite::{PartFinding, SCHEMA, SuiteFinding};
use genkai_report::{json, says, text};

use crate::cli::OutputFlags;
use crate::outputs::{self, Outputs};
use crate::view::{self, View};
use crate::{Failure, interrupt, made};

/// Runs `apache-websocket` in a size; with `only`, the parts of these names.
///
/// # Errors
/// When a part could not be made.
pub(crate) fn apache(size: Size, only: &[String], output: &OutputFlags) -> Result<Exit, Failure> {
    let chosen = chosen(parts(size), only)?;
    if output.dry_run {
        return preview(&chosen, output);
    }
    let title = "apache-websocket".to_owned();
    let out = output.out.clone().unwrap_or_else(|| made::default_folder(&title));
    let interrupt = interrupt::flag();
    let mut finding = SuiteFinding { schema: SCHEMA.to_owned(), title, parts: Vec::new() };
    for one in chosen {
        if interrupt.is_stopped() {
            break;
        }
        finding.parts.push(part(one, &out, output, &interrupt)?);
    }
    outputs::whole(&out.join("verdict.json"), &json::suite(&finding))?;
    if !output.quiet {
        let style = view::stdout_style(output.color);
        view::print(&if output.json { json::suite(&finding) } else { text::suite(&finding, style) });
        view::say(&format!("reports: {}/PART/report.html", out.display()));
    }
    Ok(match finding.outcome() {
        _ if interrupt.is_stopped() => Exit::Interrupted,
        Outcome::Holds => Exit::Holds,
        Outcome::Invalid => Exit::Invalid,
        _ => Exit::Fails,
    })
}

/// All parts, or those named.
fn chosen(all: Vec<Part>, only: &[String]) -> Result<Vec<Part>, Failure> {
    if let Some(name) = only.iter().find(|name| !all.iter().any(|part| part.name == *name)) {
        let names: Vec<&str> = all.iter().map(|part| part.name).collect();
        return Err(Failure::usage(format!("--part {name}: there are {}", names.join(", "))));
    }
    Ok(all.into_iter().filter(|part| only.is_empty() || only.iter().any(|name| name == part.name)).collect())
}

/// What would be done, and what is predicted.
fn preview(parts: &[Part], output: &OutputFlags) -> Result<Exit, Failure> {
    for part in parts {
        let seen = tune::preview(&part.plan, &Pin::Apart)?;
        if !output.quiet {
            let style = view::stdout_style(output.color);
            view::print(&text::plan(&part.plan, &seen.predictions, &seen.environment, style));
        }
    }
    Ok(Exit::Holds)
}

/// One run with its outputs, and what it showed.
fn part(part: Part, out: &Path, output: &OutputFlags, interrupt: &StopFlag) -> Result<PartFinding, Failure> {
    if !output.quiet {
        view::say(&format!("{}: {}", part.name, part.question));
    }
    let job = made::job(part.plan, made::place(None)?, Pin::Apart, output.keep, interrupt);
    let dir = out.join(part.name);
    let mut view = View::choose(output.quiet, output.color, interrupt);
    let outcome = tune::run(&job, false, &dir, &mut |event| view.event(event));
    view.finish();
    let outcome = outcome?;
    let findings = findings(&outcome.record);
    Outputs { record: &outcome.record, findings: &findings }.write(&dir, output.svg)?;
    if let Some(failure) = outcome.failure {
        return Err(failure.into());
    }
    let answer = says::sentences(&findings, &outcome.record).into_iter().next().unwrap_or_default();
    let verdict = findings.verdict;
    Ok(PartFinding {
        name: part.name.to_owned(),
        question: part.question,
        trouble: part.trouble.map(str::to_owned),
        answer,
        named: suite::is_named(&verdict, part.limit, part.limit == Some(PROCESSOR)),
        loads: suite::loads(&outcome.record),
        verdict,
    })
}
