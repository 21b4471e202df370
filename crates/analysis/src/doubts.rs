//! Why a record may not be the whole of what was seen.

use genkai_model::event::{SCHEMA, What};
use genkai_model::record::{APART, Doubt, Record};
use genkai_model::stage;

use crate::series;

/// Every reason to doubt `record`; `version` is that of the genkai which reads it.
pub fn of(record: &Record, version: &str) -> Vec<Doubt> {
    let cut_off = record.end.is_none().then(|| Doubt::CutOff { within: unended(record) });
    let edited = record.edited.map(|line| Doubt::Edited { line });
    let other = record.head.as_ref().filter(|head| head.version != version || head.schema != SCHEMA);
    let other = other.map(|head| Doubt::Version { version: head.version.clone(), schema: head.schema.clone() });
    let apart = record.remarks.iter().filter_map(|event| match &event.what {
        What::Note(note) if note.id == APART => Some(Doubt::Apart { why: note.text.clone() }),
        _ => None,
    });
    cut_off.into_iter().chain(edited).chain(other).chain(apart).collect()
}

/// The trial without an end, how much of it is there and how much was planned, seconds.
fn unended(record: &Record) -> Option<(u32, f64, f64)> {
    let trial = record.trials.last().filter(|trial| trial.ended.is_none())?;
    let load = &trial.started.load;
    // What its users may take to come to an end, after its stages, is no part of the plan.
    let stages = load.scenario.as_ref().map(|_| stage::lasting(&load.stages)).filter(|span| !span.is_zero());
    let planned = stages.map_or(load.stop.after, |span| span.min(load.stop.after));
    Some((trial.number, series::lasted(trial), planned.as_secs_f64()))
}
