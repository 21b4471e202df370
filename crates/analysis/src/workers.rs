//! The processes of a load that several machines made, one by one: whether all began together, and whether each kept up.

use genkai_model::event::{WorkerEnd, WorkerUse};
use genkai_model::finding::{ClientLimit, WorkerFinding};
use genkai_model::record::Trial;

use crate::capacity::demand;
use crate::window;

/// Nanoseconds of a second.
const NS: f64 = 1e9;

/// What each process says of itself; none where one machine made the load.
pub(crate) fn findings(trial: &Trial) -> Vec<WorkerFinding> {
    let planned = demand::is_planned(&trial.started.load);
    all(trial).iter().map(|one| finding(one, planned)).collect()
}

fn all(trial: &Trial) -> &[WorkerUse] {
    trial.ended.as_ref().map_or(&[], |ended| &ended.workers)
}

fn finding(one: &WorkerUse, planned: bool) -> WorkerFinding {
    let end = one.ended.as_ref();
    WorkerFinding {
        place: one.place.clone(),
        node: one.node.clone(),
        clock_uncertainty: one.clock.map(|clock| clock.uncertainty_ns as f64 / NS),
        clock_drift: one.clock.and_then(|clock| clock.drift_ns).map(|ns| ns.unsigned_abs() as f64 / NS),
        began: end.map(|end| end.began_ns as f64 / NS),
        busiest: end.map(|end| end.busiest),
        late_p99: end.filter(|_| planned).and_then(late),
    }
}

/// The 99th percentile of how late a process sent, seconds.
fn late(end: &WorkerEnd) -> Option<f64> {
    window::quantile(&window::decode(&end.lateness), 0.99)
}

/// A process that was at its end: it had no processor time left, or sent late.
pub(crate) struct AtEnd {
    /// Its number, from 1.
    pub(crate) worker: u16,
    /// Of a core, by its busiest thread.
    used: f64,
    /// How late it sent, seconds.
    p99: f64,
}

/// Every process that had no processor time left (`spent` of a core), or sent later than `bound` seconds. How it was is known of the whole
/// load only.
pub(crate) fn all_at_end(trial: &Trial, spent: f64, bound: f64) -> impl Iterator<Item = AtEnd> {
    let numbered = findings(trial).into_iter().zip(1u16..);
    let known = numbered
        .filter_map(|(one, worker)| Some(AtEnd { worker, used: one.busiest?, p99: one.late_p99.unwrap_or(0.0) }));
    known.filter(move |one| one.used >= spent || one.p99 > bound)
}

/// The worst of them, if there is one.
pub(crate) fn at_end(trial: &Trial, spent: f64, bound: f64) -> Option<ClientLimit> {
    let order = |a: &AtEnd, b: &AtEnd| (a.used, a.p99).partial_cmp(&(b.used, b.p99));
    let worst = all_at_end(trial, spent, bound).max_by(|a, b| order(a, b).unwrap_or(std::cmp::Ordering::Equal));
    worst.map(|AtEnd { worker, used, p99 }| ClientLimit::Worker { worker, used, p99, bound })
}
