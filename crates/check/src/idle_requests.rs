//! Requests that are held open: each number that was tried.

use serde_json::Value as Json;

use crate::events::{Events, sum};
use crate::expected::Expected;
use crate::load::{asked, by_key};

/// What the events say of a search for how many requests are held open at once.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    if verdict.get("refused_from").is_none() && verdict.get("largest").is_none() {
        return;
    }
    let trials: Vec<&Json> = verdict.get("trials").and_then(Json::as_array).into_iter().flatten().collect();
    let (mut borne, mut refused) = (None::<f64>, None::<f64>);
    for (i, finding) in trials.iter().enumerate() {
        let Some(trial) = events.trial_of(finding.get("trial")) else { continue };
        let (ticks, line, address) = (trial.ticks(), trial.first(), format!("/trials/{i}"));
        let requests = asked(trial.start);
        let (ok, bad) = (sum(&ticks, "/ok"), crate::events::all_failed(&ticks));
        let most = ticks.iter().map(|tick| tick.number("/in_flight")).fold(0.0, f64::max);
        for (name, value) in
            [("trial", f64::from(trial.number)), ("requests", requests), ("answered", ok), ("at_once", most)]
        {
            expected.is(format!("{address}/{name}"), value, line);
        }
        by_key(finding, (&address, "refused"), ("errors", "kind"), &ticks, line, expected);
        if bad > 0.0 || ok < requests {
            refused = Some(refused.map_or(requests, |least| least.min(requests)));
        } else {
            borne = Some(borne.map_or(requests, |most| most.max(requests)));
        }
    }
    let last = trials.last().and_then(|finding| events.trial_of(finding.get("trial"))).and_then(|trial| trial.first());
    // What is borne above a refusal does not count.
    expected.within("/largest", 0.0, borne.unwrap_or(0.0), last);
    expected.is("/refused_from", refused, last);
}
