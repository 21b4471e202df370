//! Where limits should bite, before anything was seen of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Range;

/// Processor time in use at a rate that was served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorUse {
    /// Cores, the mean.
    pub cores: f64,
    /// Requests finished a second.
    pub rate: f64,
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
    /// The formula with numbers: of what is configured, and of nothing that was measured.
    pub formula: String,
    /// What was measured that the prediction rests on; none where the configuration alone tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_from: Option<ProcessorUse>,
    /// Where it actually broke, if it did.
    pub observed: Option<f64>,
    /// Whether it should bite within the load asked for.
    pub within_load: bool,
    /// Whether it does not matter for this load: nothing was seen of it, and it should bite far beyond the load asked for, or
    /// not at all, or nothing says where.
    #[serde(default)]
    pub far: bool,
}
