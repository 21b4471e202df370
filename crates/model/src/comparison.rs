//! Systems compared under the same load: which, in which blocks, what is told of each, and when it is enough.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claim::Claim;
use crate::figure::Figure;
use crate::setting::Change;
use crate::system::System;
use crate::units::Span;

/// A comparison. In each block every contender is loaded once, one at a time, in an order drawn for that block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Who takes part.
    pub contenders: Vec<Contender>,
    /// The contender all others are compared with; none: each with each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// One more turn of the first contender in each block: against itself it must come out equal.
    pub control: bool,
    /// How long the load rises in a turn.
    pub ramp: Span,
    /// How long it is held.
    pub hold: Span,
    /// Numbers of blocks after which it is judged whether that is enough, ascending; the last is the most there will be. They
    /// are planned before, for each look spends a part of the error rate.
    pub looks: Vec<u32>,
    /// Largest effect that does not matter: 0.05 is a factor of 1.05 either way. Of failures: as a difference of fractions, at
    /// a tenth of this.
    pub margin: f64,
    /// Figures that must be decided before it ends early.
    pub deciding: Vec<Figure>,
    /// Seed of the orders.
    pub seed: u64,
    /// The advice that is put to the test by it, where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Box<Claim>>,
}

/// A system that takes part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ComparedContender")]
pub struct Contender {
    /// What reports call it, unlike any other's.
    pub name: String,
    /// What it is.
    pub runs: Runs,
}

/// What a contender is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Runs {
    /// A server of ours, started anew for each turn, with settings changed on top of its system.
    Server {
        /// The server. What stands behind it is the same for all contenders.
        system: Box<System>,
        /// Settings changed on top of it.
        changes: Vec<Change>,
    },
    /// Something that already runs on this machine: `http://127.0.0.1:8080`.
    Url(String),
}

impl Runs {
    /// Whether it is started anew for each turn.
    pub fn is_restarted(&self) -> bool {
        matches!(self, Runs::Server { .. })
    }
}

/// A contender is about to be loaded: said before the trial of its turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// [`Contender::name`].
    pub contender: String,
    /// Block, from 1.
    pub block: u32,
    /// Place within the block, from 1.
    pub place: u32,
    /// Turns of a block.
    pub of: u32,
    /// Whether it is the first contender's second turn in the block: the control.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
}

/// A contender did not start, and takes no further part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DroppedContender {
    /// [`Contender::name`].
    pub contender: String,
    /// The block in which it did not start, from 1.
    pub block: u32,
    /// Why, in the words of who should have started it.
    pub why: String,
}
