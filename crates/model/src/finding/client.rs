//! Whether the generator was good enough to be believed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Quantiles;

/// The generator's check of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientCheck {
    /// Whether the figures can be trusted.
    pub valid: bool,
    /// Why not.
    pub reasons: Vec<ClientLimit>,
    /// Lateness of the generator, seconds.
    #[serde(default, skip_serializing_if = "Quantiles::is_empty")]
    pub lateness: Quantiles,
    /// With kernel stamps: how long responses lay in their sockets before the generator read them, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Quantiles>,
    /// CPU of the busiest generator thread, fraction of a core, largest second.
    pub cpu_max: f64,
}

/// The requests that a lateness is told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LateOver {
    /// All that were judged.
    #[default]
    All,
    /// All but those of the first second of a load that begins at once: opening that many connections in one moment makes everyone late.
    Settled,
    /// Those of one second, in which half of all were late.
    Second,
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
    /// A worker of Locust had no processor time left.
    LocustCpu {
        /// Fraction of a core that its busiest thread used or, where it is known, waited for.
        used: f64,
    },
    /// The CPU quota of its control group was used up again and again, which is the servers' group too where they are started by it.
    Throttled {
        /// Fraction of the group's periods.
        fraction: f64,
    },
    /// It sent late.
    Late {
        /// 99th percentile of lateness, seconds.
        p99: f64,
        /// The bound, seconds.
        bound: f64,
        /// Of which requests it is the percentile: `lateness` of the check is that of all of them.
        #[serde(default)]
        over: LateOver,
    },
    /// It did not run for so long, while requests were in flight of users who ask as soon as they are answered.
    Stalled {
        /// The longest time for which it did not, seconds.
        longest: f64,
        /// Requests that were in flight each time that it did not run for longer than the bound, added up.
        requests: u64,
        /// The bound, seconds.
        bound: f64,
    },
    /// One of its worker processes was at its end: in the sum of all of them that can be lost.
    Worker {
        /// Number of the process, from 1.
        worker: u16,
        /// Fraction of a core that its busiest thread used, in the second in which that was most.
        used: f64,
        /// 99th percentile of how late its requests left, seconds.
        p99: f64,
        /// The bound on that, seconds.
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
    /// Its users were too few for the rate asked for, however fast the product is: each waits for an answer, and the backend alone takes so
    /// long for one.
    Users {
        /// Users.
        users: f64,
        /// How long a request takes without any load, seconds.
        alone: f64,
        /// Requests a second that they can make at most.
        carries: f64,
        /// Requests a second asked for.
        wanted: f64,
        /// How many users it takes at least.
        needed: f64,
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
    /// It does not take responses as large as came: these are all that failed.
    TooLarge {
        /// Failed requests.
        count: u64,
    },
}
