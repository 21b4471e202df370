//! Limits as data: what caps a server, by which law, how it shows itself, and which setting lifts it.
//!
//! Products make them (`targets/src/PRODUCT/limits.rs`); `analysis` evaluates the law and weighs the signatures without
//! knowing the product.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ErrorKind;
use crate::units::Spread;

/// One cap of one server in one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// Stable name, e.g. `nginx.worker_connections`.
    pub id: String,
    /// Who has it: `nginx`, `backend`, `kernel`.
    pub subject: String,
    /// The directive or knob, in its product's words, e.g. `worker_connections`.
    pub setting: String,
    /// Its value as written, e.g. `512` or `1m`.
    pub value: String,
    /// Where the value comes from.
    pub origin: Origin,
    /// What it caps, in a few words, e.g. `connections a worker may hold`. Where no number predicts it ([`Law::Unknown`]): what
    /// is the case when it bites, e.g. `it refuses connections`.
    pub caps: String,
    /// How the value becomes a number of clients, bytes, or requests a second.
    pub law: Law,
    /// The law in words with its numbers, e.g. `1 worker x floor((512 - 1 listener - 1 channel) / 2)`.
    pub formula: String,
    /// Where the law is written down (source file, doc page).
    pub source: String,
    /// What proves, supports or contradicts it when it bites.
    pub signatures: Vec<Signature>,
    /// What clients see when it bites.
    pub symptom: Symptom,
    /// How to lift it; none where no setting does (a backend of the user's, the hardware).
    pub remedy: Option<Remedy>,
    /// How long what stands behind may take before this limit ends a request, in seconds; none for limits of other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<f64>,
    /// It caps nothing: something is broken, and nobody gets through, however few they are (an address that cannot be connected to).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fault: bool,
    /// Who finds no slot waits for one that is given up after each request: those beyond take turns, each a bit slower, until one waits too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub turns: bool,
    /// Whose places they are, where they are those of several servers, of which any with a free place is taken: unlike ones answer unlike shares of the
    /// requests, so the mean time of all does not say how many they answer. Empty: the places are alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerPlaces>,
    /// Clients that come to it at once at most, however many ask what stands before it; none: that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comes: Option<f64>,
}

/// The places of one of several servers, and the metrics that tell how long it takes by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerPlaces {
    /// How many requests it gets at once.
    pub at_once: f64,
    /// Gauge: its mean time for one, seconds, to a millisecond.
    pub time: String,
    /// Cumulative metric: its answers.
    pub answers: String,
    /// Cumulative metrics of requests that it did not answer: where there are any, its time is not known.
    pub failures: Vec<String>,
}

impl Limit {
    /// A limit of which only the name is known yet: to be completed with `..Limit::named(..)`.
    pub fn named(id: &str, subject: &str, setting: &str) -> Limit {
        Limit {
            id: id.to_owned(),
            subject: subject.to_owned(),
            setting: setting.to_owned(),
            value: String::new(),
            origin: Origin::Given,
            caps: String::new(),
            law: Law::Unknown,
            formula: String::new(),
            source: String::new(),
            signatures: Vec::new(),
            symptom: Symptom::default(),
            remedy: None,
            patience: None,
            fault: false,
            turns: false,
            servers: Vec::new(),
            comes: None,
        }
    }
}

/// Id of the limit that a backend has by itself, whatever it is: known by sending it the same load directly ([`Purpose::Direct`]).
///
/// [`Purpose::Direct`]: crate::event::Purpose::Direct
pub const BACKEND_BY_ITSELF: &str = "backend.by_itself";

/// ... and of what it answers however few requests there are, where that is a failure: seen before any load.
pub const BACKEND_ANSWERS: &str = "backend.answers";

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Compiled in or packaged default, with its source.
    Default(String),
    /// Set in a file.
    File {
        /// The user's file (not the private copy).
        path: PathBuf,
        /// Line, from 1.
        line: usize,
    },
    /// Set on the command line or by a change under test.
    Given,
    /// Read from the machine (`ulimit -n`, `/proc/sys/...`).
    Machine(String),
}

