//! How much speaks for a limit as the cause, as one number, put down plainly once more.

use genkai_model::limit::Strength;
use serde_json::Value as Json;

use crate::laws::Ends;

/// Where a break came, against the formula.
pub(crate) enum Place {
    There(Ends, f64),
    Elsewhere,
    Unknown,
}

/// The strongest sign, how much of what failed it explains, where its formula has it, and how many signs there are.
pub(crate) fn score(strongest: Option<Strength>, share: Option<f64>, place: &Place, signs: usize) -> f64 {
    let quarter = match strongest {
        None => 0.0,
        Some(Strength::Consistent) => 1.0,
        Some(Strength::Supports) => 2.0,
        Some(Strength::Decisive) => 3.0,
    };
    let place = match place {
        Place::There(..) => 0.4,
        Place::Unknown => 0.2,
        Place::Elsewhere => 0.0,
    };
    let more = (signs.saturating_sub(1) as f64 * 0.05).min(0.15);
    // In this order: what lies half way between two thousandths is rounded as it comes out.
    let within = 0.4 * share.unwrap_or(0.0) + place + more;
    ((quarter + within) / 4.0 * 1000.0).round() / 1000.0
}

/// How sure a cause is without a test.
pub(crate) fn confidence(strongest: Option<Strength>, evidence: &[Json], is_unopposed: bool) -> &'static str {
    let supports = |one: &&Json| {
        let kind = one.get("evidence").and_then(Json::as_str);
        let strong = one.get("strength").and_then(Json::as_str).is_some_and(|it| it != "consistent");
        matches!(kind, Some("log" | "grew" | "reached" | "answered" | "handshakes")) && strong
    };
    let several = evidence.iter().filter(supports).count() > 1;
    let likely = match strongest {
        Some(Strength::Decisive) => true,
        Some(Strength::Supports) => several || is_unopposed,
        _ => false,
    };
    if likely { "likely" } else { "possible" }
}
