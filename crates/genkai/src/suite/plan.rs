//! What an experiment of several runs would do: each part with its load, and how long all of it takes.

use genkai_lab::compare;
use genkai_lab::experiment::Size;
use genkai_lab::experiment::apache::{self, Part, Task};
use genkai_lab::placement::Placement;
use genkai_lab::study::preview;
use genkai_lab::system::Pin;
use genkai_model::exit::Exit;
use genkai_model::plan::Plan;
use genkai_model::units::Range;
use genkai_report::{study as report, text};
use serde_json::{Value, json};

use crate::cli::OutputFlags;
use crate::{Failure, claims, study, view};

/// A part as it would be run.
struct Planned {
    text: String,
    json: Value,
    /// Seconds of load.
    seconds: Range,
}

/// Shows what would be done, and what is predicted.
///
/// # Errors
/// Whatever would keep a part from being made.
pub(super) fn show(parts: &[Part], size: Size, placement: &Placement, output: &OutputFlags) -> Result<Exit, Failure> {
    let style = view::stdout_style(output.color);
    let mut all = Range { low: 0.0, high: 0.0 };
    let mut told = Vec::new();
    for part in parts {
        let planned = planned(part, size, placement, style)?;
        all = Range { low: all.low + planned.seconds.low, high: all.high + planned.seconds.high };
        if !output.quiet && !output.json {
            view::print(&planned.text);
        }
        let Range { low, high } = planned.seconds;
        told.push(
            json!({ "name": part.name, "question": part.question, "seconds": [low, high], "runs": planned.json }),
        );
    }
    if !output.quiet {
        match output.json {
            true => view::print(&json!({ "parts": told, "seconds": [all.low, all.high] }).to_string()),
            false => view::show(None, &report::suite_length(parts.len(), all), output.color),
        }
    }
    Ok(Exit::Holds)
}

fn planned(part: &Part, size: Size, placement: &Placement, style: text::Style) -> Result<Planned, Failure> {
    let pin = Pin::Apart;
    match &part.task {
        Task::Search(search) => {
            let plan = placement.of(search.plan.clone());
            let seen = preview(&plan, &study::place(None)?, &pin)?;
            let text = text::document(&report::plan(&plan, &seen.predictions, &seen.environment), style);
            Ok(Planned { text, json: json!([plan]), seconds: search.seconds() })
        }
        Task::Changes(connections) => {
            let plan = placement.of(apache::changes(part.name, *connections, size)?);
            let seen = preview(&plan, &study::place(None)?, &pin)?;
            let text = text::document(&report::compare_plan(&plan, &seen.contenders, &seen.environment), style);
            Ok(Planned { text, json: json!([plan]), seconds: seconds(&plan) })
        }
        Task::Claims => {
            let effort = super::effort(size, &pin, placement);
            let shipped = claims::shipped::all(Some(super::PRODUCT))?;
            let plans =
                shipped.iter().map(|claim| claims::plan(claim, &effort, &pin)).collect::<Result<Vec<_>, _>>()?;
            let lines: Vec<String> = shipped.iter().map(|claim| format!("{}: {}", claim.name, claim.advice)).collect();
            let each = plans.iter().map(seconds);
            let all =
                each.fold(Range { low: 0.0, high: 0.0 }, |a, b| Range { low: a.low + b.low, high: a.high + b.high });
            let text = format!("Plan: {}\n\n{}\n", part.question, lines.join("\n"));
            Ok(Planned { text, json: json!(plans), seconds: all })
        }
    }
}

/// Seconds of load of a comparison; of a line that is shown to a server's check, none.
fn seconds(plan: &Plan) -> Range {
    plan.comparison().map_or(Range { low: 0.0, high: 0.0 }, compare::seconds)
}
