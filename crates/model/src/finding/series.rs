//! Trials over time, for figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verdict;

/// Everything that reports show of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// The answer.
    pub verdict: Verdict,
    /// One a trial, in order.
    pub series: Vec<Series>,
}

/// A trial over time, for figures: one point an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Trial number.
    pub trial: u32,
    /// Points in order.
    pub points: Vec<Point>,
}

/// One interval of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Middle of the interval, seconds since the load began.
    pub at: f64,
    /// Users, or planned requests a second.
    pub level: f64,
    /// Requests waiting for a response.
    pub in_flight: f64,
    /// Successful responses a second.
    pub ok: f64,
    /// Failures a second.
    pub failed: f64,
    /// Latency quantiles of successful responses, seconds; none where there were too few.
    pub p50: Option<f64>,
    /// 90 %.
    pub p90: Option<f64>,
    /// 99 %.
    pub p99: Option<f64>,
}
