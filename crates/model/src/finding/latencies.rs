//! What a comparison showed: statements about a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Estimate, Outcome, RankedPair};
use crate::latencies::{Case, LatencyComparison};
use crate::setting::Setting;

/// A comparison and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyFinding {
    /// What was to be done.
    #[serde(rename = "contest")]
    pub comparison: LatencyComparison,
    /// Who took part.
    #[serde(rename = "entrants")]
    pub contenders: Vec<LatencyContender>,
    /// Each case, in the order asked.
    pub cases: Vec<CaseFinding>,
    /// Messages that servers did not take, and why.
    pub limits: Vec<MessageLimit>,
    /// The processes that had the clients, where there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<LatencyWorker>,
    /// What limits the answer.
    pub caveats: Vec<LatencyCaveat>,
    /// Holds: every contender answered every round of the cases that are compared. Fails: one did not. Invalid: the client
    /// was the limit. Unfinished: there are not enough rounds.
    pub outcome: Outcome,
}

/// A process that had some of the clients, over all rounds that count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyWorker {
    /// The machine: `here`, or its name for ssh.
    pub place: String,
    /// The node that its pod was on, where it was in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Its clients, of each server.
    pub clients: u32,
    /// The most by which its clock's offset to the server's may be wrong, seconds; none: it is the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_uncertainty: Option<f64>,
    /// The most by which that offset changed in a round, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_drift: Option<f64>,
    /// The part of a round in which its thread was busy, the largest.
    pub busy: f64,
}

/// A contender as it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyContender {
    /// Its name.
    pub name: String,
    /// Version of the server and of what it runs on.
    pub version: String,
    /// Every setting.
    pub settings: Vec<Setting>,
    /// Seconds from its start until it listened, the mean.
    pub started: f64,
    /// Pauses of its garbage collector in rounds that count, by kind.
    pub pauses: Vec<Pause>,
    /// What it consumed in rounds that count.
    pub usage: Usage,
}

/// Pauses of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pause {
    /// The collector's name for it.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// All of them, seconds.
    pub total: f64,
    /// The longest, seconds.
    pub longest: f64,
}

/// What a server consumed: largest values, but for processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Processor time, seconds, the sum over its rounds.
    pub cpu: f64,
    /// Resident memory, bytes.
    pub rss: u64,
    /// Heap in use, bytes.
    pub heap: Option<u64>,
    /// Threads.
    pub threads: u32,
    /// Open descriptors.
    pub descriptors: Option<u64>,
}

/// One case, compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseFinding {
    /// What was asked.
    #[serde(flatten)]
    pub case: Case,
    /// Contenders, the fastest first.
    pub standings: Vec<LatencyStanding>,
    /// Each two of them.
    pub pairs: Vec<RankedPair>,
    /// Whether any two can be told apart.
    pub told_apart: bool,
    /// Pairs that their figures tell apart, and would not if the clocks of other machines were wrong by as much as they may be.
    #[serde(default, skip_serializing_if = "none")]
    pub within_clocks: u32,
}

/// How a contender stands in a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyStanding {
    /// Its name.
    pub name: String,
    /// The geometric mean of the figure over its observations, seconds, with its interval.
    pub figure: Option<Estimate>,
    /// The best rank that the intervals allow, from 1; 0 of the reference, which has none.
    pub best: u32,
    /// The worst, or 0.
    pub worst: u32,
    /// Every round that counts, in order.
    pub rounds: Vec<MeasuredRound>,
    /// Rounds without a whole answer.
    pub failed: u32,
    /// Seconds: the median of all delays of all rounds, and the 99th percentile; none for cases with one message.
    pub median: Option<f64>,
    /// 99 %.
    pub p99: Option<f64>,
    /// The most by which clocks of other machines may have made the figure of a round wrong, seconds; none where one clock took them all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_uncertainty: Option<f64>,
}

/// Whether there is nothing to be written down.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn none(count: &u32) -> bool {
    *count == 0
}

/// A round as drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredRound {
    /// Which start of the servers, from 1.
    pub start: u32,
    /// Number of the round.
    pub round: u32,
    /// The figure, seconds; none when there was no whole answer.
    pub figure: Option<f64>,
    /// How long its garbage collector paused in that round, seconds.
    pub paused: f64,
}

/// A message size that a server did not take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageLimit {
    /// Whose.
    pub name: String,
    /// Whether text, binary messages, or both.
    pub kinds: Vec<String>,
    /// Largest message taken, bytes; none: none was.
    pub taken: Option<u64>,
    /// Smallest message refused, bytes.
    pub refused: u64,
    /// Code with which the connection ended; none when it did not end.
    pub code: Option<u16>,
    /// Whether the limit as configured lies between these two, and the code is its own.
    pub proved: bool,
    /// The setting that lifts it, as `--set` has it; none where nothing is known of it.
    pub setting: Option<String>,
    /// Its value when the message was refused.
    pub value: Option<String>,
    /// Where that value comes from.
    pub source: Option<String>,
}

/// What limits an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "caveat")]
pub enum LatencyCaveat {
    /// All rounds are of one start of the servers: another start of the same server may differ by more than the intervals say.
    OneStart,
    /// The figures still fell or rose while they were taken: the warm-up was too short.
    Drift {
        /// Whose.
        name: String,
        /// In which case.
        #[serde(flatten)]
        case: Case,
        /// The later half by the earlier half.
        ratio: Estimate,
    },
    /// The client's thread was busy nearly all the time.
    ClientBusy {
        /// Whose rounds.
        name: String,
        /// Of which case.
        #[serde(flatten)]
        case: Case,
        /// Part of the time, the mean.
        busy: f64,
        /// The machine that the client was on, where it was another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<String>,
    },
    /// Delays are between the server's clock and clocks of other machines.
    Clocks {
        /// In which case.
        #[serde(flatten)]
        case: Case,
        /// The most by which a round's figure may be wrong for that, seconds.
        uncertainty: f64,
        /// Pairs that are not told apart for that alone.
        undecided: u32,
    },
    /// Other contenders used the processor while it was asked.
    Disturbed {
        /// Whose rounds.
        name: String,
        /// Processor time of the others by that of the contender.
        fraction: f64,
    },
    /// It did not answer in some rounds.
    Unanswered {
        /// Who.
        name: String,
        /// In which case.
        #[serde(flatten)]
        case: Case,
        /// Rounds.
        rounds: u32,
        /// Code with which connections ended, if one did.
        code: Option<u16>,
    },
    /// Its connections ended while nothing was asked of it, and were opened again.
    Reopened {
        /// Who.
        name: String,
        /// How many.
        connections: u64,
        /// Code with which most of them ended.
        code: u16,
    },
    /// The record ends before the run did.
    RecordCutOff,
}
