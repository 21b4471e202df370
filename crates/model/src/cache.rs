//! Caches compared: which of them take part, what is asked of each, and what was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::{Content, Mix, WrongBody};
use crate::limit::Limit;
use crate::setting::Setting;
use crate::units::{Bytes, Span};

/// A comparison of caches. Each is started empty, asked, asked the same again, and ended, one after the other, in an order
/// drawn for each round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Caching {
    /// Who takes part.
    pub contenders: Vec<Contender>,
    /// What the origin has.
    pub content: Content,
    /// In which order it is asked for.
    pub mix: Mix,
    /// Requests of a pass.
    pub requests: u32,
    /// Clients of a pass, each asking again as soon as it was answered; connections at most, where a rate is given.
    pub clients: u32,
    /// Requests a second instead, whatever the answers do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Rounds.
    pub rounds: u32,
    /// Memory that each may use for objects.
    pub memory: Bytes,
    /// Disk that each may use for objects.
    pub disk: Bytes,
    /// How the highest rate is looked for that each holds; none: it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<RateSearch>,
    /// Whether the origin is measured on file systems mounted with and without access times.
    #[serde(default)]
    pub access_times: bool,
    /// Seed of the orders.
    pub seed: u64,
}

/// Who takes part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CompetingCache")]
pub struct Contender {
    /// What reports call it, unlike any other's.
    pub name: String,
    /// What it is, e.g. `squid-rock`.
    pub server: String,
}

/// The search for the highest rate at which the objective holds: in every round, of each contender cold and warm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateSearch {
    /// Loads of a search; one that has not found both a rate that holds and one that does not may go on to twice as many.
    pub steps: u32,
    /// How long each load lasts; a cold one ends when every object was asked for.
    pub hold: Span,
    /// A search ends when what holds and what does not are no further apart than this factor.
    #[serde(default = "RateSearch::usual_precision")]
    pub precision: f64,
}

impl RateSearch {
    /// [`RateSearch::precision`] of records that do not say it.
    fn usual_precision() -> f64 {
        1.04
    }
}

/// Whether a cache has what it will be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Warmth {
    /// It was started empty.
    Cold,
    /// It was asked for the same before.
    Warm,
}

/// What a load is for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "aim")]
pub enum Aim {
    /// A pass of a round.
    Pass {
        /// The round, from 1.
        round: u32,
    },
    /// A step of the search for the highest rate.
    Search {
        /// The round, from 1; records of one search have none.
        #[serde(default = "first_round")]
        round: u32,
        /// Requests a second that were offered.
        rate: f64,
    },
    /// The origin alone, on a file system mounted so.
    Mount {
        /// The round, from 1.
        round: u32,
        /// The mount option.
        option: AccessTime,
    },
}

/// The round of a search in records that knew one only.
fn first_round() -> u32 {
    1
}

/// When a file system writes down that a file was read (mount(8)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccessTime {
    /// At every read.
    Strictatime,
    /// When the last time is older than the last change, or than a day. The default since Linux 2.6.30.
    Relatime,
    /// Never.
    Noatime,
}

impl AccessTime {
    /// All of them.
    pub const ALL: [AccessTime; 3] = [AccessTime::Strictatime, AccessTime::Relatime, AccessTime::Noatime];

    /// As mount(8) has it.
    pub fn option(self) -> &'static str {
        match self {
            AccessTime::Strictatime => "strictatime",
            AccessTime::Relatime => "relatime",
            AccessTime::Noatime => "noatime",
        }
    }
}

/// A contender as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheEntry {
    /// [`Contender::name`].
    pub contender: String,
    /// Its version, e.g. `5.7`.
    pub version: String,
    /// Where it keeps objects, in words.
    pub store: String,
    /// Every setting that is not its default, in its own words.
    pub settings: Vec<Setting>,
    /// What caps it, as it is set.
    pub limits: Vec<Limit>,
    /// How long it took from its start until it listened.
    pub started: Span,
}

/// What one load on one contender came to, beside what clients saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CachePass {
    /// [`Contender::name`].
    pub contender: String,
    /// What it was for.
    #[serde(flatten)]
    pub aim: Aim,
    /// Whether the cache had been asked for the same before.
    pub warmth: Warmth,
    /// By the contender's own counters; none: it has none (the origin alone).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnCounts>,
    /// Requests that the origin answered, by its access log.
    pub origin: u64,
    /// What each side used.
    pub spent: Vec<Spent>,
    /// Bytes of the contender's files in the page cache at the end; none: it has no files, or the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_resident: Option<u64>,
    /// Bytes of the contender's files on disk at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_bytes: Option<u64>,
    /// Bytes of the origin's files in the page cache before the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_before: Option<u64>,
    /// The same at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_after: Option<u64>,
    /// What the disk under the run's folder did meanwhile, whoever asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceUse>,
    /// The first body that was not the one asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<WrongBody>,
}

/// What a cache counted itself during a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnCounts {
    /// Answered without asking the origin for the object.
    pub hits: u64,
    /// All other requests of clients.
    pub misses: u64,
}

impl OwnCounts {
    /// What was counted since `before`.
    pub fn since(self, before: OwnCounts) -> OwnCounts {
        OwnCounts { hits: self.hits.saturating_sub(before.hits), misses: self.misses.saturating_sub(before.misses) }
    }
}

/// Who used something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The contender, with all its processes.
    Cache,
    /// The origin behind it. The origin alone is a contender.
    Origin,
}

/// What the processes of one side used during a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    /// Who.
    pub side: Side,
    /// Processor time, microseconds.
    pub cpu_us: u64,
    /// Resident memory at the end, bytes; pages that processes share count for each.
    pub rss: u64,
    /// The same with shared pages divided among those who share them; none where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pss: Option<u64>,
    /// Bytes that had to be read from a disk (`read_bytes` of proc(5)); none where that may not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// Bytes that were sent towards a disk (`write_bytes`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
}

/// What a block device did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceUse {
    /// Its name, e.g. `vda`.
    pub name: String,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Time in which it had something to do, microseconds.
    pub busy_us: u64,
}

/// A rule of HTTP that a cache has to keep, put to the test with a few requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// If-None-Match with the entity tag that it gave is answered by 304 (RFC 9110 section 13.1.2).
    Validator,
    /// A response with `Vary` does not answer a request with another value of the field (RFC 9111 section 4.1).
    Vary,
    /// A response with `Cache-Control: no-store` is not given twice (RFC 9111 section 5.2.2.5).
    NoStore,
    /// A response with `Cache-Control: private` is not given by a shared cache (RFC 9111 section 5.2.2.7).
    Private,
    /// A response is not given any more, unvalidated, after its `max-age` (RFC 9111 section 4.2).
    Freshness,
    /// A range asked for is that range, or the whole (RFC 9110 section 14.2).
    Range,
}

impl Rule {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Rule; 6] =
        [Rule::Validator, Rule::Vary, Rule::NoStore, Rule::Private, Rule::Freshness, Rule::Range];
}

/// How a contender kept a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conformance {
    /// [`Contender::name`].
    pub contender: String,
    /// The rule.
    pub rule: Rule,
    /// How it did.
    pub verdict: Kept,
    /// What was seen, in a few words: `200, then 200 with the first one's body`.
    pub seen: String,
}

/// Whether a rule was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// Yes.
    Kept,
    /// Yes, by not using what it could have used: the origin was asked again, the whole was sent.
    Passed,
    /// No.
    Broken,
    /// There was no answer to judge by.
    Unknown,
}
