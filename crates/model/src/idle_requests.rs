//! Requests that are held open: how many at once servers bear.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Span;

/// A search: each trial holds so many requests open at once, until it is known from how many on some are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleSearch {
    /// How long each request is held.
    pub time: Span,
    /// Requests of the first trial.
    pub first: u32,
    /// Requests at most.
    pub most: u32,
}
