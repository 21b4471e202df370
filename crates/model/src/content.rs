//! Many objects instead of one page: which there are, how large they are, and in which order they are asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// A set of objects. Object `n` has the path `/o/n`; its size and every byte of it follow from the set's seed and its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Content {
    /// How many.
    pub objects: u32,
    /// How large.
    pub sizes: Sizes,
    /// Seed of sizes and bytes.
    pub seed: u64,
}

/// Sizes of objects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sizes {
    /// Spread log-normally.
    LogNormal {
        /// As many objects are larger as are smaller.
        median: Bytes,
        /// Standard deviation of the sizes' natural logarithm; 0: all are equal.
        sigma: f64,
    },
    /// One by one, bytes, as a recorded access log has them.
    Listed(Vec<u32>),
}

/// In which order objects are asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// Each once, in an order drawn from the seed; then all again.
    #[default]
    Sweep,
    /// The object of rank `k` with a probability in proportion to `k` to the power of minus the exponent (Zipf's law).
    Zipf {
        /// The exponent; web requests have 0.6 to 1 (Breslau et al., INFOCOM 1999).
        exponent: f64,
    },
    /// As recorded: the numbers of objects, one after the other.
    Recorded(Vec<u32>),
}

/// What a load asks for instead of its request's path, one after the other; every body is compared with what it must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pages {
    /// The objects.
    pub content: Content,
    /// The order.
    pub mix: Mix,
    /// Objects that take part: the first so many of an order drawn from the seed.
    pub distinct: u32,
    /// After so many requests the order begins again.
    pub requests: u32,
    /// Seed of the order.
    pub seed: u64,
}

/// A body that is not the one that was asked for, although its response was whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrongBody {
    /// The object asked for.
    pub asked: u32,
    /// The object whose body came; none: no object has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came: Option<u32>,
    /// Bytes it should have.
    pub due: u64,
    /// Bytes it has.
    pub bytes: u64,
}
