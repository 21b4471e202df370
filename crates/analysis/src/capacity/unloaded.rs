//! How long responses took in a trial before anything made them wait: times that hold waiting already say nothing of how long a request
//! takes in a pool.

use genkai_model::event::Tick;
use genkai_model::limit::{Law, Limit};
use genkai_model::record::Trial;
use hdrhistogram::Histogram;

use super::{Demand, TOLERANCE};
use crate::window;

/// Standard errors on either side of a mean that hold it with 95 %.
const SURE: f64 = 2.0;
/// Fewest responses of which a mean is known.
const FEWEST: u64 = 3;
/// How many times the longest response must have had time to come: of times that are cut short only the short ones are seen.
const TIME: f64 = 2.0;
/// Nanoseconds in a second.
const NS: f64 = 1e9;

/// The mean response time, seconds, before `until` microseconds and before there were more requests in flight than the smallest of those
/// `limits` that make wait lets through, or, where a client that is idle holds a place too, more connections than places. None where it is not
/// known within a tenth.
pub(crate) fn mean(trial: &Trial, until: Option<u64>, limits: &[Limit], demand: &Demand) -> Option<f64> {
    let ticks = window::before(&trial.ticks, until);
    let [most, open] = [false, true].map(|idle| places(limits, demand, idle));
    let full = |tick: &Tick| tick.in_flight as f64 > most || tick.in_flight.max(tick.connections) as f64 > open;
    let few = ticks.iter().position(full).unwrap_or(ticks.len());
    let took = window::merge(&ticks[..few], |tick| &tick.service);
    let known = few == ticks.len() || ticks[..few].last().is_some_and(|last| is_known(&took, last));
    (known && !took.is_empty()).then(|| took.mean() / NS)
}

/// Clients from which on some wait; of the limits only whose places are held by clients that are idle, or only by those that are not.
fn places(limits: &[Limit], demand: &Demand, idle: bool) -> f64 {
    let waits = |l: &&Limit| match l.law {
        _ if !l.symptom.slow => false,
        Law::Slots { idle_cost, .. } => idle == (idle_cost > 0.0 && demand.keeps),
        Law::Workers { .. } | Law::Growing { .. } => !idle,
        _ => false,
    };
    let clients = limits.iter().filter(waits).filter_map(|limit| super::of(limit, demand).predicted.clients);
    clients.map(|clients| clients.low).fold(f64::INFINITY, f64::min)
}

/// Whether two standard errors of the mean are no more than a tenth of it, and the longest could have come twice.
fn is_known(took: &Histogram<u64>, last: &Tick) -> bool {
    let error = took.stdev() / (took.len() as f64).sqrt();
    let had = last.to_us as f64 * 1e3;
    took.len() >= FEWEST && SURE * error <= TOLERANCE * took.mean() && had >= TIME * took.max() as f64
}
