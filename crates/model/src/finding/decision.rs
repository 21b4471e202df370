//! What a run decides: the one value of which outcome, answer, reason, headline, "how sure" and notes are views.
//!
//! Three things are kept apart, each with a word of its own. A cause is *confirmed* where changing its setting alone moved the break.
//! A change *helps* where baseline and proposal, measured in pairs, differ for the better by more than chance. It is *enough* where the
//! objective then held with every proposal and failed with every baseline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, Because, Outcome};

/// What a run decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "decided")]
pub enum Decision {
    /// The objective held at the load asked for.
    Holds,
    /// Nothing broke, but fewer requests were answered than still waited for an answer at the end: that is too little to say that anything
    /// held. Of a plain load also: it would not hold if those failed that hung at its end. What waits has not failed: to a script it is a
    /// measurement that says nothing.
    Unanswered,
    /// Nothing broke, but requests came faster than they were answered all the time that the rate was held, so that ever more waited: the
    /// objective judges none of those that wait, and the rate was not carried.
    Outpaced,
    /// The generator was the limit before anything broke: nothing is known of the server.
    Invalid,
    /// The run ended before anything broke, and before the load asked for was held.
    Unfinished,
    /// It failed, and nothing that was changed moved the break.
    Unmoved {
        /// What stops the load.
        by: Stop,
    },
    /// Changing one setting at a time moved the break, but the load asked for still fails.
    Moved {
        /// What stops the load then.
        then: Stop,
    },
    /// It failed, and what is known is a set of directives: without them it does not fail so, with them it does.
    Bisected,
    /// The same, and one of the directives at least protects something: who takes it out lets everybody in, so that nothing is proposed.
    Guarded,
    /// The changes carried the load asked for in the search.
    Carried {
        /// What pairs of baseline and proposal say of them.
        pairs: Pairing,
    },
}

/// What stops a load, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "stop")]
pub enum Stop {
    /// Nothing in the evidence names it.
    Unknown,
    /// What was likeliest was changed, and the break did not move.
    Refuted,
    /// A limit is likely, but it was not put to the test: the run ended, or nothing can lift it.
    Untested,
    /// The backend.
    Backend {
        /// More speaks for it than that it fits.
        likely: bool,
    },
    /// Processor time.
    Processor {
        /// More speaks for it than that it fits.
        likely: bool,
    },
    /// A server died.
    Died,
    /// A server refused connections for a while, or to the end; it is not known to have died.
    Refused,
    /// The generator.
    Generator,
    /// Programs that are no part of the run: they used most of the machine's processor time.
    OtherPrograms,
    /// The run ended before that was looked into.
    Unfinished,
}

/// What pairs of baseline and proposal say of changes that carried the load in the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "pairing")]
pub enum Pairing {
    /// None were asked for.
    None,
    /// The run ended before there were enough.
    Unfinished,
    /// The generator was the limit in one of them.
    Generator,
    /// The objective failed with the proposal, too.
    NotEnough {
        /// Proposals that failed.
        failed: u32,
        /// Of so many.
        of: u32,
        /// Whether the proposal is better for certain.
        helps: bool,
    },
    /// No request was answered with the proposal (nor failed), or no WebSocket was opened: nothing failed, and nothing held.
    Unanswered {
        /// Proposals in which none was.
        unanswered: u32,
        /// Of so many.
        of: u32,
    },
    /// It is better for certain, and no proposal violated the objective; but with some of them requests came faster than they were answered, as long
    /// as the rate was held: that rate was not carried.
    Outpaced {
        /// Proposals with which that was so.
        outpaced: u32,
        /// Of so many.
        of: u32,
    },
    /// The objective held with every baseline: what had failed in the search did not fail again.
    NotReproduced {
        /// Baselines that held.
        of: u32,
    },
    /// The objective held with some baselines and failed with some proposals, which is not what the search saw.
    Contradicted {
        /// Baselines that held.
        held: u32,
        /// Proposals that failed.
        failed: u32,
        /// Of so many of each.
        of: u32,
        /// Whether the proposal is better for certain.
        helps: bool,
    },
    /// The server, which had started with the changes in the search, did not start with them in the proof, or did not answer.
    NotStarted,
    /// No measurable difference.
    Same,
    /// The figure of the violated condition is worse with the proposal.
    Worse,
    /// Chance is not excluded.
    Undecided,
    /// It is better for certain, and every proposal held; but so did some baselines.
    Helps {
        /// Baselines that held.
        held: u32,
        /// Of so many.
        of: u32,
    },
    /// It is better for certain, every baseline failed and every proposal held.
    Enough,
}

impl Decision {
    /// Whether the objective holds for the system as it is.
    pub fn outcome(self) -> Outcome {
        match self {
            Decision::Holds => Outcome::Holds,
            Decision::Invalid | Decision::Unanswered | Decision::Outpaced => Outcome::Invalid,
            Decision::Unfinished => Outcome::Unfinished,
            Decision::Unmoved { by: Stop::OtherPrograms } => Outcome::Invalid,
            Decision::Unmoved { .. }
            | Decision::Moved { .. }
            | Decision::Bisected
            | Decision::Guarded
            | Decision::Carried { .. } => Outcome::Fails,
        }
    }

