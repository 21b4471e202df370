//! What leaving out directives showed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Directive, Trying};
use crate::units::Span;

/// What leaving out directives showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bisected {
    /// Directives that could be left out.
    pub directives: u64,
    /// Configurations that were tried.
    pub tried: u64,
    /// Of these, not accepted by the product.
    pub refused: u64,
    /// Of these, with a request alone that was not answered as it should be: with another status or content, or a failure where others fail only
    /// under a load.
    pub altered: u64,
    /// Directives of which nothing is known: no configuration without them was accepted and answered as it should.
    #[serde(default)]
    pub kept: u64,
    /// How each was tried.
    pub tried_by: Trying,
    /// Time that it could take.
    pub budget: Span,
    /// The fewest directives seen without which the failure was gone, in the order in which they are written; empty: none.
    pub named: Vec<Directive>,
    /// What that is worth.
    pub ended: BisectionEnd,
    /// Whether contents of answers were compared with normal ones, and not statuses only: of each that was no failure.
    pub compared: bool,
}

/// How such a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BisectionEnd {
    /// Without the directives named it holds, with all in place it failed again, and without them it held again; with any one of them in place
    /// it does not hold.
    Proved,
    /// With every directive in place it did not fail when it was tried so: there is nothing to look for.
    NotFailing,
    /// With every directive in place it could not be told whether it fails: the generator was the limit, or other programs used the machine.
    Untold,
    /// With every directive in place a request alone was not answered as it should be, where others had been (before, or under the load): what
    /// fails comes and goes.
    Unsteady,
    /// Of some sets it could not be told, however often they were tried: those that are named may be more than are needed or may not hold again,
    /// or, where none are, such a set may be enough.
    Undecided,
    /// What was found came again each time that it was tried, but so little failed with all in place that chance is not excluded.
    Chance,
    /// What was found did not come again: with all in place it held, or without the directives named it did not hold.
    NotReproduced,
    /// No set of directives that was tried makes it hold, and all were tried that the search has.
    Nothing,
    /// It ended before it was done: its time was over, or the run was stopped.
    Unfinished,
}
