//! What a record means: statements with their evidence attached. Made by `analysis` only; reports only show them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{ErrorCount, Side};
use crate::event::{Change, ClientUse, Purpose};
use crate::flows::Flows;
use crate::http2::GoAways;
use crate::limit::{Limit, Strength};
use crate::summary::Summary;
use crate::units::Range;
use crate::websocket::Messages;

/// Version of the verdict's format.
pub const SCHEMA: &str = "genkai.verdict/1";

/// The answer of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// [`SCHEMA`].
    pub schema: String,
    /// Does the objective hold for the system as it is, at the load asked for?
    pub outcome: Outcome,
    /// Must the configuration change?
    pub must_change: Answer,
    /// Why the answer is what it is.
    pub because: Because,
    /// The changes proposed, in the order found; empty for none.
    pub proposal: Vec<ProposedChange>,
    /// The limits that were met, in the order met, each with cause, evidence and test.
    pub causes: Vec<Cause>,
    /// What breaks next once the proposal is in place (or first, when nothing broke).
    pub next: Option<Predicted>,
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
}

/// Does the objective hold?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It held at the load asked for.
    Holds,
    /// It was violated.
    Fails,
    /// The client was the limit.
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
    /// The likely setting was changed and the break did not move.
    ChangeMadeNoDifference,
    /// The backend is the limit; no setting of the product under test is.
    BackendIsLimit,
    /// Processor time is the limit; no setting of the product under test gives more.
    CpuIsLimit,
    /// A server died under load.
    ServerDied,
    /// The client was the limit.
    ClientIsLimit,
    /// Nothing in the evidence names a cause.
    NoCauseFound,
    /// A setting is the likely limit, but it was not put to the test (the run ended, or nothing can lift it).
    NotTested,
    /// The run ended before an answer.
    Unfinished,
}

/// A change with the reasons for its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedChange {
    /// From what to what.
    pub change: Change,
    /// The limit it lifts.
    pub limit: String,
    /// The smallest value that holds for the load asked for, by the formula.
    pub minimum: String,
    /// Clients the proposed value holds for (soft onset to hard limit).
    pub holds_for: Option<Range>,
}

/// A limit that was met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The limit as configured when it was met.
    pub limit: Limit,
    /// What was predicted for it before any load.
    pub predicted: Predicted,
    /// The break that it explains.
    pub broke: Break,
    /// Trial in which it was met.
    pub trial: u32,
    /// What speaks for it.
    pub evidence: Vec<Evidence>,
    /// How sure.
    pub confidence: Confidence,
    /// What happened when only its setting was changed.
    pub counterfactual: Option<Counterfactual>,
    /// The other candidates, best first, and why each is not the cause.
    pub others: Vec<Candidate>,
}

/// How sure a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Fits, not more.
    Possible,
    /// Decisive evidence, not (yet) put to the test.
    Likely,
    /// Changing it alone moved the break; the test says whether to where the formula puts it.
    Proved,
    /// Changing it alone did not move the break.
    Refuted,
}

/// A possible cause with its score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// The limit.
    pub limit: String,
    /// Whose.
    pub subject: String,
    /// Its setting.
    pub setting: String,
    /// 0 (nothing speaks for it) to 1.
    pub score: f64,
    /// What speaks for it.
    pub evidence: Vec<Evidence>,
    /// What speaks against it.
    pub against: Vec<Against>,
}

/// Why a candidate is not the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// None of its signs were seen.
    NoSign,
    /// Clients did not see what it causes.
    WrongSymptom,
    /// The break came far from where its formula puts it.
    WrongPlace,
    /// A limit with stronger signs explains its signs too.
    Explained,
    /// Lifting it did not move the break.
    Refuted,
}

/// One fact that speaks for a cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "evidence")]
pub enum Evidence {
    /// A server's log said so.
    Log {
        /// Who wrote it; empty in records that do not say: the limit's subject.
        #[serde(default)]
        subject: String,
        /// Signature recognised.
        signature: String,
        /// Lines seen.
        count: u64,
        /// The first line's text.
        text: String,
        /// Seconds since the load began of the first line.
        at: f64,
        /// How much it says.
        strength: Strength,
    },
    /// A cumulative metric grew.
    Grew {
        /// The metric.
        metric: String,
        /// Before the break.
        from: f64,
        /// After.
        to: f64,
        /// How much it says.
        strength: Strength,
    },
    /// A gauge reached a mark.
    Reached {
        /// The gauge.
        metric: String,
        /// Its largest value around the break.
        value: f64,
        /// The mark.
        mark: f64,
        /// What the mark is, e.g. another metric's name.
        of: String,
        /// How much it says.
        strength: Strength,
    },
    /// What it takes alone, without any load, is more than is allowed.
    Alone {
        /// Seconds it takes alone (at the quantile that the objective judges).
        takes: f64,
        /// Seconds allowed.
        allowed: f64,
    },
    /// Clients saw the errors that this limit causes.
    Errors {
        /// The kinds and counts seen from the break on.
        errors: Vec<ErrorCount>,
    },
    /// Responses became slow, as this limit makes them.
    Slow {
        /// Latency at the objective's quantile around the break, seconds.
        seen: f64,
    },
    /// The break came where the formula puts it.
    Place {
        /// Predicted.
        predicted: Range,
        /// Observed.
        observed: f64,
    },
}

