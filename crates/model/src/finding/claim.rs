//! What came of advice that was put to the test: statements about a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Effect;
use crate::claim::{Claim, Promise};

/// A claim and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimFinding {
    /// The claim.
    pub claim: Claim,
    /// What is to be said of it.
    pub verdict: ClaimVerdict,
    /// Each promise and what was measured, of all changes together.
    pub kept: Vec<KeptPromise>,
    /// What the server itself says of it: its own check's refusal, or warnings.
    pub said: Vec<String>,
    /// Server and version.
    pub server: String,
    /// Blocks in which every contender had its turn.
    pub blocks: u32,
}

/// A promise and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeptPromise {
    /// The promise.
    pub promise: Promise,
    /// What was measured; none where nothing could be.
    pub effect: Option<Effect>,
    /// Whether it was kept; none: cannot tell, as of throughput where nobody was stressed.
    pub kept: Option<bool>,
}

/// What is to be said of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// Every promise was kept.
    Confirmed,
    /// Some promises were kept, others not.
    Partly,
    /// No promise was kept, and at least one was broken for certain.
    Refuted,
    /// The server's own check refuses it: there is no such setting.
    DoesNotExist,
    /// The server's own check knows the setting, and refuses it as it is written.
    Refused,
    /// The server's own check accepts it with a warning: it takes another value.
    Clamped,
    /// The server's own check accepts it with another warning.
    Warned,
    /// The server's own check accepts it.
    Exists,
    /// What was measured does not decide it.
    CannotTell,
}

impl ClaimVerdict {
    /// Every verdict, in the order they are counted.
    pub const ALL: [ClaimVerdict; 9] = [
        ClaimVerdict::Confirmed,
        ClaimVerdict::Partly,
        ClaimVerdict::Refuted,
        ClaimVerdict::DoesNotExist,
        ClaimVerdict::Refused,
        ClaimVerdict::Clamped,
        ClaimVerdict::Warned,
        ClaimVerdict::Exists,
        ClaimVerdict::CannotTell,
    ];
}
