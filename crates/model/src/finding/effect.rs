//! What two contenders differ in: the same words for every comparison.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Estimate, OneSided};
use crate::figure::Figure;

/// Two contenders, ranked by one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankedPair {
    /// The faster one, as far as the figures go.
    pub faster: String,
    /// The other.
    pub slower: String,
    /// How many times as long the slower one takes, or how many times as many responses the faster one gives: the geometric mean over
    /// observations of the same round, with an interval that holds for all pairs together.
    pub ratio: Estimate,
    /// Whether the interval excludes 1, and what was measured is the contenders: the client was not the limit, and where a load was offered
    /// one of them at least was stressed by it.
    pub certain: bool,
    /// How many more rounds would make it certain, if ratio and spread stay as they are; none: it is, no number up to 1,000 would, or
    /// nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<u32>,
    /// The most by which clocks of other machines may have moved the two figures against each other, seconds; none where one clock took them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_uncertainty: Option<f64>,
}

/// What the other does to a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// Which.
    pub figure: Figure,
    /// Other by base (of failures: other minus base), over blocks, with an interval that holds for all figures, pairs and looks
    /// together; none for fewer than two blocks in which both have it, and where only a bound of it is known.
    pub effect: Option<Estimate>,
    /// What is known of it where one of both had requests without an answer which decide the figure: the end of such an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<OneSided>,
    /// What that means.
    #[serde(flatten)]
    pub call: Call,
}

/// What an effect means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "call")]
pub enum Call {
    /// The other is better: its interval excludes no effect, and reaches beyond the margin.
    Better,
    /// The other is worse.
    Worse,
    /// No measurable difference: the whole interval is within the margin.
    Same,
    /// The interval holds both no effect and effects that would matter.
    CannotTell {
        /// About so many more blocks (of a proof: pairs) would decide it, if what was seen goes on; none: more than 1,000, or requests
        /// without an answer leave it open.
        more: Option<u32>,
    },
    /// One of them does not have the figure: nothing came back, or it cannot be seen.
    Missing,
    /// Nothing is said of it, however many blocks there are; a caveat says why.
    NotJudged,
}
