//! What stops the load once everything that was proved is in place: the ladder and the next limit are views of this one break, so that they
//! cannot tell of two.

use genkai_model::event::Purpose;
use genkai_model::finding::MetAt;

use crate::diagnosis::attribute::{self, Weighed};
use crate::proof::Trials;
use crate::tuning::judged_trial::JudgedTrial;
use crate::tuning::search_state::{Phase, SearchState};

/// A break that stands, and what it is laid to; nothing where nothing that was seen names it.
pub(super) struct Standing<'r> {
    pub(super) at: JudgedTrial<'r>,
    pub(super) found: Option<Weighed<'r>>,
}

impl Standing<'_> {
    /// Whether it is a proposal's, in the proof: at no more than the load asked for.
    pub(super) fn is_of_proposal(&self) -> bool {
        self.at.trial.started.purpose == Purpose::Proposal
    }
}

/// The break that stands; none where nothing is known to.
pub(super) fn of<'r>(state: &SearchState<'r>, trials: &Trials<'r>) -> Option<Standing<'r>> {
    // What the search met beyond the load asked for comes after what a proposal met within it.
    let failed = || proposal(state, trials).filter(|_| matches!(state.phase, Phase::Prove));
    failed().or_else(|| step(state)).or_else(|| lifted(state))
}

/// The first proposal of the proof that broke. It had held before, so nothing but signs tells by what.
fn proposal<'r>(state: &SearchState<'r>, trials: &Trials<'r>) -> Option<Standing<'r>> {
    let proposals = trials.all.iter().copied().filter(|t| t.started.purpose == Purpose::Proposal);
    let at = proposals.map(|t| JudgedTrial::of(t, state.plan)).find(|judged| judged.broke.is_some())?;
    Some(Standing { found: found(&at, Weighed::is_shown), at })
}

/// The last break, where it was not lifted. (The backend by itself is told by another trial.)
fn step<'r>(state: &SearchState<'r>) -> Option<Standing<'r>> {
    let step = state.steps.last().filter(|step| step.proved().is_none())?;
    Some(Standing { at: step.at.clone(), found: step.untested().cloned() })
}

/// The break to which the last change moved it. Of what was only tried nothing but signs tells that it was reached.
fn lifted<'r>(state: &SearchState<'r>) -> Option<Standing<'r>> {
    let at = &state.lifted().last()?.after;
    at.broke.as_ref()?;
    let shows = |w: &Weighed<'_>| if w.forecast.limit.law.is_tried() { w.is_shown() } else { w.is_possible() };
    Some(Standing { found: found(at, shows), at: at.clone() })
}

/// The likeliest limit of those that `shows`.
fn found<'r>(at: &JudgedTrial<'r>, shows: impl Fn(&Weighed<'r>) -> bool) -> Option<Weighed<'r>> {
    attribute::attribute(&at.case()?, &[]).into_iter().find(shows)
}

/// Where a trial broke; none where it did not.
pub(super) fn met(at: &JudgedTrial<'_>) -> Option<MetAt> {
    let broke = at.broke.as_ref()?;
    // As everywhere else it is told: the load with which it broke. (Of WebSockets, so many were begun; fewer may be open.)
    let level = (!at.is_steep()).then_some(broke.level);
    Some(MetAt { trial: at.trial.number, level, rate: broke.rate })
}
