//! An experiment of several runs: one after the other, each in a folder of its own, and what they showed together.

use std::time::SystemTime;

use genkai_analysis::{findings, suite};
use genkai_lab::experiment::Size;
use genkai_lab::experiment::apache::{PROCESSOR, Part, parts};
use genkai_lab::system::Pin;
use genkai_lab::tune::{self, Job};
use genkai_model::exit::Exit;
use genkai_model::finding::Outcome;
use genkai_model::suite::{PartFinding, SCHEMA, SuiteFinding};
use genkai_report::{json, says, text};

use crate::cli::OutputFlags;
use crate::outputs::{self, Outputs};
use crate::tune::default_folder;
use crate::view::{self, View};
use crate::{Failure, interrupt};

/// Runs `apache-websocket` in a size; with `only`, the parts of these names.
///
/// # Errors
/// When a part could not be made.
pub(crate) fn apache(size: Size, only: &[String], output: &OutputFlags) -> Result<Exit, Failure> {
    let all = parts(size);
    if let Some(name) = only.iter().find(|name| !all.iter().any(|part| part.name == *name)) {
        let names: Vec<&str> = all.iter().map(|part| part.name).collect();
        return Err(Failure::usage(format!("--part {name}: there are {}", names.join(", "))));
    }
    let chosen: Vec<Part> = all.into_iter().filter(|p| only.is_empty() || only.iter().any(|n| n == p.name)).collect();
    let style = view::stdout_style(output.color);
    if output.dry_run {
        for part in &chosen {
            let preview = tune::preview(&part.plan, &Pin::Apart)?;
            if !output.quiet {
                view::print(&text::plan(&part.plan, &preview.predictions, &preview.environment, style));
            }
        }
        return Ok(Exit::Holds);
    }
    let out = output.out.clone().unwrap_or_else(|| default_folder("apache-websocket"));
    let interrupt = interrupt::flag();
    let mut finding =
        SuiteFinding { schema: SCHEMA.to_owned(), title: "apache-websocket".to_owned(), parts: Vec::new() };
    for part in chosen {
        if interrupt.is_stopped() {
            break;
        }
        if !output.quiet {
            view::say(&format!("{}: {}", part.name, part.question));
        }
        let job = Job {
            plan: part.plan.clone(),
            program: crate::program()?,
            command: std::env::args().collect(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            pin: Pin::Apart,
            keep: output.keep,
            write: false,
            interrupt: &interrupt,
        };
        let dir = out.join(part.name);
        let mut view = View::choose(output.quiet, output.color, &interrupt);
        let outcome = tune::run(&job, &dir, &mut |event| view.event(event));
        view.finish();
        let outcome = outcome?;
        let findings = findings(&outcome.record);
        Outputs { record: &outcome.record, findings: &findings }.write(&dir, output.svg)?;
        if let Some(failure) = outcome.failure {
            return Err(failure.into());
        }
        let answer = says::sentences(&findings, &outcome.record).into_iter().next().unwrap_or_default();
        let verdict = findings.verdict;
        finding.parts.push(PartFinding {
            name: part.name.to_owned(),
            question: part.question,
            trouble: part.trouble.map(str::to_owned),
            answer,
            named: suite::is_named(&verdict, part.limit, part.limit == Some(PROCESSOR)),
            loads: suite::loads(&outcome.record),
            verdict,
        });
    }
    outputs::whole(&out.join("verdict.json"), &json::suite(&finding))?;
    if !output.quiet {
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