/// The first sustained violation of the objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Break {
    /// Seconds since the load began.
    pub at: f64,
    /// Users started by then (closed), or planned requests a second (open).
    pub level: f64,
    /// Clients at once by then: requests in flight. In the open model at most as many as it has connections; requests that wait
    /// for one are not counted.
    pub in_flight: f64,
    /// Open client connections by then.
    pub connections: f64,
    /// Completed requests a second around it.
    pub rate: f64,
    /// The condition violated, as the objective words it.
    pub condition: String,
    /// What was seen instead (fraction of errors, seconds, requests a second).
    pub seen: f64,
    /// Errors from the break to the end of the trial.
    pub errors: Vec<ErrorCount>,
    /// Whose side the errors are on, most frequent first.
    pub sides: Vec<Side>,
}

/// Changing one setting alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counterfactual {
    /// The change.
    pub change: Change,
    /// The trial.
    pub trial: u32,
    /// Where the next break was predicted, in `scale`; none: beyond the load sent.
    pub predicted: Option<Range>,
    /// What `predicted` counts.
    #[serde(default)]
    pub scale: Scale,
    /// Where it came; none: it did not come.
    pub observed: Option<Break>,
    /// The largest level reached without a violation.
    pub held_to: f64,
    /// Whether the break moved as predicted.
    pub moved: Moved,
}

/// What a figure about load counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Clients at once.
    #[default]
    Clients,
    /// The unit of the load: users, or planned requests a second.
    Level,
}

impl Scale {
    /// What caveats counted before they said so.
    fn level() -> Scale {
        Scale::Level
    }
}

/// What became of the break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moved {
    /// To where the formula puts the next limit (or away, beyond the load sent).
    AsPredicted,
    /// It moved, but to somewhere else: another limit stands between.
    Elsewhere,
    /// It did not move.
    Not,
}

/// A limit's prediction in the user's units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Predicted {
    /// The limit.
    pub limit: String,
    /// Whose.
    pub subject: String,
    /// Its setting.
    pub setting: String,
    /// Value as configured.
    pub value: String,
    /// Concurrent clients at which it should bite (soft onset to hard limit); none where it does not count clients.
    pub clients: Option<Range>,
    /// Users at which that is reached under the plan's load; none: never.
    pub users: Option<Range>,
    /// Requests a second that stands for, at the response time seen (or known); none: unknown.
    pub rate: Option<Range>,
    /// Request body bytes above which it refuses.
    pub bytes: Option<f64>,
    /// The formula with numbers.
    pub formula: String,
    /// Where it actually broke, if it did.
    pub observed: Option<f64>,
    /// Whether it should bite within the load asked for.
    pub within_load: bool,
    /// Whether it does not matter for this load: nothing was seen of it, and it should bite far beyond the load asked for, or
    /// not at all, or nothing says where.
    #[serde(default)]
    pub far: bool,
}

/// Figures of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialFinding {
    /// Number.
    pub trial: u32,
    /// What for.
    pub purpose: Purpose,
    /// Settings that differed from the baseline.
    pub changes: Vec<Change>,
    /// Load asked for: users, or requests a second.
    pub asked: f64,
    /// Seconds the load lasted.
    pub lasted: f64,
    /// Requests finished.
    pub finished: u64,
    /// Of these, failed.
    pub failed: u64,
    /// Failed, by kind.
    pub errors: Vec<ErrorCount>,
    /// Successful requests a second, over the whole trial.
    pub rate: f64,
    /// Latency of successful responses from the planned instant, seconds.
    pub latency: Quantiles,
    /// Service time, seconds.
    pub service: Quantiles,
    /// The break, if any.
    pub broke: Option<Break>,
    /// The generator in this trial.
    pub client: ClientCheck,
    /// What the generator used of its machine, where the record says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<ClientUse>,
    /// TLS and WebSocket handshakes, where there were such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<HandshakeFinding>,
    /// WebSocket messages, where there were such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
    /// HTTP/2 connections the server ended by GOAWAY, where there were such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goaways: Option<GoAways>,
    /// Flows of a scenario, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowFinding>,
}

/// What became of a scenario's flows, and how each of its steps went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowFinding {
    /// Counts of all intervals together; their steps' distributions are in `steps`.
    pub counts: Flows,
    /// How long each step took when it went well, from the planned instant, seconds; as `counts.steps`.
    pub steps: Vec<StepFinding>,
}

/// One step of a scenario in sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepFinding {
    /// Its name.
    pub name: String,
    /// Times it went well.
    pub ok: u64,
    /// Times it failed.
    pub failed: u64,
    /// Times it went well, a second, over the whole trial.
    pub rate: f64,
    /// How long it took, seconds.
    pub took: Quantiles,
}

