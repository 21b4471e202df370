//! Yes, no, or cannot tell.

use genkai_model::finding::{Answer, Because, Call, Confidence, Outcome};
use genkai_model::limit::{Law, Limit};
use genkai_model::summary::Summary;

use super::cause;
use crate::diagnosis;
use crate::proof::{self, Trials};
use crate::tuning::judged_trial::JudgedTrial;
use crate::tuning::search_state::{Phase, SearchState};

/// The three statements that everything else supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) outcome: Outcome,
    pub(crate) must_change: Answer,
    pub(crate) because: Because,
}

impl Said {
    /// The same for a plain load: what does not hold over the whole of it has failed, even if nothing broke for long.
    pub(crate) fn over(self, load: Option<&Summary>) -> Said {
        let holds = load.is_none_or(|load| load.thresholds.iter().all(|t| t.holds));
        if self.outcome == Outcome::Holds && !holds { open(Because::NoCauseFound) } else { self }
    }
}

const UNFINISHED: Said =
    Said { outcome: Outcome::Unfinished, must_change: Answer::CannotTell, because: Because::Unfinished };

fn fails(must_change: Answer, because: Because) -> Said {
    Said { outcome: Outcome::Fails, must_change, because }
}

fn open(because: Because) -> Said {
    fails(Answer::CannotTell, because)
}

/// The answer of `story`; unfinished for none.
pub(crate) fn of(state: Option<&SearchState<'_>>, trials: &Trials<'_>) -> Said {
    let Some(state) = state else { return UNFINISHED };
    let Some(first) = &state.first else { return UNFINISHED };
    let lifted = state.lifted().next().is_some();
    let further = |alone: Said| if lifted { fails(Answer::Yes, Because::ProvedButNextLimit) } else { alone };
    // What the backend says by itself is more evidence; where it was not asked, the rest stands.
    let phase = match &state.phase {
        Phase::AskBackend(without) => without,
        phase => phase,
    };
    match phase {
        Phase::NeedBreak => UNFINISHED,
        Phase::Cut if first.broke.is_none() => UNFINISHED,
        Phase::Cut | Phase::Test(_) | Phase::AskBackend(_) => open(untested(state)),
        Phase::Invalid if first.client.finding.valid => open(Because::ClientIsLimit),
        Phase::Invalid => {
            Said { outcome: Outcome::Invalid, must_change: Answer::CannotTell, because: Because::ClientIsLimit }
        }
        Phase::Holds => Said { outcome: Outcome::Holds, must_change: Answer::No, because: Because::ObjectiveHolds },
        Phase::Died => open(Because::ServerDied),
        Phase::NoCause => further(open(Because::NoCauseFound)),
        Phase::Refuted => further(open(Because::ChangeMadeNoDifference)),
        Phase::CannotLift => further(not_lifted(state)),
        Phase::Enough => further(open(Because::NotTested)),
        Phase::Prove => proved(state, trials),
    }
}

/// A run that ended before a test: there may be a likely cause.
fn untested(state: &SearchState<'_>) -> Because {
    let likely = state.steps.last().is_some_and(|m| m.proved().is_none() && m.untested().is_some());
    let lifted = state.lifted().next().is_some();
    if likely && !lifted { Because::NotTested } else { Because::Unfinished }
}

/// Whether a limit is the backend's: neither of the product under test nor of the machine between.
pub(crate) fn is_backend(limit: &Limit, product: &str) -> bool {
    limit.subject != product && !["kernel", "machine"].contains(&limit.subject.as_str())
}

fn not_lifted(state: &SearchState<'_>) -> Said {
    let Some(weighed) = state.steps.last().and_then(|m| m.untested()) else {
        return open(Because::NoCauseFound);
    };
    let limit = weighed.forecast.limit;
    // What only fits is no ground for a plain no.
    let no = if cause::confidence(weighed) > Confidence::Possible { Answer::No } else { Answer::CannotTell };
    match limit.law {
        _ if is_backend(limit, &state.plan.system.product) => fails(no, Because::BackendIsLimit),
        Law::Cpu { .. } => fails(no, Because::CpuIsLimit),
        _ => open(Because::NotTested),
    }
}

fn proved(state: &SearchState<'_>, trials: &Trials<'_>) -> Said {
    let procedure = &state.plan.procedure;
    let broke = |t| diagnosis::broke(t, &state.plan.objective, procedure).is_some();
    // A baseline that fails because its client was late fails for nothing.
    let valid = |t| JudgedTrial::of(t, state.plan).client.finding.valid;
    let pairs = &trials.pairs;
    if pairs.len() < procedure.min_pairs as usize {
        open(Because::Unfinished)
    } else if pairs.iter().any(|(a, b)| !valid(a) || !valid(b)) {
        open(Because::ClientIsLimit)
    } else if pairs.iter().any(|(_, b)| broke(b)) {
        open(Because::ProvedButNextLimit)
    } else if !pairs.is_empty() && !pairs.iter().any(|(a, _)| broke(a)) {
        open(Because::ChangeMadeNoDifference)
    } else {
        match decided(state, trials) {
            _ if pairs.is_empty() => fails(Answer::Yes, Because::ProvedAndHolds),
            Some(Call::Same) => open(Because::ChangeMadeNoDifference),
            Some(Call::Better) if pairs.iter().all(|(a, _)| broke(a)) => fails(Answer::Yes, Because::ProvedAndHolds),
            _ => open(Because::NotTested),
        }
    }
}

/// What the pairs say of the figure that decides.
fn decided(state: &SearchState<'_>, trials: &Trials<'_>) -> Option<Call> {
    let proof = proof::of(trials, &state.plan.objective, &state.plan.procedure, state.condition());
    Some(proof?.decided.call)
}
