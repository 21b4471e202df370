//! Requests that are held open: how many at once servers bear.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ErrorCount;
use crate::finding::{ClientCheck, Evidence, Outcome};
use crate::limit::Limit;
use crate::rooms::Refused;
use crate::units::Span;

/// A search: each trial holds so many requests open at once, until it is known from how many on some are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// How long each request is held.
    pub time: Span,
    /// Requests of the first trial.
    pub first: u32,
    /// Requests at most.
    pub most: u32,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldFinding {
    /// Nodes.
    pub nodes: u32,
    /// How long each request was held.
    pub time: Span,
    /// Each trial, in order.
    pub trials: Vec<HeldTrial>,
    /// The largest number of requests at once of which none was refused; none when even the smallest was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<u32>,
    /// The smallest number of which some were refused; none when all that were tried were borne.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_from: Option<u32>,
    /// What refuses, as far as evidence names it; the best founded first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<HeldLimit>,
    /// Holds: none was refused up to the most asked for. Fails: some were. Invalid: the client limited the trial that decides.
    pub outcome: Outcome,
}

/// One number of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldTrial {
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

impl HeldTrial {
    /// Whether every request was held and answered.
    pub fn is_borne(&self) -> bool {
        self.refused.is_empty() && self.answered >= u64::from(self.requests)
    }
}

/// A limit that left signs where requests were refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldLimit {
    /// The limit.
    pub limit: Limit,
    /// Its signs.
    pub evidence: Vec<Evidence>,
}
