//! What a search for the number of requests that are held open at once showed: statements about a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClientCheck, Evidence, Outcome, ProcessFinding};
use crate::error::ErrorCount;
use crate::limit::Limit;
use crate::rooms::Refused;
use crate::units::Span;

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdleFinding {
    /// Nodes.
    pub nodes: u32,
    /// How long each request was held.
    pub time: Span,
    /// The processes that made its loads, where several machines did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessFinding>,
    /// Each trial, in order.
    pub trials: Vec<IdleTrial>,
    /// The largest number of requests at once of which none was refused; none when even the smallest was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<u32>,
    /// The smallest number of which some were refused; none when all that were tried were borne.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_from: Option<u32>,
    /// What refuses, as far as evidence names it; the best founded first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<IdleLimit>,
    /// Holds: none was refused up to the most asked for. Fails: some were. Invalid: the client limited the trial that decides.
    pub outcome: Outcome,
}

/// One number of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdleTrial {
    /// Number of the trial in the record.
    pub trial: u32,
    /// Requests sent, all at once but for a short ramp.
    pub requests: u32,
    /// Held at the same time, at most.
    pub at_once: u64,
    /// Answered as they should be.
    pub answered: u64,
    /// Refused or failed, by kind.
    pub refused: Vec<ErrorCount>,
    /// What the router refused, by why, where there is one that tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Refused>,
    /// The generator's check of itself.
    pub client: ClientCheck,
}

impl IdleTrial {
    /// Whether every request was held and answered.
    pub fn is_borne(&self) -> bool {
        self.refused.is_empty() && self.answered >= u64::from(self.requests)
    }
}

/// A limit that left signs where requests were refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdleLimit {
    /// The limit.
    pub limit: Limit,
    /// Its signs.
    pub evidence: Vec<Evidence>,
}
