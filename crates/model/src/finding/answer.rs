//! The words of an answer, for scripts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Does the objective hold?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It held at the load asked for.
    Holds,
    /// It was violated.
    Fails,
    /// It says nothing of the server: the client was the limit, other programs used the machine, or too little was answered to judge by.
    Invalid,
    /// The run ended before an answer.
    Unfinished,
}

/// An answer in plain words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Yes.
    Yes,
    /// No.
    No,
    /// Cannot tell.
    CannotTell,
}

/// The reason for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// The objective holds as it is.
    ObjectiveHolds,
    /// A setting is the limit, proved by changing it alone, and the proposal holds.
    ProvedAndHolds,
    /// A setting is the limit, proved by changing it alone, but another limit then stops the load.
    ProvedButNextLimit,
    /// The likely setting was changed and the break did not move; or pairs of baseline and proposal do not differ measurably.
    ChangeMadeNoDifference,
    /// Directives of the configuration are named: without them it does not fail so, with them it does.
    DirectivesNamed,
    /// What requests meet is a directive that protects something: without it they do not fail so, and it is not proposed to take it out.
    AccessControl,
    /// Measured in pairs, the change made it worse.
    ChangeMadeItWorse,
    /// The objective had failed, and then held in every trial of the proof without any change.
    NotReproduced,
    /// In the proof, the objective held without the change at least once and failed with it at least once.
    Contradicted,
    /// The server, which had started with the proposal in the search, did not start with it in the proof, or did not answer.
    ProposalNotStarted,
    /// Measured in pairs, the change helps for certain, and the objective held with it; but without it, it held sometimes, too.
    Helps,
    /// Pairs of baseline and proposal do not exclude chance.
    Undecided,
    /// The backend is the limit; no setting of the product under test is.
    BackendIsLimit,
    /// Processor time is the limit; no setting of the product under test gives more in this run. What a request takes of it, some decide.
    CpuIsLimit,
    /// Fewer requests were answered than still waited for an answer at the end; of a plain load, also where those that hung then decide.
    Unanswered,
    /// Requests came faster than they were answered, all the time that the rate was held.
    Outpaced,
    /// A server died under load.
    ServerDied,
    /// A server refused connections under load, which may have been a restart.
    ServerRefused,
    /// The client was the limit.
    ClientIsLimit,
    /// Programs that are no part of the run used most of the machine's processor time.
    OtherPrograms,
    /// Nothing in the evidence names a cause.
    NoCauseFound,
    /// A setting is the likely limit, but it was not put to the test (the run ended, or nothing can lift it).
    NotTested,
    /// The run ended before an answer.
    Unfinished,
}
