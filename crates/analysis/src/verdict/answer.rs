//! Yes, no, or cannot tell.

use genkai_model::finding::Call;
use genkai_model::finding::{Answer, Because, Confidence, Outcome};
use genkai_model::limit::{Law, Limit};
use genkai_model::summary::Summary;

use super::cause;
use crate::diagnosis;
use crate::proof::{self, Trials};
use crate::tuning::judged::Judged;
use crate::tuning::story::{Stand, Story};

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
pub(crate) fn of(story: Option<&Story<'_>>, trials: &Trials<'_>) -> Said {
    let Some(story) = story else { return UNFINISHED };
    let Some(first) = &story.first else { return UNFINISHED };
    let lifted = story.lifted().next().is_some();
    let further = |alone: Said| if lifted { fails(Answer::Yes, Because::ProvedButNextLimit) } else { alone };
    // What the backend says by itself is more evidence; where it was not asked, the rest stands.
    let stand = match &story.stand {
        Stand::AskBackend(without) => without,
        stand => stand,
    };
    match stand {
        Stand::NeedBreak => UNFINISHED,
        Stand::Cut if first.broke.is_none() => UNFINISHED,
        Stand::Cut | Stand::Test(_) | Stand::AskBackend(_) => open(untested(story)),
        Stand::Invalid if first.client.finding.valid => open(Because::ClientIsLimit),
        Stand::Invalid => {
            Said { outcome: Outcome::Invalid, must_change: Answer::CannotTell, because: Because::ClientIsLimit }
        }
        Stand::Holds => Said { outcome: Outcome::Holds, must_change: Answer::No, because: Because::ObjectiveHolds },
        Stand::Died => open(Because::ServerDied),
        Stand::NoCause => further(open(Because::NoCauseFound)),
        Stand::Refuted => further(open(Because::ChangeMadeNoDifference)),
        Stand::CannotLift => further(not_lifted(story)),
        Stand::Enough => further(open(Because::NotTested)),
        Stand::Prove => proved(story, trials),
    }
}

/// A run that ended before a test: there may be a likely cause.
fn untested(story: &Story<'_>) -> Because {
    let likely = story.met.last().is_some_and(|m| m.proved().is_none() && m.untested().is_some());
    let lifted = story.lifted().next().is_some();
    if likely && !lifted { Because::NotTested } else { Because::Unfinished }
}

/// Whether a limit is the backend's: neither of the product under test nor of the machine between.
pub(crate) fn is_backend(limit: &Limit, product: &str) -> bool {
    limit.subject != product && !["kernel", "machine"].contains(&limit.subject.as_str())
}

fn not_lifted(story: &Story<'_>) -> Said {
    let Some(weighed) = story.met.last().and_then(|m| m.untested()) else {
        return open(Because::NoCauseFound);
    };
    let limit = weighed.forecast.limit;
    // What only fits is no ground for a plain no.
    let no = if cause::confidence(weighed) > Confidence::Possible { Answer::No } else { Answer::CannotTell };
    match limit.law {
        _ if is_backend(limit, &story.plan.system.product) => fails(no, Because::BackendIsLimit),
        Law::Cpu { .. } => fails(no, Because::CpuIsLimit),
        _ => open(Because::NotTested),
    }
}

fn proved(story: &Story<'_>, trials: &Trials<'_>) -> Said {
    let procedure = &story.plan.procedure;
    let broke = |t| diagnosis::broke(t, &story.plan.objective, procedure).is_some();
    // A baseline that fails because its client was late fails for nothing.
    let valid = |t| Judged::of(t, story.plan).client.finding.valid;
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
        match decided(story, trials) {
            _ if pairs.is_empty() => fails(Answer::Yes, Because::ProvedAndHolds),
            Some(Call::Same) => open(Because::ChangeMadeNoDifference),
            Some(Call::Better) if pairs.iter().all(|(a, _)| broke(a)) => fails(Answer::Yes, Because::ProvedAndHolds),
            _ => open(Because::NotTested),
        }
    }
}

/// What the pairs say of the figure that decides.
fn decided(story: &Story<'_>, trials: &Trials<'_>) -> Option<Call> {
    let proof = proof::of(trials, &story.plan.objective, &story.plan.procedure, story.condition());
    Some(proof?.decided.call)
}
