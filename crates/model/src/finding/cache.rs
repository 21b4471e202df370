//! What a comparison of caches showed: statements about a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Estimate, Outcome, ProcessFinding, Quantiles, RankedPair, TrialFinding};
use crate::cache::{AccessTime, CachePass, Conformance, OwnCounts, Warmth};
use crate::content::WrongBody;
use crate::error::ErrorCount;
use crate::event::Pinning;
use crate::limit::Limit;
use crate::setting::Setting;
use crate::units::Bytes;

/// A comparison and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheFinding {
    /// Objects at the origin.
    pub objects: u32,
    /// Requests of a pass.
    pub requests: u32,
    /// Clients of a pass.
    pub clients: u32,
    /// Requests a second that a pass offered; none: as many as its clients could make.
    pub offered: Option<f64>,
    /// What must hold at the highest rate.
    pub objective: String,
    /// Memory that each might use for objects.
    pub memory: Bytes,
    /// Disk that each might use.
    pub disk: Bytes,
    /// Cores of servers and client; none: they shared all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinning: Option<Pinning>,
    /// Who took part.
    #[serde(rename = "participants")]
    pub contenders: Vec<CacheContender>,
    /// The cold pass and the warm one.
    pub passes: Vec<PassFinding>,
    /// Highest rates, where they were looked for: cold, then warm.
    #[serde(rename = "held")]
    pub best_rates: Vec<RateFinding>,
    /// The origin on file systems with and without access times.
    pub mounts: Vec<Mount>,
    /// What went wrong.
    pub troubles: Vec<Trouble>,
    /// The processes that made its loads, where several machines did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessFinding>,
    /// What limits the answer.
    pub caveats: Vec<CacheCaveat>,
    /// Holds: every contender answered every pass, correctly. Fails: one did not (a rule of HTTP that was broken is told, and is no
    /// failure of a pass). Unfinished: a contender has too few rounds.
    pub outcome: Outcome,
}

/// A contender as it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheContender {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Where it keeps objects.
    pub store: String,
    /// Every setting that is not its default.
    pub settings: Vec<Setting>,
    /// What caps it.
    pub limits: Vec<Limit>,
    /// Seconds from its start until it listened, the mean.
    pub started: f64,
    /// How it kept rules of HTTP.
    pub conformance: Vec<Conformance>,
}

/// One pass, all contenders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PassFinding {
    /// Cold or warm.
    pub warmth: Warmth,
    /// Contenders, the fastest first.
    pub standings: Vec<CacheStanding>,
    /// Each two of them.
    pub pairs: Vec<RankedPair>,
    /// Whether any contender was busy enough for its rate to say something of it. If none was, what was offered was the limit
    /// and no contender is ranked before another.
    pub stressed: bool,
}

/// How a contender did in a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheStanding {
    /// Its name.
    pub name: String,
    /// Successful responses a second, the geometric mean over rounds; none with fewer than two.
    pub rate: Option<Estimate>,
    /// Best rank it may have.
    pub best: u32,
    /// Worst rank it may have.
    pub worst: u32,
    /// Each round.
    pub rounds: Vec<CacheRound>,
    /// Latency in all rounds, seconds.
    #[serde(default, skip_serializing_if = "Quantiles::is_empty")]
    pub latency: Quantiles,
    /// Requests of all rounds.
    pub requests: u64,
    /// Of those, answered well within a second: the hits of the original experiment.
    pub within_second: u64,
    /// Requests that failed, by kind.
    pub errors: Vec<ErrorCount>,
    /// By its own counters, all rounds together; none: it has none.
    pub own: Option<OwnCounts>,
    /// Requests that reached the origin, all rounds together.
    pub origin: u64,
    /// Connections opened.
    pub connects: u64,
    /// Bytes received by clients.
    pub bytes_in: u64,
    /// Bytes sent by clients.
    pub bytes_out: u64,
    /// Processor time of contender and origin, in parts of the cores that servers have, the mean over rounds.
    pub busy: f64,
    /// Part of its core that the client's busiest thread used, the mean over rounds.
    pub client: f64,
    /// Rounds in which the client was at its limit: the contender may be faster than its rate.
    pub client_limited: u32,
    /// When its rate and its latency had settled.
    pub settling: Settling,
    /// Bytes a second between it and its clients.
    pub flow: Flow,
    /// What a request costs.
    pub cost: Cost,
}

/// Bytes a second over connections of clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Received by clients.
    pub received: f64,
    /// Sent by clients.
    pub sent: f64,
}

/// One load of a comparison, for a table of all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheLoad {
    /// Whose it was, and what was used.
    pub pass: CachePass,
    /// What clients saw.
    pub trial: TrialFinding,
    /// Connections opened.
    pub connects: u64,
    /// Bytes received by clients.
    pub bytes_in: u64,
    /// Bytes sent by clients.
    pub bytes_out: u64,
    /// Requests answered well within a second.
    pub within_second: u64,
    /// Seconds until it had settled; none: it never did, or was too short to tell.
    pub settled_after: Option<f64>,
}

/// When passes of a contender had settled: found in their figures (MSER-5), not assumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settling {
    /// Passes that settled in their first half.
    pub settled: u32,
    /// Passes that did not.
    pub never: u32,
    /// Passes too short to tell.
    pub short: u32,
    /// Seconds until then, the median over passes that settled.
    pub after: Option<f64>,
    /// Successful responses a second from then on, over passes that settled; none with fewer than two.
    pub rate: Option<Estimate>,
}