/// How a value caps a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "law")]
pub enum Law {
    /// Slots that clients occupy: `pools * floor((value - reserved) / cost)` clients at most.
    Slots {
        /// Slots in each pool.
        value: f64,
        /// Slots of each pool that are never a client's.
        reserved: f64,
        /// Slots of an idle keep-alive client.
        idle_cost: f64,
        /// Slots of a client with a request in flight.
        busy_cost: f64,
        /// Pools (workers).
        pools: f64,
        /// Fraction of `value` from which clients already suffer (15/16 for nginx); 1.0 for none.
        soft: f64,
    },
    /// Requests in service at once; more wait (throughput is `workers / service time`), they are not refused.
    Workers {
        /// How many are served at once.
        workers: f64,
        /// How many may wait before refusal; none: no cap.
        queue: Option<f64>,
        /// Time one takes, in seconds, where known.
        service: Option<f64>,
        /// How long one may wait before it is refused, in seconds; none: for ever.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<f64>,
    },
    /// Requests in service at once, of which there are more the more clients there are: at `n` clients as many as
    /// `most * n / full`, at least `least` and at most `most`; others wait.
    Growing {
        /// As many always.
        least: f64,
        /// As many from `full` clients on.
        most: f64,
        /// Clients from which on there are `most`; none: what decides is not in the configuration, anything from `least` to `most`
        /// is possible.
        full: Option<f64>,
        /// How long one may wait before it is refused, in seconds; none: for ever.
        wait: Option<f64>,
    },
    /// New connections a second, whatever is sent on them; further ones wait to be accepted.
    NewConnections {
        /// Connections a second.
        value: f64,
    },
    /// New connections with a full TLS handshake each, by the processor time that they take: `cores / time` a second; further ones wait.
    Handshakes {
        /// Cores that can work for it at once.
        cores: f64,
        /// The least processor time of one connection with its handshake and its request, as measured, in seconds.
        least: f64,
        /// The most of it.
        most: f64,
    },
    /// Connections that may wait to be accepted at one instant.
    Backlog {
        /// Length of the accept queue, `min(backlog, somaxconn) + 1`, a listener.
        value: f64,
    },
    /// Largest request body, in bytes.
    BodySize {
        /// Bytes; 0: no cap.
        value: f64,
    },
    /// Largest WebSocket message, in bytes.
    MessageSize {
        /// Bytes.
        value: f64,
    },
    /// A connection on which nothing is said for so long is ended.
    Idle {
        /// Seconds.
        after: f64,
    },
    /// Requests a second.
    Rate {
        /// Requests a second.
        value: f64,
        /// How many may come early.
        burst: f64,
        /// How many of those are passed on at once, the others wait until it is their turn (nobody does where it is `burst` or more); none: records of
        /// older versions do not tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_once: Option<f64>,
    },
    /// Processor time: so many cores can work for it at once.
    Cpu {
        /// Cores that its workers can use.
        cores: f64,
    },
    /// Every request takes this long, however few there are: no setting of anything before it makes it faster.
    Delay {
        /// The time, as a distribution.
        time: Spread,
    },
    /// No formula is known: what another value does is seen when it is tried.
    Tried {
        /// The number that it has now; 0 for a word.
        value: f64,
        /// The word to be tried instead of the present one; none: a larger number is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        word: Option<String>,
    },
    /// Nothing in the configuration says at which load it bites (an upstream that refuses, a timeout): no prediction,
    /// only evidence.
    Unknown,
}

impl Law {
    /// Whether trials alone tell what a change of it does.
    pub fn is_tried(&self) -> bool {
        matches!(self, Law::Tried { .. })
    }
}

/// What shows that a limit bites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Signature {
    /// What is looked for.
    pub sign: Sign,
    /// How much it says.
    pub strength: Strength,
}

