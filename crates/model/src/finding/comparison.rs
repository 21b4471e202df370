//! What a comparison of systems showed: statements about a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::claim::ClaimFinding;
use super::{ClientLimit, Effect, Estimate, OneSided, Outcome, ProcessFinding};
use crate::comparison::Comparison;
use crate::error::ErrorCount;
use crate::figure::Figure;
use crate::setting::{Rewrite, Setting};

/// A comparison and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonFinding {
    /// What was to be done.
    pub comparison: Comparison,
    /// Blocks in which every contender had its turn.
    pub blocks: u32,
    /// Chance that any difference that is called one, or any equality, is none: of all figures, pairs and looks together.
    pub alpha: f64,
    /// What each interval here leaves out, so that they hold together.
    pub each: f64,
    /// Why it ended.
    pub ended: Ended,
    /// The processes that made its loads, where several machines did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessFinding>,
    /// The contenders, in the order given.
    #[serde(rename = "subjects")]
    pub contenders: Vec<ComparedContender>,
    /// Those that were compared.
    pub pairs: Vec<ComparedPair>,
    /// The first contender against itself.
    pub control: Option<ComparedPair>,
    /// Whether the load was more than any contender noticed.
    pub stress: Stress,
    /// Every turn, in order.
    pub turns: Vec<TurnFinding>,
    /// What limits the answer.
    pub caveats: Vec<ComparisonCaveat>,
    /// What is to be said of the advice that is put to the test, where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Box<ClaimFinding>>,
    /// Holds: every figure that decides is decided for every pair. Fails: one is not, or a contender did not start any more. Invalid: none is, the client or the machine was
    /// what was measured, or no request was answered. Unfinished: there are not enough blocks.
    pub outcome: Outcome,
}

/// Why a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Everything that decides was decided before the last look.
    Early,
    /// After the last look.
    Planned,
    /// The user, a failure, or the record ended it.
    CutOff,
}

/// A contender as it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedContender {
    /// Its name.
    pub name: String,
    /// Product and version; the address of one that ran already.
    pub version: String,
    /// Settings that are not the default; all others are.
    pub settings: Vec<Setting>,
    /// Where its private copy differs from the user's configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewrites: Vec<Rewrite>,
    /// Each figure.
    pub figures: Vec<ComparedFigure>,
    /// Its failed requests, by kind, over all turns.
    pub errors: Vec<ErrorCount>,
    /// Turns in which the objective held.
    pub held: u32,
    /// Turns that count.
    pub turns: u32,
    /// Seconds after the ramp until it was steady: the median over turns.
    pub warm_up: Option<f64>,
    /// Whether it did not start any more, and so is compared with nobody.
    #[serde(default, rename = "out", skip_serializing_if = "std::ops::Not::not")]
    pub dropped: bool,
}

/// A figure of a contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedFigure {
    /// Which.
    pub figure: Figure,
    /// Its mean over turns (of failures the arithmetic, of others the geometric) with a 95 % interval of its own.
    pub value: Option<Estimate>,
    /// What that mean is beyond, where in any turn only a bound of the figure is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<OneSided>,
    /// The best rank that the comparison allows, from 1, where each was compared with each.
    pub best: u32,
    /// The worst.
    pub worst: u32,
}

/// Two contenders compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedPair {
    /// The one that is compared with.
    pub base: String,
    /// The other.
    pub other: String,
    /// Each figure.
    pub effects: Vec<Effect>,
}

/// Whether the load stressed anybody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stress {
    /// Whether at least one contender was stressed. When none was, throughput says what was asked (and, of users who wait for their
    /// responses, how long they took), not what a contender can do.
    pub anybody: bool,
    /// Largest part that a contender used of the servers' cores, or its busiest worker of one core, whichever is more; the mean of a turn.
    /// None where nobody's can be seen.
    pub busiest: Option<f64>,
    /// Who that was.
    pub who: Option<String>,
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnFinding {
    /// Its trial.
    pub trial: u32,
    /// Who.
    pub contender: String,
    /// Block, from 1.
    pub block: u32,
    /// Place within the block, from 1.
    pub place: u32,
    /// Whether it is the control.
    pub control: bool,
    /// Whether it counts: it ran its whole length and the client was not the limit.
    pub counts: bool,
    /// Finished requests; with [`due`](Self::due) all that were planned so early.
    pub finished: u64,
    /// Failed requests, those that hung at the end included; with [`due`](Self::due) of those that were planned so early.
    pub failed: u64,
    /// Where requests were left without an answer: failures are told of those planned so many seconds before the end or earlier, which
    /// were answered, failed, or waited for that long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<f64>,
    /// Pauses that users made after failures which came at once (see [`FAILURE_PACE`](crate::load::FAILURE_PACE)); 0 where nobody counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub paced: u64,
    /// Seconds after the ramp until it was steady; none where no steady state was reached.
    pub steady_after: Option<f64>,
    /// Part of the servers' cores that it used, the mean; none where it cannot be seen.
    pub busy: Option<f64>,
    /// The values of all figures, in their order.
    pub values: Vec<Option<f64>>,
    /// In the same order what is known of those that requests without an answer decide; empty where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Option<OneSided>>,
}

