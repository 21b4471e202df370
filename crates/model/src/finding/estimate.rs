//! Figures with what is known of their spread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Range;

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Best estimate.
    pub value: f64,
    /// Interval.
    pub interval: Range,
    /// Observations behind it.
    pub n: u32,
}

/// What is known of a figure of which no value was seen, because requests still had no answer: it is beyond this.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OneSided {
    /// It is larger.
    MoreThan(f64),
    /// It is smaller.
    LessThan(f64),
}

/// A distribution in a few figures, seconds. One of nothing is not written: no figure of it is one. (In memory all of it is zero.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// Values counted.
    pub count: u64,
    /// Smallest.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 90 %.
    pub p90: f64,
    /// 95 %.
    pub p95: f64,
    /// 99 %.
    pub p99: f64,
    /// 99.9 %.
    pub p999: f64,
    /// Largest.
    pub max: f64,
    /// Mean.
    pub mean: f64,
}

impl Quantiles {
    /// Whether there was nothing.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
