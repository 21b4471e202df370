//! Values with which the server did not start, as the lines of the record tell.

use genkai_model::limit::{Law, Limit};

use serde_json::Value as Json;

use crate::events::{Events, Line};
use crate::expected::Expected;

/// So many of them above the present value of a setting are enough.
const ENOUGH: usize = 4;

/// The values that were known when this line was written; none: at the end.
pub(crate) fn before(events: &Events, line: Option<usize>) -> Vec<&Line> {
    let early = |one: &&Line| line.is_none_or(|line| one.number < line);
    events.of("not_started").filter(|one| is_for(one, "")).filter(early).collect()
}

/// Whether the server did not start with the proposal after this line.
pub(crate) fn proposal_after(events: &Events, line: usize) -> bool {
    events.of("not_started").any(|one| is_for(one, "proposal") && one.number > line)
}

/// Whether that was its purpose; the search's is not written.
fn is_for(one: &Line, purpose: &str) -> bool {
    one.text("/purpose") == purpose
}

/// Whether `setting` has a word, or a number above the present one, left to be tried.
pub(crate) fn leaves_a_value(limit: &Limit, setting: &str, present: f64, values: &[&Line]) -> bool {
    let mine = values.iter().filter(|one| one.text("/setting") == setting).map(|one| one.text("/value"));
    if let Law::Tried { word: Some(word), .. } = &limit.law {
        return !mine.into_iter().any(|value| value == word);
    }
    let above: Vec<f64> = mine.filter_map(|value| value.parse().ok()).filter(|value| *value > present).collect();
    above.len() < ENOUGH && above.iter().all(|value| *value >= present + 2.0)
}

/// What a verdict says of values with which the server does not start: the least above all with which it was measured.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    let told = verdict.get("caveats").and_then(Json::as_array).into_iter().flatten().enumerate();
    for (i, caveat) in told.filter(|(_, one)| one.get("caveat").and_then(Json::as_str) == Some("does_not_start")) {
        let setting = caveat.get("setting").and_then(Json::as_str).unwrap_or_default();
        let most = measured(events, setting);
        // One that listened had started.
        let had_started = |one: &Line| one.json.pointer("/listens").and_then(Json::as_bool) == Some(true);
        let refused = events.of("not_started").filter(|one| one.text("/setting") == setting && !had_started(one));
        let above = refused.filter_map(|one| Some((one.text("/value").parse::<f64>().ok()?, one)));
        let least =
            above.filter(|(value, _)| most.is_some_and(|most| *value > most)).min_by(|a, b| a.0.total_cmp(&b.0));
        let line = least.map(|(_, one)| one.number);
        expected.is(format!("/caveats/{i}/most"), most, line);
        expected.is(format!("/caveats/{i}/value"), least.map(|(value, _)| value), line);
        let said = least.map_or("", |(_, one)| one.text("/said"));
        expected.word(format!("/caveats/{i}/said"), said, "as the server said it", line);
    }
}

/// The largest value of a setting in any trial but those that only look at smaller ones or leave directives out.
fn measured(events: &Events, setting: &str) -> Option<f64> {
    let own = |limit: &Limit| matches!(&limit.remedy, Some(remedy) if remedy.setting == setting);
    let first = events.of("limits").next()?.items("/limits").iter().find_map(|limit| {
        let limit: Limit = serde_json::from_value(limit.clone()).ok()?;
        match limit.law {
            Law::Tried { value, word: None } if own(&limit) => Some(value),
            _ => None,
        }
    });
    let starts = events.of("trial_started").filter(|one| !matches!(one.text("/purpose"), "bisect" | "smaller"));
    let changed = starts.flat_map(|one| one.items("/changes")).filter(|change| change["setting"] == setting);
    changed.filter_map(|change| change["to"].as_str()?.parse::<f64>().ok()).chain(first).reduce(f64::max)
}
