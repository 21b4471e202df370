//! Whether a search leaves open what it is.

use genkai_model::event::EndReason;
use genkai_model::finding::{Confidence, Decision, Stop};
use genkai_model::record::Record;

use super::{answer, cause};
use crate::proof::Trials;
use crate::tuning::search_state::SearchState;

/// How directives may be left out to find what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// By requests and by loads.
    ToLoads,
    /// By single requests only: other programs used the machine, and a load would say nothing.
    ToRequests,
}

/// Whether directives are to be left out: the plan gives time for it, the system failed, and nothing is named that is more than possible.
pub fn leaves_open(record: &Record) -> Option<Open> {
    let stopped = |reason| matches!(reason, EndReason::Interrupted | EndReason::EngineFailed);
    let cut = record.trials.iter().any(|t| t.ended.as_ref().is_some_and(|e| stopped(e.reason)));
    let state = SearchState::replay(record)?;
    let is_wanted = state.plan.procedure.bisect.0 > 0 && record.end.is_none() && !cut;
    if is_wanted { open(&state, answer::of(Some(&state), &Trials::of(record))) } else { None }
}

fn open(state: &SearchState<'_>, decision: Decision) -> Option<Open> {
    let named = cause::named(state).is_some_and(|one| cause::confidence(one) > Confidence::Possible);
    match decision {
        Decision::Unmoved { by: Stop::OtherPrograms } => Some(Open::ToRequests),
        Decision::Unmoved { by: Stop::Unknown | Stop::Refuted } => Some(Open::ToLoads),
        Decision::Unmoved {
            by: Stop::Untested | Stop::Backend { likely: false } | Stop::Processor { likely: false },
        } => (!named).then_some(Open::ToLoads),
        _ => None,
    }
}
