//! A configuration explained: its limits and remarks are the product's, what they mean for clients is the analysis's. Nothing
//! runs.

use std::path::Path;

use genkai_analysis::capacity;
use genkai_model::explain::Explanation;
use genkai_model::finding::Predicted;
use genkai_model::limit::{Law, Limit};
pub use genkai_targets::explain::Requests;

use crate::error::LabError;
use crate::experiment;

/// Clients that are always busy: more than any configuration holds.
const MANY: u32 = u32::MAX;

/// Explains the configuration `main` of a product; none: as its text looks. `ask`: the server that is installed says whether it takes it.
///
/// # Errors
/// The product is unknown, or a file cannot be read or understood.
pub fn explain(product: Option<&str>, main: &Path, requests: &Requests, ask: bool) -> Result<Explanation, LabError> {
    let mut explanation = genkai_targets::catalog::explain(product, main, requests)?;
    explanation.server = ask.then(|| genkai_targets::catalog::asked(&explanation, main, requests)).flatten();
    let load = experiment::users(MANY, f64::from(MANY));
    explanation.predictions = capacity::predict(&explanation.limits, &load, None);
    let limits = &explanation.limits;
    explanation.predictions.sort_by(|a, b| first(limits, a).total_cmp(&first(limits, b)));
    Ok(explanation)
}

/// Clients present from which on a limit bites. Those that count something else come after them: an accept queue counts who
/// comes in one moment.
fn first(limits: &[Limit], predicted: &Predicted) -> f64 {
    let momentary = limits.iter().any(|l| l.id == predicted.limit && matches!(l.law, Law::Backlog { .. }));
    predicted.clients.filter(|_| !momentary).map_or(f64::INFINITY, |c| c.low)
}
