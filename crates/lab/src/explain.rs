//! A configuration explained: its limits and remarks are the product's, what they mean for clients is the analysis's. Nothing
//! runs.

use std::path::Path;

use genkai_analysis::capacity;
use genkai_model::explain::Explanation;
pub use genkai_targets::explain::Requests;

use crate::error::LabError;
use crate::experiment;

/// Clients that are always busy: more than any configuration holds.
const MANY: u32 = u32::MAX;

/// Explains the configuration `main` of a product; none: as its text looks.
///
/// # Errors
/// The product is unknown, or a file cannot be read or understood.
pub fn explain(product: Option<&str>, main: &Path, requests: &Requests) -> Result<Explanation, LabError> {
    let mut explanation = genkai_targets::explain::explain(product, main, requests)?;
    let load = experiment::users(MANY, f64::from(MANY));
    explanation.predictions = capacity::predict(&explanation.limits, &load, None);
    explanation.predictions.sort_by(|a, b| first(a).total_cmp(&first(b)));
    Ok(explanation)
}

/// Clients from which on a limit bites; those that count no clients come last.
fn first(predicted: &genkai_model::finding::Predicted) -> f64 {
    predicted.clients.map_or(f64::INFINITY, |c| c.low)
}
