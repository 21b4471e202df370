//! A plain load in figures: what users of other load testers look for, all of it from the planned instants and the
//! merged histograms. Made by `analysis`; reports only show it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, Side};
use crate::event::{Refusal, StatusCount};

/// One load in sum. Times are seconds, sizes bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// What is counted.
    pub counted: Counted,
    /// How long the load lasted.
    pub lasted: f64,
    /// The highest level that it had (users, or planned requests a second); none where that is the one asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<f64>,
    /// Planned: always `ok + failed + in_flight`.
    pub planned: u64,
    /// Written. What failed before it could be written (no connection, handshake refused) is planned and not sent.
    pub sent: u64,
    /// Ended well.
    pub ok: u64,
    /// Failed.
    pub failed: u64,
    /// Neither when the load ended.
    pub in_flight: u64,
    /// Of these, those that hung: each had waited for more than twice as long as any that ended took, and for a second.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hung: u64,
    /// Of those in flight, the ones that waited for a connection of the generator's and were never sent; none where that was not
    /// seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsent: Option<u64>,
    /// Pauses of closed users, each after a failure that came sooner than [`FAILURE_PACE`](crate::load::FAILURE_PACE) after the
    /// plan and before another request: the rate is lower for it. 0 where the users think for longer than that anyway. Where nobody counted (see
    /// [`Tick::paced`](crate::event::Tick::paced)): failures that came so soon.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub paced: u64,
    /// Redirections that were followed: the request of each is among those written, where it came to be. None where no step of a scenario
    /// follows any, and in records of versions that did not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirected: Option<u64>,
    /// Made again on a new connection, because the server closed a kept one before it answered a byte; counted once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retried: u64,
    /// Answers behind which bytes came that are no part of them; their connections were closed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub surplus: u64,
    /// Finished (well or not) a second.
    pub rate: f64,
    /// Ended well a second.
    pub ok_rate: f64,
    /// Those that ended well in each whole second; none in a load shorter than one.
    pub seconds: Option<Spread>,
    /// Bytes received: heads, bodies, frames.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Time of those that ended well, from the planned instant.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub latency: Distribution,
    /// Time of those that ended well, from the instant of writing.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub service: Distribution,
    /// Time until failure, from the planned instant.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub failed_after: Distribution,
    /// Responses by status, in order of the status.
    pub statuses: Vec<StatusCount>,
    /// Failures by kind, most frequent first.
    pub errors: Vec<ErrorTotal>,
    /// Connections.
    pub connections: Connections,
    /// The first refusal of a WebSocket handshake, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// How late the generator sent.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub lateness: Distribution,
    /// Processor time of the generator's threads, in cores, on average.
    pub cpu: f64,
    /// Of these, those of its busiest thread in each interval.
    pub cpu_busiest: f64,
    /// Largest resident memory of the generator.
    pub memory: u64,
    /// What was to hold, over the whole load.
    pub thresholds: Vec<Threshold>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What a load counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// HTTP requests.
    Requests,
    /// WebSocket messages and their echoes.
    Messages,
    /// WebSocket connections that are opened and held.
    Openings,
}

/// A distribution in figures, seconds. One of nothing is not written: no figure of it is one. (In memory all of it is zero.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Values counted.
    pub count: u64,
    /// Smallest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub stdev: f64,
    /// Median.
    pub p50: f64,
    /// 75 %.
    pub p75: f64,
    /// 90 %.
    pub p90: f64,
    /// 95 %.
    pub p95: f64,
    /// 99 %.
    pub p99: f64,
    /// 99.9 %.
    pub p999: f64,
    /// 99.99 %.
    pub p9999: f64,
    /// Largest.
    pub max: f64,
}

impl Distribution {
    /// Whether there was nothing.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// How a figure varies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Values counted.
    pub count: u64,
    /// Smallest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the sample (divided by one less than their number; 0 for a single one).
    pub stdev: f64,
    /// Largest.
    pub max: f64,
}

/// Failures of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorTotal {
    /// The kind.
    pub kind: ErrorKind,
    /// Whose side it is on.
    pub side: Side,
    /// How many.
    pub count: u64,
}

/// Connections of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// Opened.
    pub opened: u64,
    /// Most open at once; none where nobody counted and none was open at the end of an interval, although some were opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
    /// How `most` is known.
    #[serde(default)]
    pub known: Known,
    /// Idle ones that the server closed.
    pub closed_idle: u64,
    /// Time to connect.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub connect: Distribution,
}

/// How it is known what was the most at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// So many were seen at the end of an interval: between, there may have been more.
    #[default]
    Seen,
    /// Counted: there were so many, and never more.
    Counted,
    /// The sum of what several processes had, each at its own moment: there were never more.
    AtMost,
}

/// One condition of the objective, judged over the whole load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Threshold {
    /// The condition, as the objective words it.
    pub condition: String,
    /// What was seen: fraction of errors, seconds, or a rate; none where nothing was there to be judged.
    pub seen: Option<f64>,
    /// Requests in flight at the end that the condition speaks of all the same, beside what was seen of those that ended: of a latency, those
    /// that certainly had waited for longer already; of errors, those that had waited for longer than is patient while the load was held, and messages
    /// whose echo did not come while it was waited for after the end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waiting: u64,
    /// Of errors: requests in flight at the end that had waited for far longer than anything took that ended, but not for longer than is
    /// patient, where the condition would not hold if these failed. What becomes of them is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undecided: u64,
    /// Whether it holds, those that waited counted. It does not where nothing was there to be judged.
    pub holds: bool,
}

/// One interval of a load, for tables. Times are seconds, sizes bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Begin, since the load began.
    pub from: f64,
    /// End.
    pub to: f64,
    /// Users, or planned requests a second, at its end.
    pub level: f64,
    /// Planned in it: `ok + failed`, and what `in_flight` grew by.
    pub planned: i64,
    /// Written.
    pub sent: u64,
    /// Ended well.
    pub ok: u64,
    /// Failed.
    pub failed: u64,
    /// Waiting at its end.
    pub in_flight: u64,
    /// Connections open at its end.
    pub connections: u64,
    /// Connections opened.
    pub opened: u64,
    /// Requests made again on a new connection.
    pub retried: u64,
    /// Received.
    pub bytes_in: u64,
    /// Sent.
    pub bytes_out: u64,
    /// From the planned instant.
    pub latency: Distribution,
    /// From the instant of writing.
    pub service: Distribution,
    /// Time to connect.
    pub connect: Distribution,
    /// The generator's lateness.
    pub lateness: Distribution,
    /// Processor time of the generator's threads, in cores.
    pub cpu: f64,
}
