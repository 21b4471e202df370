//! A value that cannot be used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Purpose;

/// The server does not start, or does not answer, with a value that was to be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotStarted {
    /// The setting.
    pub setting: String,
    /// The value.
    pub value: String,
    /// What it printed last, or how it ended, or what it answers, secrets replaced, on one line.
    pub said: String,
    /// What it was to be tried for: in the search, as a smaller value, or in the proof, where it had started before.
    #[serde(default = "search", skip_serializing_if = "is_search")]
    pub purpose: Purpose,
    /// Whether it starts, but does not answer as it did before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub listens: bool,
}

fn search() -> Purpose {
    Purpose::Counterfactual
}

fn is_search(purpose: &Purpose) -> bool {
    *purpose == search()
}