/// One round of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheRound {
    /// The round.
    pub round: u32,
    /// The trial in the record.
    pub trial: u32,
    /// Successful responses a second.
    pub rate: f64,
}

/// What a contender takes, means over rounds. Times and bytes of a disk are per request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Processor time of the contender, seconds per request.
    pub cpu: f64,
    /// Processor time of the origin behind it, seconds per request.
    pub origin_cpu: f64,
    /// Bytes it had read from a disk, per request.
    pub read: Option<f64>,
    /// Bytes it wrote towards a disk, per request.
    pub written: Option<f64>,
    /// Memory of its processes, shared pages divided (else resident), bytes.
    pub memory: f64,
    /// Bytes of its files in the page cache.
    pub page_cache: Option<f64>,
    /// Bytes of its files.
    pub store: Option<f64>,
    /// Bytes that the disk read meanwhile, whoever asked.
    pub device_read: Option<f64>,
    /// Bytes that the disk wrote meanwhile.
    pub device_written: Option<f64>,
}

/// The highest rates that all contenders hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateFinding {
    /// Cold or warm.
    pub warmth: Warmth,
    /// Contenders, the fastest first; those whose rate is not known last.
    pub standings: Vec<BestRate>,
    /// Each two of which both are known. Their intervals hold for all pairs together.
    pub pairs: Vec<RankedPair>,
    /// Loads of all searches.
    pub loads: u32,
    /// Of these, loads whose rate or latency never settled: they are judged whole.
    pub unsettled: u32,
}

/// The highest rate that a contender holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BestRate {
    /// The contender.
    pub name: String,
    /// Requests a second, the geometric mean over rounds of the middle between what held and what did not. The interval has the spread
    /// over rounds and the width between the two in it. None with fewer than two rounds that found both.
    pub rate: Option<Estimate>,
    /// Best rank it may have.
    pub best: u32,
    /// Worst rank it may have.
    pub worst: u32,
    /// The search of each round.
    pub repeats: Vec<RateRepeat>,
}

/// One search for the highest rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateRepeat {
    /// The round.
    pub round: u32,
    /// The highest rate offered at which the objective held, requests a second; none: it held at none.
    pub holds: Option<f64>,
    /// The lowest rate above it at which it did not; none: it held at every rate that was tried.
    pub fails: Option<f64>,
    /// Loads tried.
    pub loads: u32,
    /// Whether the client could not offer more.
    pub client_limited: bool,
}

/// The origin on one mount option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mount {
    /// The option.
    pub option: AccessTime,
    /// Responses a second.
    pub rate: Option<Estimate>,
    /// How many times those with `relatime` that is, round by round; none for `relatime` itself.
    pub ratio: Option<Estimate>,
    /// Bytes the device wrote, the mean over rounds.
    pub written: Option<f64>,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "trouble")]
pub enum Trouble {
    /// Bodies that were not the ones asked for.
    WrongBodies {
        /// The contender.
        name: String,
        /// How many.
        count: u64,
        /// The first of a load, with the trial.
        first: Option<WrongBody>,
        /// The first trial in which there were some.
        trial: u32,
    },
    /// Requests that failed in passes.
    Failed {
        /// The contender.
        name: String,
        /// How they failed.
        errors: Vec<ErrorCount>,
    },
    /// What a cache says it had to ask for is not what the origin was asked for.
    Disagree {
        /// The contender.
        name: String,
        /// The trial.
        trial: u32,
        /// Cold or warm.
        warmth: Warmth,
        /// Misses by its own counters.
        misses: u64,
        /// Requests at the origin.
        origin: u64,
    },
    /// A rule of HTTP was broken.
    Rule(Conformance),
}

/// What limits the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "caveat")]
pub enum CacheCaveat {
    /// Nobody was stressed in a pass: differences mean nothing.
    OfferedLoad {
        /// The pass.
        warmth: Warmth,
        /// The largest part of the servers' cores that any contender used.
        busiest: f64,
    },
    /// There is one core, or two: the origin takes its time from the cache.
    SharedCores {
        /// Cores that servers have.
        cores: u32,
    },
    /// The client was the limit in passes of a contender.
    Client {
        /// The contender.
        name: String,
        /// The pass.
        warmth: Warmth,
        /// In how many rounds.
        rounds: u32,
        /// Of so many.
        of: u32,
        /// Part of its core that the client's busiest thread used, the mean over rounds.
        used: f64,
    },
    /// In most rounds a pass of a contender never settled: it was under way to another rate or latency when it ended.
    NotSettled {
        /// The contender.
        name: String,
        /// The pass.
        warmth: Warmth,
        /// In how many rounds.
        rounds: u32,
        /// Of so many that were long enough to tell.
        of: u32,
    },
    /// Many loads of the searches for the highest rate never settled.
    RatesNotSettled {
        /// The pass.
        warmth: Warmth,
        /// How many.
        loads: u32,
        /// Of so many.
        of: u32,
    },
    /// The origin's files stayed in the page cache although they were to be dropped.
    PageCache {
        /// Bytes still there before cold passes, the largest.
        bytes: u64,
    },
    /// Passes were shorter than what can be measured well.
    Short {
        /// The shortest, seconds.
        seconds: f64,
    },
    /// A contender has fewer than two rounds: there are no intervals.
    OneRound,
}
