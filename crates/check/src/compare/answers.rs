//! Whether contenders answer one and the same request alike, by the statuses and the bytes of their turns.

use std::collections::BTreeMap;

use genkai_model::load::{Load, Protocol};
use serde_json::{Value as Json, json};

use super::Comparison;
use crate::events::{Events, Line, Trial, failed, sum};

/// From how many times the bytes on answers are unlike.
const TIMES: f64 = 2.0;
/// ... if it is not as little as heads may differ by.
const MORE: f64 = 512.0;

impl Comparison<'_> {
    /// That they do not.
    pub(super) fn unlike(&self, events: &Events) -> Option<Json> {
        let load: Load = serde_json::from_value(events.head().json.pointer("/plan/load")?.clone()).ok()?;
        if load.scenario.is_some() || load.locust.is_some() || matches!(load.protocol, Protocol::WebSocket(_)) {
            return None;
        }
        let all: Vec<(&Json, Option<u64>, Option<f64>)> = self
            .order
            .iter()
            .filter_map(|name| {
                let (status, bytes) = self.answers(name)?;
                Some((name, status, bytes))
            })
            .collect();
        let compressed = events.of("entry").any(|line| line.json.get("compression") == Some(&Json::Bool(true)));
        let unlike = |(_, status, bytes): &(&Json, Option<u64>, Option<f64>)| {
            all.iter().any(|(_, other, more)| {
                let class = status.zip(*other).is_some_and(|(a, b)| a / 100 != b / 100);
                class || !compressed && bytes.zip(*more).is_some_and(|(a, b)| b > TIMES * a && b - a > MORE)
            })
        };
        let told = |(name, status, bytes): &(&Json, Option<u64>, Option<f64>)| json!({ "name": name, "status": status, "bytes": bytes });
        all.iter()
            .any(unlike)
            .then(|| json!({ "caveat": "answers_unlike", "answers": all.iter().map(told).collect::<Vec<_>>() }))
    }

    /// The status of most good answers of a contender, and the bytes of one; none where it gave none.
    fn answers(&self, name: &Json) -> Option<(Option<u64>, Option<f64>)> {
        let own = self.turns.iter().filter(|turn| turn.is(name, false)).map(|turn| &turn.judged.trial);
        let ticks: Vec<&Line> = own.flat_map(Trial::ticks).collect();
        let good = sum(&ticks, "/ok");
        let bad: f64 = ticks.iter().map(|tick| failed(tick)).sum();
        let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
        for one in ticks.iter().filter_map(|tick| tick.json.get("statuses")?.as_array()).flatten() {
            let (status, count) = (one.get("status").and_then(Json::as_u64), one.get("count").and_then(Json::as_f64));
            if let Some(status) = status.filter(|status| *status < 400) {
                *counts.entry(status).or_default() += count.unwrap_or(0.0);
            }
        }
        let mut most: Option<(u64, f64)> = None;
        for (status, count) in counts {
            if most.is_none_or(|(_, before)| count > before) {
                most = Some((status, count));
            }
        }
        let bytes = sum(&ticks, "/bytes_in") / (good + bad);
        let few = bad <= 0.01 * (good + bad);
        (good > 0.0).then(|| (most.map(|(status, _)| status), Some(bytes).filter(|bytes| few && *bytes > 0.0)))
    }
}