/// What limits an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "caveat")]
pub enum ComparisonCaveat {
    /// The first contender differs from itself: something else than the contenders made a difference.
    ControlDiffers {
        /// In which figures.
        figures: Vec<Figure>,
    },
    /// The first contender differs from itself in figures that decide nothing: nothing is said of these.
    ControlStrays {
        /// In which.
        figures: Vec<Figure>,
    },
    /// There was no control.
    NoControl,
    /// Contenders that genkai did not start and does not restart: what changes with age is not judged.
    NotRestarted {
        /// Who.
        names: Vec<String>,
    },
    /// A change of compression with which responses are as large as without: nothing was compressed by it.
    NotCompressed {
        /// The contender with the change.
        name: String,
        /// The one without.
        base: String,
        /// Bytes of a response with it, head and body, the mean.
        bytes: f64,
        /// Whether the load's requests say that they take compressed responses (Accept-Encoding).
        asked: bool,
    },
    /// Users paused after failures that came at once: without these pauses they ask more often.
    Paced {
        /// Whose requests failed.
        name: String,
        /// Pauses in all turns that count.
        paced: u64,
    },
    /// Requests were made again on a new connection, because the server closed a kept one before a byte of the response: they are no failures.
    Retried {
        /// Who closed.
        name: String,
        /// Requests in all turns that count.
        retried: u64,
    },
    /// Some of the requests that were answered well got an answer in the place of an error of what is behind, by the contender's own log:
    /// failures are compared as clients saw them.
    HiddenErrors {
        /// Whose.
        name: String,
        /// Requests answered well up to the last look of each turn that counts.
        responses: u64,
        /// Of these, answered in the place of an error.
        hidden: u64,
    },
    /// Contenders answer the same request well, but with unlike answers: by the class of the status, or with more than twice the bytes.
    AnswersUnlike {
        /// What each answers with.
        answers: Vec<KindOfAnswer>,
    },
    /// The client was the limit in some turns, which do not count.
    ClientLimit {
        /// Whose turns.
        name: String,
        /// How many.
        turns: u32,
        /// Why, in the first of them.
        reason: ClientLimit,
    },
    /// A server ended in some turns although nobody asked it to.
    Died {
        /// Whose.
        name: String,
        /// How many turns.
        turns: u32,
    },
    /// No steady state was reached in most turns: figures would change in longer ones.
    NotSteady {
        /// Whose.
        name: String,
        /// Turns without.
        turns: u32,
        /// Of so many.
        of: u32,
    },
    /// A figure still rose or fell from block to block.
    Drift {
        /// Whose.
        name: String,
        /// Which.
        figure: Figure,
        /// The later half of the blocks by the earlier half.
        ratio: Estimate,
    },
    /// Failures differ, so latency and processor time are of different requests: only those that succeed have a latency.
    Survivors {
        /// Who fails more.
        name: String,
    },
    /// Requests had no answer when turns ended, although they had waited for longer than any took that ended.
    LeftUnanswered {
        /// Whose.
        name: String,
        /// How many in all turns that count; at the least, where nobody noted how long each had waited.
        unanswered: u64,
        /// Of so many planned in these.
        planned: u64,
        /// The longest that one had waited, seconds.
        longest: f64,
        /// For how long the load waits before that may count like failing, seconds.
        patience: f64,
        /// Of how many failures are told: those planned early enough; none where nobody noted how long each had waited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        judged: Option<u64>,
    },
    /// In turns nothing was answered well in the part that is measured: there is no throughput to compare by its ratio.
    NothingAnswered {
        /// Whose.
        name: String,
        /// How many turns.
        turns: u32,
    },
    /// Neither of two was ever answered: whatever they have in common, nothing is said of them.
    Unanswered {
        /// The one that is compared with.
        base: String,
        /// The other.
        other: String,
    },
    /// A contender did not start in a block, and is compared with nobody; the others went on.
    #[serde(rename = "out")]
    Dropped {
        /// Who.
        name: String,
        /// In which block.
        block: u32,
        /// Why.
        why: String,
    },
    /// The record ends before the run did.
    RecordCutOff,
}

/// What a contender answers well with, in the turns that count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindOfAnswer {
    /// Whose.
    pub name: String,
    /// The status of most of its good answers; none where the record has no statuses.
    pub status: Option<u16>,
    /// Bytes of an answer, head and body, the mean; none where more than 1 % of its requests failed, whose bytes are among them.
    pub bytes: Option<f64>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
