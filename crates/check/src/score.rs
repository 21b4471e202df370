//! How much speaks for a limit as the cause, as one number, put down plainly once more.

use genkai_model::limit::{Limit, Strength};
use serde_json::Value as Json;

use crate::met::Ends;

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

/// What decides between two limits of which one is only heard of.
pub(crate) struct Standing {
    possible: bool,
    strongest: Option<Strength>,
    /// Its setting is in brackets: another server tells of it.
    heard: bool,
    /// It is of something that has a limit of its own, which nothing here changes.
    fixed: bool,
    errors: Option<Json>,
}

impl Standing {
    pub(crate) fn of(limit: &Limit, possible: bool, strongest: Option<Strength>, evidence: &[Json]) -> Standing {
        let is_errors = |one: &&Json| one.get("evidence").and_then(Json::as_str) == Some("errors");
        let heard = limit.setting.starts_with('(');
        let fixed = !heard && !limit.fault && limit.remedy.is_none();
        Standing { possible, strongest, heard, fixed, errors: evidence.iter().find(is_errors).cloned() }
    }
}

/// Where the best candidate is only heard of, what nothing else leaves was seen of it, and another one that nothing here changes left as much and explains the
/// same errors, that one comes first.
pub(crate) fn specific_first<T>(all: &mut Vec<T>, standing: impl Fn(&T) -> Standing) {
    let each: Vec<Standing> = all.iter().map(standing).collect();
    let Some(first) = each.iter().position(|one| one.possible) else { return };
    let best = &each[first];
    if !best.heard || best.strongest != Some(Strength::Decisive) || best.errors.is_none() {
        return;
    }
    let other = |one: &Standing| {
        one.possible && one.fixed && one.strongest == Some(Strength::Decisive) && one.errors == best.errors
    };
    if let Some(at) = each.iter().position(other) {
        let other = all.remove(at);
        all.insert(first, other);
    }
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
