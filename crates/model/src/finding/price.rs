//! What a change takes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a change takes where all that it allows is used, as told from the trial in which its limit was met.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// That trial.
    pub trial: u32,
    /// Clients that were served at the look with most of them: those connected, at most as many as the value in force lets in.
    pub clients: f64,
    /// Clients that are served where all of the proposed value is used.
    pub full: f64,
    /// Memory, from then to there.
    pub memory: MemoryPrice,
    /// Descriptors of all processes, from then to there.
    pub descriptors: DescriptorPrice,
    /// Requests that whatever stands behind the server is asked at once by then, at most: one for each client, and no
    /// more than the setting lets be in flight, where it counts those alone. None where nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<f64>,
    /// What was measured with the change in place, in the trial that tested it; none where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested: Option<TestedPrice>,
}

/// Memory of all processes of a server, bytes: PSS, that is a page which several share counts for each in part; pages of files, which can be
/// given up, do not count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPrice {
    /// Taken then.
    pub taken: f64,
    /// What of `taken` the kernel took for the processes (page tables, threads, mappings, descriptors), reckoned; where it was, the figures
    /// below have it too. None in records from before it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<f64>,
    /// What one client more takes: the difference between two levels of the load, by that of the clients.
    pub client: f64,
    /// What one process more takes before it serves: what one had written by the first look and no other shared. None where the change brings none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<f64>,
    /// What all of the proposed value takes beyond `taken`.
    pub more: f64,
    /// What could still be had then: of the machine (`MemAvailable`), or of the tightest control group, whichever is less.
    pub left: f64,
    /// The limit of that group; none where the machine had less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<f64>,
}

/// Descriptors that all processes of a server hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DescriptorPrice {
    /// Held then.
    pub held: f64,
    /// What all of the proposed value takes beyond them.
    pub more: f64,
}

/// What a change takes of descriptors where memory did not grow with the clients, so that nothing is known of that.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DescriptorsAlone {
    /// The trial in which its limit was met.
    pub trial: u32,
    /// Clients that were served at the look with most of them.
    pub clients: f64,
    /// Clients that are served where all of the proposed value is used.
    pub full: f64,
    /// Descriptors that all processes held then.
    pub held: f64,
    /// What all of the proposed value takes beyond them.
    pub more: f64,
}

/// A price held against what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestedPrice {
    /// The trial.
    pub trial: u32,
    /// Clients that were served in it at most.
    pub clients: f64,
    /// Memory that its processes took then, bytes, counted as [`MemoryPrice::taken`] is.
    pub taken: f64,
    /// What was predicted for so many clients, bytes.
    pub predicted: f64,
    /// Whether what was measured is farther from that than a price may be wrong by.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refuted: bool,
}

/// What a server took without a change and with it, as it was seen, each with as many clients as came.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredPrice {
    /// Where the setting's first value failed.
    pub before: Taken,
    /// Where the proposed one was tested.
    pub after: Taken,
    /// Memory that could still be had then, bytes: of the machine, or of the tightest control group, whichever is less.
    pub left: f64,
    /// Where memory grew with the requests served, so that the difference says nothing of the change; none where that was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grew: Option<GrewServing>,
}

/// That a server's memory grew with the requests that it served, while its clients stayed as many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrewServing {
    /// The trial that shows it.
    pub trial: u32,
}

/// What all processes of a server took when it had most clients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    /// The trial.
    pub trial: u32,
    /// Connections of clients at that moment.
    pub clients: f64,
    /// Memory, bytes (PSS without pages of files).
    pub memory: f64,
    /// Open descriptors.
    pub descriptors: f64,
}

/// Connections that the processes of a server held to others, as its sockets were counted without a change and with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OnwardPrice {
    /// Whose processes.
    pub subject: String,
    /// Where the setting's first value failed.
    pub before: Onward,
    /// Where the proposed one was tested.
    pub after: Onward,
    /// Of each server that is known to stand behind it, the limit by which fewest are served at once; empty where none is known.
    pub known: Vec<OnwardLimit>,
}

/// The most such connections that a look counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Onward {
    /// The trial.
    pub trial: u32,
    /// Looks in it.
    pub looks: u32,
    /// Connections of clients at that look.
    pub clients: f64,
    /// Connections to others.
    pub connections: f64,
}

/// How many a server behind serves at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OnwardLimit {
    /// Whose limit.
    pub subject: String,
    /// Its setting.
    pub setting: String,
    /// The value as written.
    pub value: String,
    /// How many at once, by its law.
    pub at_once: f64,
}
