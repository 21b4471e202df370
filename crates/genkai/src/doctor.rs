//! `genkai doctor`: what this machine can hold, and how to raise it.

use genkai_analysis::machine::{examine, examine_places};
use genkai_lab::generator::machines;
use genkai_model::exit::Exit;
use genkai_place::survey::survey;
use genkai_report::{json, study};
use genkai_targets::survey::known;

use crate::cli::Doctor;
use crate::workplace::Programs;
use crate::{Failure, interrupt, view, workplace};

/// `genkai doctor`.
pub(crate) fn run(flags: &Doctor) -> Result<Exit, Failure> {
    if !flags.on.is_empty() {
        return places(flags);
    }
    let checkup = examine(survey(&known()), flags.connections);
    view::show(flags.json.then(|| json::value(&checkup)), &study::doctor(&checkup), flags.color);
    Ok(if checkup.good { Exit::Holds } else { Exit::Environment })
}

/// The machines that would make a load.
fn places(flags: &Doctor) -> Result<Exit, Failure> {
    let scale = workplace::scale(&flags.on, Programs { ssh: &flags.ssh, podman: &flags.podman }, 1, Vec::new())?;
    let found = machines(&crate::program()?, &scale, &interrupt::flag())?;
    let found = found.into_iter().map(|(place, machine)| (place.by.name().to_owned(), place.processes, machine));
    let checkup = examine_places(found.collect(), flags.connections);
    view::show(flags.json.then(|| json::value(&checkup)), &study::places(&checkup), flags.color);
    Ok(if checkup.good { Exit::Holds } else { Exit::Environment })
}
