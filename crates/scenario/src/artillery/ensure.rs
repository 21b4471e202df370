//! `ensure`: what must hold.

use genkai_model::objective::{Bound, Condition, Objective};
use genkai_model::units::Span;

use crate::fault::{Fault, Place};
use crate::yaml::Node;

/// What the configuration's `ensure` asks for, under `config` or under its plugins.
pub(super) fn objective(config: &Node) -> Result<Option<Objective>, Fault> {
    let places = [config.get("ensure"), config.get("plugins").and_then(|plugins| plugins.get("ensure"))];
    let mut all = Vec::new();
    for node in places.into_iter().flatten() {
        for (key, value) in node.map() {
            match key.name.as_str() {
                "thresholds" => {
                    for (metric, most) in value.list().iter().flat_map(Node::map) {
                        all.push(condition(&metric.name, "<", most.number().unwrap_or_default(), metric.place)?);
                    }
                }
                "conditions" => {
                    for node in value.list() {
                        let expression = node.get("expression").unwrap_or(node);
                        expressions(expression, &mut all)?;
                    }
                }
                // Percent, as Artillery has it.
                "maxErrorRate" => all.push(errors(value.number().unwrap_or_default() / 100.0)),
                quantile => {
                    let metric = format!("http.response_time.{quantile}");
                    all.push(condition(&metric, "<", value.number().unwrap_or_default(), key.place)?);
                }
            }
        }
    }
    Ok((!all.is_empty()).then_some(Objective(all)))
}

/// `a < 1 and b > 2`.
fn expressions(node: &Node, all: &mut Vec<Condition>) -> Result<(), Fault> {
    let text = node.scalar().unwrap_or_default();
    let what = || format!("`{text}` is not understood");
    let hint = "write it like http.response_time.p95 < 250 and http.request_rate > 10";
    for part in text.split(" and ") {
        let words: Vec<&str> = part.split_whitespace().collect();
        let [metric, operator, value] = words.as_slice() else { return Err(node.fault(what(), hint)) };
        let value: f64 = value.parse().map_err(|_| node.fault(what(), hint))?;
        all.push(condition(metric, operator, value, node.place)?);
    }
    Ok(())
}

/// Errors at most this share.
fn errors(share: f64) -> Condition {
    Condition::ErrorsBelow(Bound::including(share.clamp(0.0, 1.0)))
}

fn condition(metric: &str, operator: &str, value: f64, place: Place) -> Result<Condition, Fault> {
    let quantile = |name: &str| match name {
        "median" => Some(0.5),
        "max" => Some(1.0),
        "p999" => Some(0.999),
        other => other
            .strip_prefix('p')
            .and_then(|digits| digits.parse::<f64>().ok())
            .filter(|p| (1.0..100.0).contains(p))
            .map(|p| p / 100.0),
    };
    let times = ["http.response_time.", "websocket.response_time."];
    let of_time = times.iter().find_map(|prefix| metric.strip_prefix(prefix)).and_then(quantile);
    let included = operator.ends_with('=');
    match (metric, operator, of_time) {
        // Milliseconds.
        (_, "<" | "<=", Some(quantile)) => {
            Ok(Condition::LatencyBelow(quantile, Bound { at: Span::from_secs_f64(value / 1e3), included }))
        }
        ("http.request_rate", ">" | ">=", None) => Ok(Condition::RateAbove(Bound { at: value, included })),
        ("vusers.failed", "<=", None) if value == 0.0 => Ok(errors(0.0)),
        // Fewer than one.
        ("vusers.failed", "<", None) if value == 1.0 => Ok(errors(0.0)),
        _ => Err(Fault::at(
            place,
            format!("`{metric} {operator}` is not a condition that genkai knows"),
            "known: http.response_time.{median,p50,p75,p90,p95,p99,p999,max} <, http.request_rate >, maxErrorRate",
        )),
    }
}
