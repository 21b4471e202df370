//! A value that cannot be used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server does not start with a value that was to be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotStarted {
    /// The setting.
    pub setting: String,
    /// The value.
    pub value: String,
    /// What it printed last, or how it ended, secrets replaced, on one line.
    pub said: String,
    /// It was to be tried in the proof, with which it had started before; false: in the search.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_proof: bool,
}
