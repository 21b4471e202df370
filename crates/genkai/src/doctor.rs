//! `genkai doctor`: what this machine can hold, and how to raise it.

use genkai_analysis::machine::examine;
use genkai_model::exit::Exit;
use genkai_place::survey::survey;
use genkai_report::{json, text};
use genkai_targets::survey::known;

use crate::cli::Doctor;
use crate::{Failure, view};

/// `genkai doctor`.
pub(crate) fn run(flags: &Doctor) -> Result<Exit, Failure> {
    let checkup = examine(survey(&known()), flags.connections);
    let style = view::stdout_style(flags.color);
    view::print(&if flags.json { json::value(&checkup) } else { text::doctor(&checkup, style) });
    Ok(if checkup.good { Exit::Holds } else { Exit::Environment })
}