    /// Whether the configuration must change.
    pub fn must_change(self) -> Answer {
        match self {
            Decision::Holds => Answer::No,
            // What uses processor time may be a setting: that nothing gives more of it is no reason to change nothing.
            Decision::Unmoved { by: Stop::Backend { likely: true } } => Answer::No,
            Decision::Moved { then } if then.says_nothing() => Answer::CannotTell,
            Decision::Moved { .. }
            | Decision::Bisected
            | Decision::Carried { pairs: Pairing::None | Pairing::Enough } => Answer::Yes,
            _ => Answer::CannotTell,
        }
    }

    /// Whether what a test of the search saw of a change may be said of it: not where the proof saw something else.
    pub fn confirms(self) -> bool {
        !matches!(self, Decision::Carried { pairs } if pairs.contradicts())
    }

    /// Why the answer is what it is.
    pub fn because(self) -> Because {
        match self {
            Decision::Holds => Because::ObjectiveHolds,
            Decision::Invalid => Because::ClientIsLimit,
            Decision::Unfinished => Because::Unfinished,
            Decision::Unanswered => Because::Unanswered,
            Decision::Outpaced => Because::Outpaced,
            Decision::Unmoved { by } => by.because(),
            Decision::Moved { then } if then.says_nothing() => then.because(),
            Decision::Moved { .. } => Because::ProvedButNextLimit,
            Decision::Bisected => Because::DirectivesNamed,
            Decision::Guarded => Because::AccessControl,
            Decision::Carried { pairs } => pairs.because(),
        }
    }
}

impl Stop {
    /// Whether it says nothing of what the changes made so far are worth.
    pub fn says_nothing(self) -> bool {
        matches!(self, Stop::Died | Stop::Refused | Stop::Generator | Stop::OtherPrograms | Stop::Unfinished)
    }

    fn because(self) -> Because {
        match self {
            Stop::Unknown => Because::NoCauseFound,
            Stop::Refuted => Because::ChangeMadeNoDifference,
            Stop::Untested => Because::NotTested,
            Stop::Backend { .. } => Because::BackendIsLimit,
            Stop::Processor { .. } => Because::CpuIsLimit,
            Stop::Died => Because::ServerDied,
            Stop::Refused => Because::ServerRefused,
            Stop::Generator => Because::ClientIsLimit,
            Stop::OtherPrograms => Because::OtherPrograms,
            Stop::Unfinished => Because::Unfinished,
        }
    }
}

impl Pairing {
    /// Whether that is not what the search saw: a break without the change, and none with it.
    fn contradicts(self) -> bool {
        match self {
            Pairing::NotReproduced { .. } | Pairing::Contradicted { .. } | Pairing::Same | Pairing::Worse => true,
            Pairing::NotEnough { failed, of, helps } => failed == of && !helps,
            _ => false,
        }
    }

    fn because(self) -> Because {
        match self {
            Pairing::None | Pairing::Enough => Because::ProvedAndHolds,
            Pairing::Unfinished => Because::Unfinished,
            Pairing::Generator => Because::ClientIsLimit,
            Pairing::NotEnough { helps: true, .. } => Because::ProvedButNextLimit,
            Pairing::Unanswered { .. } => Because::Unanswered,
            Pairing::Outpaced { .. } => Because::Outpaced,
            Pairing::NotReproduced { .. } => Because::NotReproduced,
            Pairing::Contradicted { .. } => Because::Contradicted,
            Pairing::NotStarted => Because::ProposalNotStarted,
            Pairing::Same => Because::ChangeMadeNoDifference,
            Pairing::Worse => Because::ChangeMadeItWorse,
            Pairing::NotEnough { helps: false, .. } | Pairing::Undecided => Because::Undecided,
            Pairing::Helps { .. } => Because::Helps,
        }
    }
}

/// A decision as it is written: with its views, which are never read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Written", into = "Written")]
#[schemars(with = "Written")]
pub struct Answered(pub Decision);

/// The views of a decision beside it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
struct Written {
    /// Does the objective hold for the system as it is, at the load asked for?
    outcome: Outcome,
    /// Must the configuration change?
    must_change: Answer,
    /// Why the answer is what it is.
    because: Because,
    /// What was decided, of which the three before are views.
    decision: Decision,
}

impl From<Answered> for Written {
    fn from(Answered(decision): Answered) -> Written {
        let (outcome, must_change, because) = (decision.outcome(), decision.must_change(), decision.because());
        Written { outcome, must_change, because, decision }
    }
}

impl From<Written> for Answered {
    fn from(written: Written) -> Answered {
        Answered(written.decision)
    }
}
