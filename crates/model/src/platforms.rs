//! What the same experiment showed on several platforms, side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Outcome, Verdict};

/// Version of the finding's format.
pub const SCHEMA: &str = "genkai.platforms/1";

/// What the same experiment showed on several platforms: one run of each, and no comparison of the platforms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlatformsFinding {
    /// [`SCHEMA`].
    pub schema: String,
    /// The experiment.
    pub title: String,
    /// Each platform, in the order in which they ran.
    pub platforms: Vec<PlatformFinding>,
    /// Whether it was cut off: a platform may be missing then, or its run have no end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// What a platform showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlatformFinding {
    /// Its name: that of its folder.
    pub name: String,
    /// What its run was called.
    pub title: String,
    /// When that began, as its record has it.
    pub started: String,
    /// The answer in a sentence.
    pub answer: String,
    /// The verdict of its run.
    pub verdict: Verdict,
}

impl PlatformsFinding {
    /// What it comes to: what was cut off or measured something else than the server has no answer; it holds where it holds on every platform.
    pub fn outcome(&self) -> Outcome {
        let any = |wanted: Outcome| self.platforms.iter().any(|one| one.verdict.outcome() == wanted);
        match () {
            () if self.interrupted || self.platforms.len() < 2 || any(Outcome::Unfinished) => Outcome::Unfinished,
            () if any(Outcome::Invalid) => Outcome::Invalid,
            () if any(Outcome::Fails) => Outcome::Fails,
            () => Outcome::Holds,
        }
    }
}
