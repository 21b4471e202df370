//! What a setting counts, where that is not users.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a setting counts, as two values of it tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// Requests answered in all: when they are used up, every request fails.
    Requests,
    /// Seconds: when they are over, every request fails.
    Seconds,
    /// Requests or seconds, and which is not known: every request fails from some moment on, which was another with another value, at no larger load.
    Either,
    /// Requests answered a second.
    Rate,
    /// Requests that may come beyond a rate, which it leaves as it is.
    Burst,
}

/// A trial in which requests failed, from some interval on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountedTrial {
    /// The trial.
    pub trial: u32,
    /// The value of the setting.
    pub value: f64,
    /// Requests answered well up to the end of the first interval in which some failed.
    pub answered: u64,
    /// Seconds from the begin of the load to then.
    pub lasted: f64,
    /// Requests answered well a second after that.
    pub rate: f64,
}
