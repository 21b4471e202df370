//! When a load broke, and which limit it was.
//!
//! [`watch`] finds the first sustained violation of the objective, tick by tick; [`onset`] puts it in figures;
//! [`signs`] looks for what a limit leaves behind; [`attribute`] weighs the limits against each other.

mod answers;
pub mod attribute;
mod before;
pub mod case;
mod chance;
mod flat;
pub(crate) mod hang;
pub mod onset;
pub(crate) mod others;
mod pace;
pub mod signs;
mod silence;
mod unloaded;
pub mod watch;
mod weighed;

use genkai_model::event::{EndReason, ServerState};
use genkai_model::finding::Break;
use genkai_model::objective::{Condition, Objective};
use genkai_model::plan::Procedure;
use genkai_model::record::Trial;

use crate::{refusals, window};
use onset::Onset;
use watch::Watch;

/// How long before a server was seen dead its last errors may have begun, microseconds.
const DYING_US: u64 = 1_000_000;

/// The first sustained violation of `objective`, or the death of a server; none while there is none. The same on a
/// trial that still grows as on a finished one, except that a finished trial is also judged as a whole: errors too rare
/// to show in any second may still be more than the objective allows.
///
/// Looks at every tick; a caller that asks at every tick of a long trial uses [`Watch`] instead.
pub fn broke(trial: &Trial, objective: &Objective, procedure: &Procedure) -> Option<Break> {
    onset(trial, objective, procedure).map(|onset| onset.describe(trial))
}

/// [`broke`], before it is put in figures.
pub(crate) fn onset(trial: &Trial, objective: &Objective, procedure: &Procedure) -> Option<Onset> {
    let mut watch = Watch::new(&trial.started.load, objective, procedure);
    let death = death(trial, objective);
    for tick in &trial.ticks {
        if death.as_ref().is_some_and(|d| d.certain_us <= tick.from_us) {
            break;
        }
        if let Some(onset) = watch.tick(tick) {
            // What began just before a server was seen dead is its dying, also where it was certain first.
            let dying = |death: &Onset| onset.at_us + DYING_US >= death.certain_us;
            return Some(death.filter(dying).unwrap_or(onset));
        }
    }
    let whole = trial.ended.as_ref().is_some_and(|e| e.reason == EndReason::Completed);
    death.or_else(|| if whole { watch::overall(trial, objective, procedure.sustained.0 / 1000) } else { None })
}

/// The death of a server while the load ran.
fn death(trial: &Trial, objective: &Objective) -> Option<Onset> {
    let died = trial.states.iter().find(|(at, s)| *at >= 0 && s.state == ServerState::Died);
    let dead = || refusals::of(trial).into_iter().find(|one| one.dead).map(|one| (one.from * window::US) as u64);
    let died_us = died.map(|(at, _)| at.unsigned_abs()).or_else(dead)?;
    let condition = objective.0.iter().find(|c| matches!(c, Condition::ErrorsBelow(_))).or(objective.0.first());
    let dying = trial.ticks.iter().filter(|t| t.to_us + DYING_US >= died_us);
    let first = dying
        .filter_map(|t| Some((t.first_error_us?, t.first_error_level)))
        .find(|(at, _)| *at + DYING_US >= died_us && *at <= died_us);
    let (at_us, level) = first.unwrap_or((died_us, None));
    let mut onset = Onset::new(condition.copied(), (at_us, level), died_us);
    onset.died = true;
    Some(onset)
}
