//! The answer of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Answer, Answered, Because, Bisected, Cause, ClientCheck, CountedTrial, Counts, Decision, Evidence, Failures,
    Ladder, MetAt, Outcome, Predicted, Proof, ProposedChange, Scale, TrialFinding,
};
use crate::summary::Summary;
use crate::units::Range;

/// Version of the verdict's format.
pub const SCHEMA: &str = "genkai.verdict/1";

/// The answer of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// [`SCHEMA`].
    pub schema: String,
    /// What was decided; written with its views: `outcome`, `must_change`, `because`.
    #[serde(flatten)]
    pub answer: Answered,
    /// The changes proposed, in the order found; empty for none.
    pub proposal: Vec<ProposedChange>,
    /// The limits that were met, in the order met, each with cause, evidence and test.
    pub causes: Vec<Cause>,
    /// What breaks next once the proposal is in place (or first, when nothing broke).
    pub next: Option<Predicted>,
    /// Limits that may be met before [`Verdict::next`], where that was not met: what is predicted for them begins, beyond what held, before the
    /// range of that one ends, and nothing tells which comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_or: Vec<Predicted>,
    /// Where [`Verdict::next`] was met: the same break as the ladder's, where that is within the load asked for; none where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_met: Option<MetAt>,
    /// Every limit, with what was predicted for the baseline, first to bite first.
    pub predictions: Vec<Predicted>,
    /// One summary a trial, in order.
    pub trials: Vec<TrialFinding>,
    /// Baseline against proposal, interleaved.
    pub proof: Option<Proof>,
    /// Was the generator good enough, over all trials?
    pub client: ClientCheck,
    /// Facts that contradict the verdict or limit what it says.
    pub caveats: Vec<Caveat>,
    /// A plain load in sum; none for runs that tune.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Summary>,
    /// What leaving out directives showed; none where none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bisection: Option<Bisected>,
    /// All limits up to the load asked for, in the order in which they bite; none where nothing broke, or nothing was searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Ladder>,
    /// What smaller values than the proposed ones did, each tried with the other changes in place; a setting of which none were tried is not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub smaller: Vec<Smaller>,
}

/// Of one setting the smallest value that held the load asked for when it was tried, and the largest that did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Smaller {
    /// The setting.
    pub setting: String,
    /// The smallest that held.
    pub holds: TriedValue,
    /// The largest that did not.
    pub fails: TriedValue,
}

/// A value that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriedValue {
    /// The value.
    pub value: String,
    /// The trial.
    pub trial: u32,
}

impl Verdict {
    /// What was decided.
    pub fn decision(&self) -> Decision {
        self.answer.0
    }

    /// Does the objective hold for the system as it is, at the load asked for?
    pub fn outcome(&self) -> Outcome {
        self.decision().outcome()
    }

    /// Must the configuration change?
    pub fn must_change(&self) -> Answer {
        self.decision().must_change()
    }

    /// Why the answer is what it is.
    pub fn because(&self) -> Because {
        self.decision().because()
    }
}

