//! `genkai doctor`: what this machine can hold, and how to raise it.

use genkai_analysis::machine::examine;
use genkai_model::exit::Exit;
use genkai_place::survey::survey;
use genkai_report::{json, study};
use genkai_targets::survey::known;

use crate::cli::Doctor;
use crate::{Failure, view};

/// `genkai doctor`.
pub(crate) fn run(flags: &Doctor) -> Result<Exit, Failure> {
    let checkup = examine(survey(&known()), flags.connections);
    view::show(flags.json.then(|| json::value(&checkup)), &study::doctor(&checkup), flags.color);
    Ok(if checkup.good { Exit::Holds } else { Exit::Environment })
}
