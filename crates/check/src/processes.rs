//! Processes of several machines over all loads of a run: the worst of each, and the loads that each limited.

use serde_json::Value as Json;

use crate::asked::{self, Asked};
use crate::events::Events;
use crate::expected::Expected;
use crate::generator;

/// What each names, and where a load's end has it in nanoseconds.
const TIMES: [(&str, &str); 3] =
    [("clock_uncertainty", "/clock/uncertainty_ns"), ("clock_drift", "/clock/drift_ns"), ("began", "/ended/began_ns")];

/// What verdicts have that tell of processes over all loads: of systems compared, of caches, of requests held open. (Of servers that are compared by
/// latency, each round tells of them; of one load, its generator.)
const TELLING: [&str; 4] = ["comparison", "passes", "refused_from", "largest"];

/// What the events say of the processes of a verdict.
pub(crate) fn expect(events: &Events, verdict: &Json, expected: &mut Expected) {
    let told = verdict.get("processes").and_then(Json::as_array).map_or(0, Vec::len);
    if !TELLING.iter().any(|name| verdict.get(name).is_some()) {
        return;
    }
    let trials = events.trials();
    let of = |i: usize| {
        let one =
            move |trial: &&crate::events::Trial<'_>| trial.end().and_then(|end| end.items("/workers").get(i).cloned());
        trials.iter().filter_map(move |trial| Some((trial, one(&trial)?)))
    };
    expected.there(
        format!("/processes/{told}"),
        of(told).next().is_some(),
        "each process that made a load is told",
        None,
    );
    for i in 0..told {
        let address = format!("/processes/{i}");
        let most = |value: &dyn Fn(&Json) -> Option<f64>| of(i).filter_map(|(_, one)| value(&one)).reduce(f64::max);
        for (name, pointer) in TIMES {
            let ns = most(&|one| one.pointer(pointer).and_then(Json::as_f64).map(f64::abs));
            expected.is(format!("{address}/{name}"), ns.map(|ns| ns / 1e9), None);
        }
        let busiest = most(&|one| one.pointer("/ended/busiest").and_then(Json::as_f64));
        expected.is(format!("{address}/busiest"), busiest, None);
        let (mut loads, mut saturated, mut late) = (0.0, 0.0, None);
        for (trial, one) in of(i) {
            let Some(asked) = Asked::of(trial) else { continue };
            let objective = asked::objective(events);
            // Between servers that are compared every latency counts.
            let compared = events.of("turn").any(|turn| turn.number < trial.start.number);
            let timed = compared || generator::is_timed(&asked, &objective);
            loads += 1.0;
            saturated += if generator::is_at_end(&one, trial, &asked, &objective, timed) { 1.0 } else { 0.0 };
            let own = if asked.is_planned() { generator::worker_late(&one) } else { None };
            late = late.into_iter().chain(own).reduce(f64::max);
        }
        expected.is(format!("{address}/loads"), loads, None);
        expected.is(format!("{address}/saturated"), saturated, None);
        expected.is(format!("{address}/late_p99"), late, None);
    }
}
