//! What a verdict quotes from the plan and from limits: it stands there, number by number.

use serde_json::Value as Json;

use crate::events::Events;
use crate::expected::Expected;

/// Parts of verdicts that are quoted from the plan.
const PARTS: [&str; 2] = ["comparison", "contest"];

/// What the plan says of the quoted parts of a verdict, and the events of its limits.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    let (plan, line) = (events.head().json.get("plan").unwrap_or(&Json::Null), Some(events.head().number));
    for part in PARTS {
        let Some(stated) = verdict.get(part).filter(|stated| stated.is_object()) else { continue };
        if let Some(planned) = alike(plan, stated) {
            numbers(&format!("/{part}"), stated, planned, line, expected);
        }
    }
    if let (Some(stated), Some(planned)) =
        (verdict.pointer("/claim/claim"), verdict.get("comparison").and_then(|one| one.get("claim")))
    {
        numbers("/claim/claim", stated, planned, line, expected);
    }
    pinning(events, verdict, line, expected);
    for list in ["causes", "limits"] {
        for (i, one) in verdict.get(list).and_then(Json::as_array).into_iter().flatten().enumerate() {
            limit(events, &format!("/{list}/{i}/limit"), one, expected);
        }
    }
}

fn pinning(events: &Events, verdict: &Json, line: Option<usize>, expected: &mut Expected) {
    let told = events.head().json.pointer("/environment/pinning");
    if let (Some(stated), Some(told)) = (verdict.get("pinning"), told) {
        numbers("/pinning", stated, told, line, expected);
    }
}

/// A limit as it was told before the trial in which it was met; of those that are told more than once, the last.
fn limit(events: &Events, address: &str, owner: &Json, expected: &mut Expected) {
    let Some(stated) = owner.get("limit").filter(|limit| limit.is_object()) else { return };
    let trial = events.trial_of(owner.get("trial")).map_or(usize::MAX, |trial| trial.start.number);
    let same = |one: &&Json| one.get("id") == stated.get("id") && one.get("subject") == stated.get("subject");
    let lines = events.lines.iter().filter(|line| line.number < trial);
    let mut all = lines.filter_map(|line| Some((line.number, line.items("/limits").iter().find(same)?)));
    if let Some((line, told)) = all.next_back() {
        numbers(address, stated, told, Some(line), expected);
    }
}

/// The first object in a tree that has the same names as another.
fn alike<'t>(tree: &'t Json, other: &Json) -> Option<&'t Json> {
    let names = |tree: &Json| {
        tree.as_object().map(|fields| fields.keys().cloned().collect::<std::collections::BTreeSet<String>>())
    };
    if names(tree).is_some_and(|all| names(other).is_some_and(|some| !some.is_empty() && some.is_subset(&all))) {
        return Some(tree);
    }
    match tree {
        Json::Object(fields) => fields.values().find_map(|inner| alike(inner, other)),
        Json::Array(items) => items.iter().find_map(|inner| alike(inner, other)),
        _ => None,
    }
}

/// Every number of what is stated must be that of what was told; where nothing was told, there is none.
fn numbers(address: &str, stated: &Json, told: &Json, line: Option<usize>, expected: &mut Expected) {
    let inner = |name: &str| format!("{address}/{}", name.replace('~', "~0").replace('/', "~1"));
    let of = |name: &str| told.get(name).unwrap_or(&Json::Null);
    match stated {
        Json::Object(fields) => {
            fields.iter().for_each(|(name, value)| numbers(&inner(name), value, of(name), line, expected));
        }
        Json::Array(items) => {
            let of = |i: usize| told.get(i).unwrap_or(&Json::Null);
            let each = items.iter().enumerate();
            each.for_each(|(i, item)| numbers(&format!("{address}/{i}"), item, of(i), line, expected));
        }
        Json::Number(_) | Json::Null => expected.is(address, told.as_f64(), line),
        _ => {}
    }
}
