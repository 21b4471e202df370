//! What one trial came to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Break, ClientCheck, Quantiles};
use crate::error::ErrorCount;
use crate::event::{Change, ClientUse, Purpose};
use crate::flows::Flows;
use crate::http2::GoAways;
use crate::websocket::Messages;

fn is_zero(count: &u64) -> bool {
    *count == 0
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
    /// Made again on a new connection, because the server closed a kept one before it answered a byte; counted once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retried: u64,
    /// Failed, by kind.
    pub errors: Vec<ErrorCount>,
    /// Successful requests a second, over the whole trial.
    pub rate: f64,
    /// Latency of successful responses from the planned instant, seconds.
    #[serde(default, skip_serializing_if = "Quantiles::is_empty")]
    pub latency: Quantiles,
    /// Service time, seconds.
    #[serde(default, skip_serializing_if = "Quantiles::is_empty")]
    pub service: Quantiles,
    /// The break, if any.
    pub broke: Option<Break>,
    /// The generator in this trial.
    pub client: ClientCheck,
    /// What the generator used of its machine, where the record says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<ClientUse>,
    /// Each process of the generator, where several machines made the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerFinding>,
    /// TLS and WebSocket handshakes, where there were such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<HandshakeFinding>,
    /// WebSocket messages, where there were such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
    /// WebSockets that ended although the client had not asked for it, where there were such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disconnects: Option<DisconnectFinding>,
    /// HTTP/2 connections the server ended by GOAWAY, where there were such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goaways: Option<GoAways>,
    /// Flows of a scenario, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowFinding>,
}

/// A process of the generator, where several machines made the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerFinding {
    /// Its machine: `here`, or its name for ssh.
    pub place: String,
    /// The node that its pod was on, where it was in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The most by which the start may have been wrong by its clock, seconds: half of the round trip of the exchange that told its offset;
    /// none: it is our clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_uncertainty: Option<f64>,
    /// By how much its clock had moved against ours from before the load to after it, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_drift: Option<f64>,
    /// How long after the common start, by its own clock, the last of its threads had begun, seconds; none: it was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<f64>,
    /// Fraction of a core that its busiest thread used, in the second in which that was most; none: it was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest: Option<f64>,
    /// 99th percentile of how late its requests left, seconds; none: it was lost, or nothing was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_p99: Option<f64>,
}

/// A process of the generator over all loads of a run, where several machines made them: of each figure the worst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessFinding {
    /// Where it was, and the worst of each figure over its loads.
    #[serde(flatten)]
    pub worst: WorkerFinding,
    /// Loads of which it made a part.
    pub loads: u32,
    /// Loads that it limited: it had no processor time left, or sent late.
    pub saturated: u32,
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
    #[serde(default, skip_serializing_if = "Quantiles::is_empty")]
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
    /// WebSockets that could not be opened.
    #[serde(default)]
    pub failed: u64,
    /// From connected to ready, seconds.
    #[serde(default, skip_serializing_if = "Quantiles::is_empty")]
    pub took: Quantiles,
}

/// WebSockets that ended although the client had not asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DisconnectFinding {
    /// With a close frame of the other side.
    pub closed: u64,
    /// Without one.
    pub cut: u64,
    /// How long nothing had been said or heard on them, seconds.
    #[serde(default, skip_serializing_if = "Quantiles::is_empty")]
    pub silent: Quantiles,
}
