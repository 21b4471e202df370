//! A configuration explained: its limits and remarks are the product's, what they mean for clients is the analysis's. Nothing
//! runs.

use std::path::Path;

use genkai_analysis::capacity;
use genkai_model::explain::{Asked, Explanation, RemarkKind};
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
    believe(&mut explanation);
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

/// A server that takes a configuration has the directives that are in it, whoever brought them.
fn believe(explanation: &mut Explanation) {
    if matches!(explanation.server, Some(Asked::Taken { .. })) {
        explanation.remarks.retain(|remark| remark.kind != RemarkKind::Unknown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_directive_is_unknown_to_a_server_that_takes_it() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("nginx.conf");
        std::fs::write(
            &main,
            "events { }\nsparkle on;\nhttp { geoip2 /x.mmdb { auto_reload 5m; } server { listen 80; } }\n",
        )
        .unwrap();
        let mut explanation = explain(Some("nginx"), &main, &Requests::to("localhost", "/"), false).unwrap();
        let foreign = explanation.remarks.iter().any(|remark| remark.setting == "auto_reload");
        assert!(!foreign, "what is in a block of another module's is not nginx's own");
        let kinds = |explanation: &Explanation| explanation.remarks.iter().map(|one| one.kind).collect::<Vec<_>>();
        let before = kinds(&explanation);
        assert!(before.contains(&RemarkKind::Unknown), "{:?}", explanation.remarks);
        let others: Vec<RemarkKind> = before.iter().copied().filter(|kind| *kind != RemarkKind::Unknown).collect();
        let by = "nginx".to_owned();
        explanation.server = Some(Asked::Refused { by: by.clone(), words: Vec::new() });
        believe(&mut explanation);
        assert_eq!(kinds(&explanation), before);
        explanation.server = Some(Asked::Taken { by, warnings: Vec::new() });
        believe(&mut explanation);
        assert_eq!(kinds(&explanation), others);
    }
}