/// A fact to look for in the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// A log line recognised as this signature.
    Log(String),
    /// A log line recognised as this signature, which the server writes only the first time: while the load is no lower than it was then, what it
    /// says is so still.
    LoggedOnce(String),
    /// A log line recognised as a signature that is made of `before`, a whole number and `after`, where the number is none of `known`.
    LogOther {
        /// What stands before the number.
        before: String,
        /// Numbers that are told otherwise.
        known: Vec<u64>,
        /// What stands after it.
        after: String,
    },
    /// A log line recognised as this signature, whenever it came, in a trial in which nobody got through: no request had an answer that is
    /// none of an error.
    LoggedUnserved(String),
    /// A log line recognised as this signature, where a cumulative metric had grown (or had not) around then when the first line of another signature
    /// came, or where there is none, the first of this one.
    LoggedGrown {
        /// The signature.
        name: String,
        /// The other one.
        since: String,
        /// The metric.
        metric: String,
        /// Whether it had grown.
        grew: bool,
    },
    /// This cumulative metric grew.
    Grew(String),
    /// This cumulative metric of the whole machine grew, and nobody counted the same for the server alone.
    GrewUncounted {
        /// The machine's.
        metric: String,
        /// The server's own.
        own: String,
    },
    /// This gauge reached this fraction of that gauge.
    ReachedMetric {
        /// The gauge.
        metric: String,
        /// What it is compared with.
        of: String,
        /// Fraction, e.g. 0.98.
        fraction: f64,
    },
    /// WebSockets were closed with this code.
    Closed(u16),
    /// Requests met the end of kept connections, most of which the server closed when nothing had been said on them for so long.
    Silent {
        /// Seconds.
        after: f64,
    },
    /// Responses take about as long as it takes to send them at this pace.
    Paced {
        /// Bytes a second.
        rate: f64,
        /// Bytes that go before it counts.
        after: f64,
    },
    /// Requests met the end of kept connections in the seconds in which this cumulative metric grew.
    GrewAsEnded(String),
    /// Whoever stands behind gave at least half of the failures that clients saw as answers of its own; of several, nine tenths of all such
    /// answers, and where it is counted how many each was asked, for certain more of them than the others.
    Answers {
        /// Its answers.
        own: Answers,
        /// Those of the others beside it.
        others: Vec<Answers>,
    },
    /// A gauge of processor time reached a mark, and full TLS handshakes took most of the time that there is.
    Handshakes {
        /// The gauge.
        metric: String,
        /// Its mark.
        mark: f64,
        /// Processor time of a full handshake alone, as measured, in seconds.
        each: f64,
        /// Cores that can work for it at once.
        cores: f64,
    },
    /// This gauge reached this number.
    Reached {
        /// The gauge.
        metric: String,
        /// The number.
        value: f64,
    },
}

/// Cumulative metrics of what a server answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answers {
    /// Answers with the status of an error.
    pub failed: String,
    /// All answers, or those of a share of the requests (`failed_of_all`); none where nobody counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<String>,
    /// Answers with the status of an error among `all`, where these are those of a share of the requests only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_of_all: Option<String>,
}

/// How much a sign says. Ordered from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// Fits, but others would show it too.
    Consistent,
    /// Hardly anything else shows it.
    Supports,
    /// Nothing else shows it.
    Decisive,
}

/// What clients see when a limit bites.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Symptom {
    /// Kinds of errors it causes.
    pub errors: Vec<ErrorKind>,
    /// Whether it makes responses slow.
    pub slow: bool,
}

/// How a limit is lifted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// The setting to change, as `--set` names it.
    pub setting: String,
    /// How the needed number is written: plain count or bytes.
    pub unit: RemedyUnit,
    /// Values are rounded up to a multiple of this.
    pub step: f64,
    /// The largest value that can work here (descriptors, cores, a kernel cap), with what sets it.
    pub ceiling: Option<Ceiling>,
    /// What else must be true after the change, for the reader.
    pub note: Option<String>,
    /// How many equal parts the law's number has, each of which the setting stands for (a number for each of so many servers).
    #[serde(default = "whole", skip_serializing_if = "is_whole")]
    pub parts: f64,
    /// Processes of the server that one more of the setting brings, a part of one where several share it; 0: none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub processes: f64,
    /// The setting counts what goes on to the servers behind, while clients wait in front of it with connections of their own: what those
    /// hold says nothing of what one more of it takes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub onward: bool,
    /// The setting only lengthens a queue of the kernel in front of the server: who waits there to be accepted takes no descriptor and no
    /// memory of the server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queues: bool,
    /// The word that the setting becomes, with which the limit is gone; none: a number is told by the law.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
}

fn whole() -> f64 {
    1.0
}

#[expect(clippy::float_cmp, reason = "as it was written")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_whole(parts: &f64) -> bool {
    *parts == whole()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_none(processes: &f64) -> bool {
    *processes == 0.0
}

/// What a remedy's value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemedyUnit {
    /// A plain number.
    Count,
    /// Bytes, written in the product's way.
    Bytes,
    /// Whole seconds, as a plain number.
    Seconds,
    /// Whole seconds with their unit, as `30s`: for products to which a plain number is something else.
    Time,
    /// `off` (or the product's word for none): no number lifts it, only removing it does.
    Off,
    /// `0`, or the remedy's own word, which is the product's for none.
    Zero,
    /// Requests a second with the burst allowed, as `600r/s burst=120`: the burst grows with the rate, so that it covers
    /// the same time.
    Rate,
}

/// A cap on a remedy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Largest useful value.
    pub value: f64,
    /// What sets it, e.g. `RLIMIT_NOFILE 20000`.
    pub by: String,
}
