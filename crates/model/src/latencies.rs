//! Servers compared: which of them take part, what is asked of each, and what was measured.

pub mod steps;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::Payload;
use crate::limit::Limit;
use crate::setting::{Rewrite, Setting};
use crate::units::{Bytes, Span};
use crate::websocket::CloseCount;

/// A comparison. All servers run at once, with all their clients connected; only one is asked at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyComparison {
    /// Who takes part.
    pub contenders: Vec<Contender>,
    /// Clients connected to each.
    pub clients: u32,
    /// Bytes of a message that all receive, or that each sends.
    pub message: Bytes,
    /// Sizes of large messages, in ascending order.
    pub sizes: Vec<Bytes>,
    /// Rounds that count, of each start. In each, every contender is asked every case once, in an order drawn for that round.
    pub rounds: u32,
    /// Rounds before them that do not count: code is compiled and buffers grow while it runs.
    pub warm_up: u32,
    /// How often all servers are started anew. With several, a start is what counts as one observation.
    pub starts: u32,
    /// Longest wait for one answer.
    pub timeout: Span,
    /// Seed of the orders.
    pub seed: u64,
}

/// A server with its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contender {
    /// What reports call it, unlike any other's: the server, and the setting that is swept where one is.
    pub name: String,
    /// The server.
    pub server: String,
    /// Its settings, in the user's words.
    pub settings: BTreeMap<String, String>,
    /// Whether it is here for one setting's sake, and asked for large messages only.
    #[serde(default)]
    pub variant: bool,
    /// Whether the others are measured beside it and it takes no rank among them.
    #[serde(default)]
    pub reference: bool,
}

/// What is asked of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "case")]
pub enum Case {
    /// All clients receive one message at once. Figure: from when the server begins to send until the last client has it.
    Receive,
    /// All clients send a message at once. Figure: from when a client writes until the server has read it, the mean.
    Send,
    /// The server sends one large message to one client. Figure: from when it begins until the client has all of it.
    Give {
        /// Its bytes.
        bytes: u64,
        /// Whether it is binary.
        binary: bool,
    },
    /// A client sends one large message, with every setting at its default. Figure: from the first byte written until the
    /// server's answer; what counts is whether there is one.
    Take {
        /// Its bytes.
        bytes: u64,
        /// Whether it is binary.
        binary: bool,
    },
}

impl fmt::Display for Case {
    /// `receive`, `send`, `give 1m binary`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |binary: &bool| if *binary { "binary" } else { "text" };
        match self {
            Case::Receive => f.write_str("receive"),
            Case::Send => f.write_str("send"),
            Case::Give { bytes, binary } => write!(f, "give {} {}", Bytes(*bytes), kind(binary)),
            Case::Take { bytes, binary } => write!(f, "take {} {}", Bytes(*bytes), kind(binary)),
        }
    }
}

/// A contender is up, with all its clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContenderRecord {
    /// [`Contender::name`].
    pub contender: String,
    /// Version of the server and of what it runs on.
    pub version: String,
    /// Every setting it has, as it is.
    pub settings: Vec<Setting>,
    /// Where its private copy differs from the user's configuration; nothing for one that is generated or stands already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewrites: Vec<Rewrite>,
    /// The cap on one message from a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<Limit>,
    /// Whether what it changes decides how responses are compressed. (Of a comparison of systems.)
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compression: bool,
    /// How long it took from its start until it listened.
    pub started: Span,
}

/// One contender asked one thing once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    /// [`Contender::name`].
    pub contender: String,
    /// From 1. Those of the warm-up are counted too.
    pub round: u32,
    /// Whether it belongs to the warm-up, and does not count.
    pub warm_up: bool,
    /// What was asked.
    #[serde(flatten)]
    pub case: Case,
    /// The figure (see [`Case`]), ns; none when there was no whole answer.
    pub figure_ns: Option<u64>,
    /// What the figure is made of: the delay of each client, or of each message, ns; only where there are several.
    #[serde(default, skip_serializing_if = "Payload::is_empty")]
    pub delays: Payload,
    /// Messages that were due.
    pub due: u64,
    /// Messages that did not come in time.
    pub missing: u64,
    /// Connections that ended, by code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closes: Vec<CloseCount>,
    /// Connections that had ended since the contender was asked last and were opened again before, by code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopened: Vec<CloseCount>,
    /// How long it took, the client's work before and after included.
    pub lasted: Span,
    /// Part of that time in which the client's thread was busy.
    pub client_busy: f64,
    /// What the server consumed meanwhile.
    pub used: Consumption,
    /// The processes whose clients did it, where there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<RoundWorker>,
}

impl Round {
    /// The most by which other machines' clocks may have made the figure wrong, ns; none where one clock took it.
    pub fn clock_ns(&self) -> Option<u64> {
        let with = match self.case {
            Case::Receive | Case::Send => &self.workers[..],
            // One client of the first process.
            Case::Give { .. } => self.workers.get(..1).unwrap_or_default(),
            // Both instants are the client's.
            Case::Take { .. } => &[],
        };
        with.iter().filter_map(|one| one.clock).map(RoundClock::wrong_ns).max()
    }
}

/// A process that had some of the clients of a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundWorker {
    /// The machine: `here`, or its name for ssh.
    pub place: String,
    /// The node that its pod was on, where it was in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Its clients.
    pub clients: u32,
    /// Its clock beside the server's; none: it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<RoundClock>,
    /// Part of the time in which its thread was busy.
    pub busy: f64,
}

/// How far another machine's CLOCK_MONOTONIC was from the server's: exchanges of four stamps before a round and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundClock {
    /// Its clock less the server's before the round, by which delays are corrected, nanoseconds.
    pub offset_ns: i64,
    /// The most by which an exchange can be wrong, the worse of before and after: half of the round trip, nanoseconds.
    pub uncertainty_ns: u64,
    /// By how much the offset was another after the round, nanoseconds.
    pub drift_ns: i64,
}

impl RoundClock {
    /// The most by which a corrected delay can be wrong, ns.
    pub fn wrong_ns(self) -> u64 {
        self.uncertainty_ns.saturating_add(self.drift_ns.unsigned_abs())
    }
}

/// What a server consumed in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Consumption {
    /// Processor time, microseconds.
    pub cpu_us: u64,
    /// Processor time that the other contenders used meanwhile, although nothing was asked of them, microseconds.
    pub others_us: u64,
    /// Resident memory, bytes.
    pub rss: u64,
    /// Heap in use, bytes, as the server tells; none where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heap: Option<u64>,
    /// Threads.
    pub threads: u32,
    /// Open descriptors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptors: Option<u64>,
}

/// A garbage collector had the server stand still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Collection {
    /// [`Contender::name`].
    pub contender: String,
    /// The collector's name for it: `Pause Young (Normal)`, `Pause Full`.
    pub kind: String,
    /// Why: `G1 Evacuation Pause`; empty where it does not say.
    pub cause: String,
    /// How long, ns.
    pub lasted_ns: u64,
    /// Heap in use before, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Heap in use after, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}
