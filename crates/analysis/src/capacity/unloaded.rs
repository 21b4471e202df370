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

/// The mean response time, seconds, before `until` microseconds and before more requests were in flight than the smallest of those
/// `limits` that make wait lets through. None where it is not known within a tenth.
pub(crate) fn mean(trial: &Trial, until: Option<u64>, limits: &[Limit], demand: &Demand) -> Option<f64> {
    if limits.iter().any(|limit| delays(limit, demand)) {
        return None;
    }
    let ticks = window::before(&trial.ticks, until);
    let most = places(limits, demand);
    let few = ticks.iter().position(|tick| tick.in_flight as f64 > most).unwrap_or(ticks.len());
    let took = window::merge(&ticks[..few], |tick| &tick.service);
    let known = few == ticks.len() || ticks[..few].last().is_some_and(|last| is_known(&took, last));
    (known && !took.is_empty()).then(|| took.mean() / NS)
}

/// Whether a limit makes requests wait however few are in flight: two that come shortly after one another, each its turn.
fn delays(limit: &Limit, demand: &Demand) -> bool {
    match limit.law {
        Law::Rate { at_once: Some(_), .. } => true,
        Law::NewConnections { .. } => limit.symptom.slow && !demand.keeps,
        _ => false,
    }
}

/// Clients from which on some wait.
fn places(limits: &[Limit], demand: &Demand) -> f64 {
    let waits =
        |l: &&Limit| l.symptom.slow && matches!(l.law, Law::Slots { .. } | Law::Workers { .. } | Law::Growing { .. });
    let clients = limits.iter().filter(waits).filter_map(|limit| super::of(limit, demand).predicted.clients);
    clients.map(|clients| clients.low).fold(f64::INFINITY, f64::min)
}

/// Whether two standard errors of the mean are no more than a tenth of it, and the longest could have come twice.
fn is_known(took: &Histogram<u64>, last: &Tick) -> bool {
    let error = took.stdev() / (took.len() as f64).sqrt();
    let had = last.to_us as f64 * 1e3;
    took.len() >= FEWEST && SURE * error <= TOLERANCE * took.mean() && had >= TIME * took.max() as f64
}
