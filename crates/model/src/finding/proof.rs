//! Baseline against proposal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Call, DescriptorsAlone, Estimate, MeasuredPrice, OnwardPrice, Price};
use crate::event::Change;
use crate::units::Range;

/// A change with the reasons for its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedChange {
    /// From what to what.
    pub change: Change,
    /// The limit it lifts.
    pub limit: String,
    /// The smallest value that holds for the load asked for, by the formula.
    pub minimum: String,
    /// Clients the proposed value holds for (soft onset to hard limit).
    pub holds_for: Option<Range>,
    /// What it takes; none where that was not measured, or no number of clients follows from the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// What the server took before and with it, where `price` is none; none where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredPrice>,
    /// What it takes of descriptors, where memory did not grow and `price` is none for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptors: Option<DescriptorsAlone>,
    /// Connections that it held to what stands behind it, before and with it; none where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onward: Option<OnwardPrice>,
}

/// Baseline against proposal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Trials in the order they ran: `A` baseline, `B` proposal.
    pub order: String,
    /// Pairs.
    pub pairs: u32,
    /// Fraction of requests that failed, baseline.
    pub failed_before: Estimate,
    /// Fraction of requests that failed, proposal.
    pub failed_after: Estimate,
    /// Difference (after - before), paired.
    pub failed_difference: Estimate,
    /// Successful requests a second, before, after, and the paired difference.
    pub rate: [Estimate; 3],
    /// p99 latency in seconds, before, after, and the paired difference.
    pub p99: [Estimate; 3],
    /// Whether that of the baseline, and of the proposal, is only a bound: requests still waited when a trial ended, and of them it is known only
    /// that they took longer than the objective allows.
    #[serde(default)]
    pub p99_at_least: [bool; 2],
    /// Failures in all baseline trials, and in all proposal trials.
    pub failures: [u64; 2],
    /// Of these, requests that had not failed, but had no answer after the load's patience when a trial ended; before and after.
    #[serde(default)]
    pub unanswered: [u64; 2],
    /// Finished requests in all baseline trials, and in all proposal trials.
    pub finished: [u64; 2],
    /// Did the objective hold in every proposal trial?
    pub proposal_holds: bool,
    /// Did it fail in every baseline trial?
    pub baseline_fails: bool,
    /// The figure that the objective judges by the condition violated, before, after, and the paired difference.
    #[serde(default)]
    pub judged: Option<TrialVerdict>,
    /// Is the proposal better, and is that no chance? As [`Decided::call`] says.
    pub certain: bool,
    /// What the pairs decide.
    pub decided: Decided,
}

/// What the pairs of a proof decide about the figure of the violated condition, judged as a comparison's blocks are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decided {
    /// One of the words that a comparison has.
    #[serde(flatten)]
    pub call: Call,
    /// What decides it.
    pub by: Rule,
    /// Proposal by baseline, over pairs (of fractions: minus), with an interval that holds for all looks together; none where one of them
    /// has no such figure.
    pub effect: Option<Estimate>,
    /// What that interval leaves outside.
    pub each: f64,
    /// Numbers of pairs after which it is judged whether that is enough, ascending.
    pub looks: Vec<u32>,
    /// Chance, at most, that a change that does nothing is called better or worse: all looks and both rules together.
    pub alpha: f64,
    /// Chance, at most, of what was seen if the change does nothing, where every baseline failed and every proposal held.
    pub chance: Option<f64>,
}

/// What decides a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Every baseline trial failed the objective and every proposal trial held it, in so many pairs that this is no chance.
    Separation,
    /// The interval of the effect.
    Interval,
}

/// A condition's own figure in a proof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialVerdict {
    /// The condition, as the objective words it.
    pub condition: String,
    /// Before, after, and the paired difference: fraction of requests that failed, seconds, or successful requests a second.
    pub figures: [Estimate; 3],
    /// Whether that of the baseline, and of the proposal, is only a bound, as [`Proof::p99_at_least`] says.
    #[serde(default)]
    pub at_least: [bool; 2],
}
