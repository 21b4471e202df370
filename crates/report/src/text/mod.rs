//! The verdict and the plan for a terminal: plain text with optional colour, good at 80 columns, readable at 40.
//!
//! Colour only repeats what words say. All foreign text goes through [`clean`](crate::clean) before a style is put
//! around it, so nothing a server wrote reaches the terminal as a command.

mod compare;
mod doctor;
mod document;
mod explain;
mod measure;
mod page;
mod plan;
mod script;
mod steps;
mod verdict;

pub use compare::compare_plan;
pub use doctor::doctor;
pub use document::document;
pub use explain::explain;
pub use measure::measure;
pub use plan::{plan, suite_length};
pub use script::script;
pub use verdict::verdict;

/// How text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to use ANSI colours and weights.
    pub color: bool,
    /// Columns to fill at most; values below 20 count as 20.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Style { color: false, width: 80 }
    }
}
