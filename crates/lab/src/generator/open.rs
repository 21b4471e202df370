//! The machines of a run, reached and asked what they have.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use genkai_engine::StopFlag;
use genkai_model::load::{Scale, Way, Workplace};
use genkai_model::machine::Machine;
use genkai_model::units::Span;
use genkai_place::survey::survey;

use super::workers;
use super::workplace::Workplaces;
use crate::error::LabError;

/// How long machines are needed to say what they have.
const LOOKED_WITHIN: Duration = Duration::from_secs(120);
/// How long a run of many loads may last, whose length nobody knows before.
pub(crate) const MANY_LOADS: Duration = Duration::from_secs(24 * 3600);
/// How much longer than its load a run of one lasts at most: workers get ready, and end.
const AROUND: Duration = Duration::from_secs(180);

/// How long a run of one load, which ends after this time, lasts at most.
pub fn one_load(after: Span) -> Duration {
    after.duration() + AROUND
}

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
        lasts: Duration,
        stop: &StopFlag,
    ) -> Result<Workplaces, LabError> {
        let mut places = Workplaces::reached(program, scale, lasts, stop)?;
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
    let places = Workplaces::open(program, scale, &[], LOOKED_WITHIN, stop)?;
    let found = |one: &Workplace| {
        let far = places.rooms.iter().find(|(way, _)| *way == one.by);
        far.map_or_else(|| survey(&[]), |(_, room)| room.machine.clone())
    };
    Ok(scale.workplaces.iter().map(|one| (one.clone(), found(one))).collect())
}
