//! The limits that were met, each with its evidence and what came of lifting it.

use genkai_model::event::Change;
use genkai_model::finding::{Cause, Confidence, Counterfactual, Decision, Evidence, Moved, Pairing};
use genkai_model::limit::Strength;
use genkai_model::record::Trial;

use super::outlook;
use crate::diagnosis::attribute::Weighed;
use crate::tuning::again::Again;
use crate::tuning::break_step::{BreakStep, Test};
use crate::tuning::judged_trial::JudgedTrial;
use crate::tuning::search_state::SearchState;

/// Every limit that was met, in order: those lifted in vain first, then the one behind each break. Where the
/// proof saw something else than the search (what had failed may have been over when the first change was made), no test of it confirms anything.
pub(crate) fn all(state: &SearchState<'_>, decision: Decision) -> Vec<Cause> {
    // Pairs tell of what was seen once in the search, too.
    let paired = matches!(decision, Decision::Carried { pairs } if pairs != Pairing::None);
    let mut all: Vec<Cause> = state.steps.iter().flat_map(|step| of(step, paired)).collect();
    if !decision.confirms() {
        let confirmed = all.iter_mut().filter(|cause| cause.confidence == Confidence::Proved);
        confirmed.for_each(|cause| cause.confidence = Confidence::Possible);
    }
    all
}

fn of(step: &BreakStep<'_>, paired: bool) -> Vec<Cause> {
    let mut all: Vec<Cause> = tests(step).filter_map(|test| tested(step, test, paired)).collect();
    if step.proved().is_none() {
        all.extend(step.untested().and_then(|weighed| untested(step, weighed)));
    }
    all
}

/// The tests that say something of what was lifted.
fn tests<'s, 'r>(step: &'s BreakStep<'r>) -> impl Iterator<Item = &'s Test<'r>> {
    step.tests.iter().filter(|test| !test.is_crowded())
}

fn tested(step: &BreakStep<'_>, test: &Test<'_>, paired: bool) -> Option<Cause> {
    let confidence = match test.outcome.moved {
        Moved::Not => Confidence::Refuted,
        _ if test.once && !paired => Confidence::Possible,
        _ => Confidence::Proved,
    };
    let cause = cause(step, &test.candidate, confidence)?;
    let counterfactual = Counterfactual {
        change: step_by(step, test),
        trial: test.after.trial.number,
        predicted: test.outcome.predicted,
        scale: test.outcome.scale,
        observed: test.after.broke.clone(),
        held_to: test.after.held_to(),
        moved: test.outcome.moved,
        again: test.again.as_ref().and_then(Again::told),
    };
    Some(Cause { counterfactual: Some(counterfactual), ..cause })
}

/// The change that the test made: from the value that was in force when the limit was met, which an earlier step may have raised.
pub(super) fn step_by(step: &BreakStep<'_>, test: &Test<'_>) -> Change {
    let setting = &test.attempt.change.setting;
    let of = |trial: &Trial| trial.started.changes.iter().find(|c| c.setting == *setting).cloned();
    let change = of(test.after.trial).unwrap_or_else(|| test.attempt.change.clone());
    let from = of(step.at.trial).map_or_else(|| change.from.clone(), |before| before.to);
    Change { from, ..change }
}

fn untested(step: &BreakStep<'_>, weighed: &Weighed<'_>) -> Option<Cause> {
    cause(step, weighed, confidence(weighed))
}

/// What stands behind the last break, as far as it is named and was not put to the test.
pub(crate) fn named<'s, 'r>(state: &'s SearchState<'r>) -> Option<&'s Weighed<'r>> {
    state.steps.last().filter(|step| step.proved().is_none()).and_then(|step| step.untested())
}

/// Likely: a decisive sign; or a supporting one that nothing speaks against; or two of these.
pub(crate) fn confidence(weighed: &Weighed<'_>) -> Confidence {
    let supports = |e: &&Evidence| match e {
        Evidence::Log { strength, .. }
        | Evidence::Grew { strength, .. }
        | Evidence::Reached { strength, .. }
        | Evidence::Handshakes { strength, .. }
        | Evidence::Answered { strength, .. } => *strength >= Strength::Supports,
        _ => false,
    };
    let several = weighed.candidate.evidence.iter().filter(supports).count() > 1;
    match weighed.strongest {
        Some(Strength::Decisive) => Confidence::Likely,
        Some(Strength::Supports) if several || weighed.candidate.against.is_empty() => Confidence::Likely,
        _ => Confidence::Possible,
    }
}

fn cause(step: &BreakStep<'_>, weighed: &Weighed<'_>, confidence: Confidence) -> Option<Cause> {
    Some(Cause {
        limit: weighed.forecast.limit.clone(),
        predicted: observed(weighed, &step.at),
        broke: step.at.broke.clone()?,
        trial: step.at.trial.number,
        evidence: weighed.candidate.evidence.clone(),
        confidence,
        counterfactual: None,
        others: step.others(&weighed.candidate.limit),
    })
}

/// The prediction with where it really broke.
fn observed(weighed: &Weighed<'_>, at: &JudgedTrial<'_>) -> genkai_model::finding::Predicted {
    let mut predicted = weighed.forecast.predicted.clone();
    predicted.observed = outlook::seen(&weighed.forecast, at);
    predicted
}
