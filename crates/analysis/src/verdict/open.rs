//! Whether a search leaves open what it is.

use genkai_model::event::EndReason;
use genkai_model::finding::{Confidence, Decision, Stop};
use genkai_model::record::Record;

use super::{answer, cause};
use crate::proof::Trials;
use crate::tuning::search_state::SearchState;

/// Whether directives are to be left out: the plan gives time for it, the system failed, and nothing is named that is more than possible.
pub fn leaves_open(record: &Record) -> bool {
    let stopped = |reason| matches!(reason, EndReason::Interrupted | EndReason::EngineFailed);
    let cut = record.trials.iter().any(|t| t.ended.as_ref().is_some_and(|e| stopped(e.reason)));
    let Some(state) = SearchState::replay(record) else { return false };
    let is_wanted = state.plan.procedure.bisect.0 > 0 && record.end.is_none() && !cut;
    is_wanted && is_open(&state, answer::of(Some(&state), &Trials::of(record)))
}

fn is_open(state: &SearchState<'_>, decision: Decision) -> bool {
    let named = cause::named(state).is_some_and(|one| cause::confidence(one) > Confidence::Possible);
    match decision {
        Decision::Unmoved { by: Stop::Unknown | Stop::Refuted } => true,
        Decision::Unmoved {
            by: Stop::Untested | Stop::Backend { likely: false } | Stop::Processor { likely: false },
        } => !named,
        _ => false,
    }
}
