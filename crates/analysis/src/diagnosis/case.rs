//! What is to be explained: a break, and what is known of it.

use genkai_model::finding::Break;
use genkai_model::record::Trial;

use crate::capacity::Demand;

/// The break of one trial and what is needed to judge it.
#[derive(Clone, Debug)]
pub struct Case<'t> {
    /// The trial.
    pub trial: &'t Trial,
    /// Its break.
    pub broke: Break,
    /// When the break was certain, seconds.
    pub certain: f64,
    /// The load.
    pub demand: Demand,
}