/// Handshakes of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandshakeFinding {
    /// TLS handshakes with certificates.
    pub full: u64,
    /// TLS handshakes that resumed a session.
    pub resumed: u64,
    /// WebSocket handshakes.
    pub upgraded: u64,
    /// From connected to ready, seconds.
    pub took: Quantiles,
}

/// A distribution in a few figures, seconds. All zero when there was nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// Values counted.
    pub count: u64,
    /// Smallest.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 90 %.
    pub p90: f64,
    /// 95 %.
    pub p95: f64,
    /// 99 %.
    pub p99: f64,
    /// 99.9 %.
    pub p999: f64,
    /// Largest.
    pub max: f64,
    /// Mean.
    pub mean: f64,
}

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Best estimate.
    pub value: f64,
    /// Interval.
    pub interval: Range,
    /// Observations behind it.
    pub n: u32,
}

/// Baseline against proposal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Trials in the order they ran: `A` baseline, `B` proposal.
    pub order: String,
    /// Pairs.
    pub pairs: u32,
    /// Fraction of requests that failed, baseline.
    pub failed_before: Estimate,
    /// Fraction of requests that failed, proposal.
    pub failed_after: Estimate,
    /// Difference (after - before), paired.
    pub failed_difference: Estimate,
    /// Successful requests a second, before, after, and the paired difference.
    pub rate: [Estimate; 3],
    /// p99 latency in seconds, before, after, and the paired difference.
    pub p99: [Estimate; 3],
    /// Failures in all baseline trials, and in all proposal trials.
    pub failures: [u64; 2],
    /// Finished requests in all baseline trials, and in all proposal trials.
    pub finished: [u64; 2],
    /// Did the objective hold in every proposal trial?
    pub proposal_holds: bool,
    /// Did it fail in every baseline trial?
    pub baseline_fails: bool,
    /// The figure that the objective judges by the condition violated, before, after, and the paired difference.
    #[serde(default)]
    pub judged: Option<Judged>,
    /// Does the interval of the objective's figure exclude "no difference"?
    pub certain: bool,
}

/// A condition's own figure in a proof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// The condition, as the objective words it.
    pub condition: String,
    /// Before, after, and the paired difference: fraction of requests that failed, seconds, or successful requests a second.
    pub figures: [Estimate; 3],
}

/// The generator's check of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientCheck {
    /// Whether the figures can be trusted.
    pub valid: bool,
    /// Why not.
    pub reasons: Vec<ClientLimit>,
    /// Lateness of the generator, seconds.
    pub lateness: Quantiles,
    /// With kernel stamps: how long responses lay in their sockets before the generator read them, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Quantiles>,
    /// CPU of the busiest generator thread, fraction of a core, largest second.
    pub cpu_max: f64,
}

/// Why a client limited its own measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum ClientLimit {
    /// Its threads had no processor time left.
    Cpu {
        /// Fraction of a core of the busiest thread.
        used: f64,
    },
    /// It sent late.
    Late {
        /// 99th percentile of lateness, seconds.
        p99: f64,
        /// The bound, seconds.
        bound: f64,
    },
    /// It sent less than planned.
    Short {
        /// Requests sent by requests planned.
        fraction: f64,
    },
    /// All its connections were busy, although the server answered no slower than under little load.
    Connections {
        /// Connections it may have.
        connections: u32,
        /// How long a connection is busy with one request, seconds (mean).
        service: f64,
        /// Requests a second that they can carry.
        carries: f64,
        /// Requests a second that were planned when they were all busy.
        planned: f64,
    },
    /// It ran out of ports.
    Ports {
        /// Failed requests.
        count: u64,
    },
    /// It ran out of descriptors.
    Descriptors {
        /// Failed requests.
        count: u64,
    },
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
    /// A limit left signs of being at work although the objective held.
    AtWorkButHeld {
        /// The limit.
        limit: String,
        /// Its strongest sign.
        sign: Evidence,
    },
    /// A server died during a trial.
    ServerDied {
        /// Which.
        subject: String,
        /// In which trial.
        trial: u32,
    },
    /// The proof has too few pairs to be certain.
    FewPairs {
        /// Pairs run.
        pairs: u32,
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
    /// The record ends before the run did.
    RecordCutOff,
}

/// Everything that reports show of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// The answer.
    pub verdict: Verdict,
    /// One a trial, in order.
    pub series: Vec<Series>,
}

/// A trial over time, for figures: one point an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Trial number.
    pub trial: u32,
    /// Points in order.
    pub points: Vec<Point>,
}

/// One interval of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Middle of the interval, seconds since the load began.
    pub at: f64,
    /// Users, or planned requests a second.
    pub level: f64,
    /// Requests waiting for a response.
    pub in_flight: f64,
    /// Successful responses a second.
    pub ok: f64,
    /// Failures a second.
    pub failed: f64,
    /// Latency quantiles of successful responses, seconds; none where there were too few.
    pub p50: Option<f64>,
    /// 90 %.
    pub p90: Option<f64>,
    /// 99 %.
    pub p99: Option<f64>,
}
