//! Users before a bucket that lets so many requests through a second.

use genkai_model::limit::{Law, Limit};

use crate::asked::TOLERANCE;
use crate::met::{Ends, Met};

/// Workers of each pool of some limits, and how long it tells that one takes for a request, seconds.
pub(crate) fn pools(limits: &[Limit]) -> Vec<(f64, Option<f64>)> {
    let pool = |limit: &Limit| match limit.law {
        Law::Workers { workers, service, .. } => Some((workers, service.filter(|took| *took > 0.0))),
        _ => None,
    };
    limits.iter().filter_map(pool).collect()
}

/// Users who fill a leaky bucket. Of `burst` early requests `at_once` do not wait. Each of the others keeps its user from asking: they
/// are added to those whom the rate serves, but for the places for which one would wait too long.
pub(crate) fn users(rate: f64, burst: f64, at_once: Option<f64>, met: &Met) -> Option<Ends> {
    let (spawn, took) = (met.spawn?, met.alone.or(met.service)?);
    // Users who wait for a worker ask for less than the bucket lets through.
    let slower = |&(workers, told): &(f64, Option<f64>)| {
        let each = told.or(met.alone).or(met.unloaded);
        each.is_some_and(|each| workers <= rate * (1.0 + TOLERANCE) * each)
    };
    if met.pools.iter().any(slower) {
        return None;
    }
    let Some(passes) = at_once.map(|n| n.min(burst)) else {
        return met.service.map(|took| rate * (took + met.think)).map(|n| (n, n));
    };
    // The times seen are longer than a response alone takes, by some waiting.
    let alone = if passes < burst { met.alone.unwrap_or(0.0) } else { took };
    let served = |time: f64| rate * (time + met.think);
    let waiting = |time: f64| (burst - passes).min((rate * (met.patience.0 - time)).max(0.0));
    let (least, one) = (waiting(took) + served(alone), if passes < burst { 1.0 } else { 0.0 });
    // After `t` seconds of `spawn` more users a second, each of whom asks every `took`, `spawn t^2 / 2 took` came too early.
    let seconds = (2.0 * passes * (took + met.think) / spawn).sqrt();
    let most = waiting(alone) + served(took) + spawn * seconds + one;
    // All at the same instant: the bucket takes `burst` beyond the one that is its turn, unless they are held back one by one.
    let least = if passes < burst { least } else { least.min(burst + 1.0) };
    Some((least, most.min(met.level.max(least + one))))
}
