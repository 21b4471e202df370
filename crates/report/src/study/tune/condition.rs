//! Conditions of an objective, as they are worded.

use genkai_model::objective::{Condition, Objective};

/// The condition that an objective of one words.
pub(crate) fn condition(text: &str) -> Option<Condition> {
    text.parse::<Objective>().ok()?.0.first().copied()
}
