//! Why a trial is made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a trial is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Find the load at which the system as it is breaks.
    Break,
    /// Lift one limit and see whether the break moves.
    Counterfactual,
    /// The same once more, and without that change: where no formula says what comes of it, one trial each may be chance.
    Repeat,
    /// The same load straight at the backend, past the product: is it the backend by itself?
    Direct,
    /// Proof: the system as it was.
    Baseline,
    /// Proof: the system as proposed.
    Proposal,
    /// Just make load and measure.
    Measure,
    /// Some directives are left out: does it still fail?
    Bisect,
    /// A value between one that fails and the proposed one: does it hold at the load asked for?
    Smaller,
}
