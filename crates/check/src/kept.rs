//! Signs that the generator itself has seen: the silence before kept connections ended, when requests met such ends, and how long responses
//! of a size took, and how many handshakes it made; and what counters had come to; put down plainly once more.

use serde_json::{Value as Json, json};

use crate::events::{Line, merged, sum, sum_where};

/// That most connections which ended had been silent for just as long as is allowed: three at least, give or take a tenth and a second.
pub(crate) fn silent(ticks: &[&Line], address: &str, of: f64, after: f64) -> Option<Json> {
    let silent = merged(ticks, address);
    let nanoseconds = |seconds: f64| (seconds.max(0.0) * 1e9) as u64;
    let (low, high) = (nanoseconds(after * 0.9), nanoseconds(after * 1.1 + 1.0));
    let count = silent.over(low, false) - silent.over(high, true);
    let seen = silent.quantile(0.5)?;
    (count >= 3.0 && count * 2.0 > of).then(
        || json!({ "evidence": "silence", "count": count as u64, "of": of as u64, "seen": seen, "allowed": after }),
    )
}

/// The same of kept connections whose end requests met.
pub(crate) fn kept(ticks: &[&Line], after: f64) -> Option<Json> {
    let of = merged(ticks, "/kept_silent").over(0, false);
    (met(ticks) > 0.0).then(|| silent(ticks, "/kept_silent", of, after)).flatten()
}

/// A gauge that reached its mark.
pub(crate) fn reached(metric: &str, (value, mark): (f64, f64), of: &str, strength: &Json) -> Json {
    json!({ "evidence": "reached", "metric": metric, "value": value, "mark": mark, "of": of, "strength": strength })
}

/// Whether a counter, of which these are the looks (microseconds), was more when something came (seconds) than before a time (microseconds).
pub(crate) fn had_grown(looks: &[(f64, f64, usize)], from: f64, came: f64) -> bool {
    let came = (came * 1e6).round();
    let before = looks.iter().rfind(|(at, ..)| *at < from).or(looks.first());
    let then = looks.iter().find(|(at, ..)| *at >= came).or(looks.last());
    before.zip(then).is_some_and(|(before, then)| then.1 > before.1)
}

/// Full TLS handshakes a second from one moment to another, microseconds; none where no time went by.
pub(crate) fn full_handshakes(ticks: &[&Line], from: f64, to: f64) -> Option<f64> {
    let mut during = ticks.to_vec();
    during.retain(|tick| tick.number("/to_us") > from && tick.number("/from_us") <= to);
    let lasted: f64 = during.iter().map(|tick| (tick.number("/to_us") - tick.number("/from_us")) / 1e6).sum();
    (lasted > 0.0).then(|| sum(&during, "/handshakes/full") / lasted)
}

/// Requests that met the end of a kept connection.
fn met(ticks: &[&Line]) -> f64 {
    let lost = ["eof_reused", "reset_reused"].map(|kind| sum_where(ticks, "/errors", ("kind", &json!(kind)), "count"));
    sum(ticks, "/retried") + lost.iter().sum::<f64>()
}

/// Whether nine in ten of those requests did so at most 3.5 seconds before, or half a second after, a counter was seen to have grown.
pub(crate) fn met_as_it_grew(ticks: &[&Line], values: &[(f64, f64, usize)]) -> bool {
    let grew: Vec<f64> = (1..values.len()).filter(|i| values[*i].1 > values[*i - 1].1).map(|i| values[i].0).collect();
    let close = |tick: &&&Line| {
        let (from, to) = (tick.number("/from_us") - 5e5, tick.number("/to_us") + 3.5e6);
        grew.iter().any(|at| from <= *at && *at <= to)
    };
    let during: Vec<&Line> = ticks.iter().filter(close).copied().collect();
    met(ticks) > 0.0 && met(&during) >= 0.9 * met(ticks)
}

/// That a request takes what it takes to send its response at a pace, a second's worth of which may go at once.
pub(crate) fn paced(ticks: &[&Line], rate: f64, after: f64) -> Option<Json> {
    let bytes = sum(ticks, "/bytes_in") / sum(ticks, "/ok").max(1.0);
    let takes = (bytes - after).max(0.0) / rate;
    let seen = merged(ticks, "/service").quantile(0.5)?;
    let fits = seen >= takes - 1.0 && seen >= 0.3 * takes && seen <= 1.1 * takes + 0.05;
    (takes > 0.0 && fits).then(|| json!({ "evidence": "paced", "bytes": bytes, "seen": seen, "takes": takes }))
}

/// Whether a name is `before`, digits and `after`, and is not the name that one of the known numbers makes.
pub(crate) fn is_other_number(name: &str, before: &str, known: &[u64], after: &str) -> bool {
    let made = known.iter().any(|number| name == format!("{before}{number}{after}"));
    let around = name.len() > before.len() + after.len() && name.starts_with(before) && name.ends_with(after);
    around && !made && name[before.len()..name.len() - after.len()].bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_a_name_is_another_one_where_nobody_has_told_it() {
        let is = |name: &str| is_other_number(name, "memory.", &[16, 32], "");
        assert!(is("memory.24") && is("memory.160"));
        assert!(!is("memory.16") && !is("memory.32") && !is("memory.") && !is("memory.x") && !is("memory.24.likely"));
        assert!(is_other_number("memory.24.likely", "memory.", &[16], ".likely"));
        assert!(!is_other_number("memory.16.likely", "memory.", &[16], ".likely"));
    }
}
