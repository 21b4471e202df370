//! The machines of a run, reached and asked what they have.

use std::net::SocketAddr;
use std::path::Path;

use genkai_engine::StopFlag;
use genkai_model::load::{Scale, Way, Workplace};
use genkai_model::machine::Machine;
use genkai_place::survey::survey;

use super::workers;
use super::workplace::Workplaces;
use crate::error::LabError;

impl Workplaces {
    /// Sees to it that `program` can be run wherever `scale` leads, on all machines at once, and asks those what they have for connections
    /// to these addresses.
    ///
    /// # Errors
    /// When a machine cannot be had: each of those is named with its reason. When `stop` is set before all are.
    pub(crate) fn open(
        program: &Path,
        scale: &Scale,
        to: &[SocketAddr],
        stop: &StopFlag,
    ) -> Result<Workplaces, LabError> {
        let mut places = Workplaces::reached(program, scale, stop)?;
        let all = scale.workplaces.iter().map(|one| one.by.clone());
        let far: Vec<Way> = all.filter(|way| *way != Way::Here).collect();
        places.rooms = workers::survey(&places, &far, to, stop)?;
        Ok(places)
    }
}

/// The machines that make a load so, each with what is found on it.
///
/// # Errors
/// As for a load: when a machine cannot be had, or `stop` is set.
pub fn machines(program: &Path, scale: &Scale, stop: &StopFlag) -> Result<Vec<(Workplace, Machine)>, LabError> {
    let places = Workplaces::open(program, scale, &[], stop)?;
    let found = |one: &Workplace| {
        let far = places.rooms.iter().find(|(way, _)| *way == one.by);
        far.map_or_else(|| survey(&[]), |(_, room)| room.machine.clone())
    };
    Ok(scale.workplaces.iter().map(|one| (one.clone(), found(one))).collect())
}
