//! The processes that had the clients.

use genkai_model::finding::latencies::LatencyWorker;

use super::Counted;

/// Nanoseconds of a second.
const NS: f64 = 1e9;

/// Each process over all rounds that count; none where there was one only.
pub(super) fn all(counted: &Counted<'_>) -> Vec<LatencyWorker> {
    let mut all: Vec<LatencyWorker> = Vec::new();
    for (_, _, round) in &counted.0 {
        for (n, one) in round.workers.iter().enumerate() {
            if n == all.len() {
                all.push(LatencyWorker {
                    place: one.place.clone(),
                    node: one.node.clone(),
                    clients: 0,
                    clock_uncertainty: None,
                    clock_drift: None,
                    busy: 0.0,
                });
            }
            let (sum, clock) = (&mut all[n], one.clock);
            let most = |told: Option<f64>, ns: Option<u64>| {
                let now = ns.map(|ns| ns as f64 / NS);
                told.into_iter().chain(now).reduce(f64::max)
            };
            sum.clock_uncertainty = most(sum.clock_uncertainty, clock.map(|clock| clock.uncertainty_ns));
            sum.clock_drift = most(sum.clock_drift, clock.map(|clock| clock.drift_ns.unsigned_abs()));
            sum.clients = sum.clients.max(one.clients);
            sum.busy = sum.busy.max(one.busy);
        }
    }
    all
}
