//! Failures that a server behind the product answered itself.

use genkai_model::limit::Answers;
use serde_json::{Value as Json, json};

use crate::intervals;

/// The evidence that a server answered them, beside `others`: at least half of what clients saw, nine tenths of all, and, where it is counted
/// how many each answered, for certain a larger part of its own. `grown` tells by how much a metric grew.
pub(crate) fn evidence(
    own: &Answers,
    others: &[Answers],
    strength: &Json,
    grown: impl Fn(&str) -> Option<f64>,
    clients: f64,
) -> Option<Json> {
    let mine = grown(&own.failed)?;
    let theirs = others.iter().map(|one| grown(&one.failed)).sum::<Option<f64>>()?;
    if mine <= 0.0 || mine < 0.5 * clients || mine < 0.9 * (mine + theirs) {
        return None;
    }
    let all = |one: &Answers| one.all.as_deref().and_then(&grown);
    let asked = all(own).zip(others.iter().map(all).sum::<Option<f64>>());
    // Where a share of the requests is looked at, the failures are those of this share.
    let share = own.failed_of_all.is_some();
    let bad = |one: &Answers| one.failed_of_all.as_deref().map_or_else(|| grown(&one.failed), &grown);
    let bad = bad(own).zip(others.iter().map(bad).sum::<Option<f64>>());
    let counted = asked.zip(bad).filter(|_| !others.is_empty());
    let rates = counted.map(|((all, rest), (mine, theirs))| ((mine, all), (theirs, rest)));
    match rates {
        Some((one, rest)) if intervals::differ(rest, one, intervals::ALPHA).0 <= 0.0 => return None,
        None if share => return None,
        _ => {}
    }
    let mut told = json!({ "evidence": "answered", "metric": own.failed, "failed": mine as u64,
        "of": (mine + theirs) as u64, "strength": strength });
    if let Some((one, rest)) = rates {
        let part = |(bad, all): (f64, f64)| json!({ "failed": bad as u64, "of": all as u64 });
        told["rates"] = json!([part(one), part(rest)]);
    }
    if share {
        told["share"] = json!(true);
    }
    Some(told)
}