/// Something that limits what the verdict says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "caveat")]
pub enum Caveat {
    /// The predicted limit did not bite although the load passed it.
    PredictedButHeld {
        /// The limit.
        limit: String,
        /// Where it was predicted.
        predicted: Range,
        /// What was reached.
        reached: f64,
        /// What both count.
        #[serde(default = "Scale::level")]
        scale: Scale,
        /// Whether it makes requests wait, which no condition of the objective judges: that nothing failed does not say that it held nothing
        /// back.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        waits: bool,
    },
    /// The objective held, but a limit is predicted at about the load asked for, or just above it.
    NoHeadroom {
        /// The limit.
        limit: String,
        /// Whose.
        subject: String,
        /// Its setting.
        setting: String,
        /// Its value.
        value: String,
        /// Where it was predicted, in the unit of the load.
        predicted: Range,
        /// The load asked for.
        asked: f64,
    },
    /// When a trial broke, programs that are no part of the run used most of the machine's processor time, and nothing of the servers' own names
    /// another limit.
    OtherPrograms {
        /// The trial.
        trial: u32,
        /// Cores that they used around the break: all in use, less those of servers, of what stands behind them and of the generator.
        busy: f64,
        /// Of so many.
        of: f64,
    },
    /// Asked directly, the backend did not break as it does behind the product: it is not the cause by itself.
    BackendBore {
        /// The trial in which it was asked.
        trial: u32,
        /// Level up to which it held.
        level: f64,
        /// Level of the break through the product.
        through: f64,
        /// Whether it held for longer; else it broke, in another way or far earlier, which says nothing of the cause.
        longer: bool,
        /// Whether processor time, which it may share with the product, is a possible cause.
        shared: bool,
    },
    /// Asked directly, the backend failed about as often as it does behind the product, or it cannot be told which fails more often: that it
    /// bore more by itself would say nothing of where the failures come from.
    BackendFailedToo {
        /// The trial in which it was asked.
        trial: u32,
        /// Failures in it.
        directly: Failures,
        /// Failures through the product.
        through: Failures,
    },
    /// The backend was asked directly, and the client was the limit: that says nothing.
    DirectInvalid {
        /// The trial.
        trial: u32,
    },
    /// A limit left signs of being at work although the objective held.
    AtWorkButHeld {
        /// The limit.
        limit: String,
        /// Its value then.
        #[serde(default)]
        value: String,
        /// Its strongest sign.
        sign: Evidence,
        /// Whether it makes requests wait, which no condition of the objective judges.
        #[serde(default)]
        waits: bool,
    },
    /// The objective held, but of the requests that were answered well the backend answered few: of what the others got, nothing is judged.
    AnsweredBefore {
        /// In which trial.
        trial: u32,
        /// Requests answered well up to the last look at the backend.
        responses: u64,
        /// Requests that the backend says to have answered until then.
        served: u64,
    },
    /// The objective held, but some of the requests that were answered well got an answer in the place of an error of what is behind: the
    /// product writes those down.
    HiddenErrors {
        /// In which trial.
        trial: u32,
        /// Requests answered well up to the last look.
        responses: u64,
        /// Of these, answered in the place of an error.
        hidden: u64,
    },
    /// The objective held, but good answers to the same request became more than twice as long, or less than half as long, in the course of the
    /// load: what they contain nobody judges.
    AnswersChanged {
        /// In which trial.
        trial: u32,
        /// The first of them.
        first: Answers,
        /// The last of them.
        last: Answers,
    },
    /// The objective held, while a server of several behind a product got no requests, because it failed by that product's own account.
    MemberDown {
        /// In which trial.
        trial: u32,
        /// The product that has it.
        subject: String,
        /// Which, as the product calls it.
        server: String,
        /// Looks during the load at which it was down.
        down: u64,
        /// Looks during the load.
        looks: u64,
        /// Seconds into the load of the first of them.
        from: f64,
    },
    /// A server died during a trial.
    ServerDied {
        /// Which.
        subject: String,
        /// In which trial.
        trial: u32,
    },
    /// A server refused connections, which may be a restart: it is not known to have died.
    ServerRefused {
        /// Which.
        subject: String,
        /// In which trial.
        trial: u32,
        /// Seconds into the load when that was seen.
        from: f64,
        /// Seconds into the load when it took connections again; none: not before the end.
        until: Option<f64>,
    },
    /// The run was stopped by its user or by a failure, and what was found by then is told.
    Interrupted {
        /// The trial that was cut short; none between trials.
        trial: Option<u32>,
        /// What went wrong; none: the user stopped it.
        failure: Option<String>,
    },
    /// The proof has too few pairs to be certain.
    FewPairs {
        /// Pairs run.
        pairs: u32,
        /// About so many more would decide it; none where that cannot be told.
        #[serde(default)]
        more: Option<u32>,
    },
    /// The baseline did not fail in the proof although it failed before.
    BaselineHeldInProof,
    /// The proposal failed in the proof although it held before.
    ProposalFailedInProof,
    /// The setting cannot be raised far enough on this machine.
    CeilingReached {
        /// The setting.
        setting: String,
        /// The largest value that works.
        value: f64,
        /// What sets it.
        by: String,
    },
    /// The server does not start with a value that was tried, and all that was tried below it is not enough.
    DoesNotStart {
        /// The setting.
        setting: String,
        /// The least such value.
        value: f64,
        /// The largest value below it with which it was measured.
        most: f64,
        /// What it said.
        said: String,
    },
    /// The machine, or a control group, cannot hold what the setting would have to be.
    MemoryBound {
        /// The setting.
        setting: String,
        /// The largest value that fits, for which a fifth of what is left is kept free.
        value: f64,
        /// The value that would be needed.
        needed: f64,
        /// Memory that it would take beyond what was taken, bytes.
        bytes: f64,
        /// Memory that could be had, bytes.
        left_bytes: f64,
        /// The limit of the control group that leaves no more, bytes; none: it is the machine's memory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group_bytes: Option<f64>,
    },
    /// By what was answered before requests failed, and while they did, a setting of which no formula tells counts something else than users.
    Counts {
        /// The setting.
        setting: String,
        /// What it counts.
        counts: Counts,
        /// With the value that was in force.
        before: CountedTrial,
        /// With the one that was tried; none where nothing failed with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<CountedTrial>,
    },
    /// The record ends before the run did.
    RecordCutOff,
}

/// Answers over a part of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answers {
    /// How many.
    pub count: u64,
    /// Bytes of one, head and body, the mean.
    pub bytes: f64,
    /// The level at the end of that part.
    pub level: f64,
}
