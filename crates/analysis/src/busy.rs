//! Was it the number of connections, or of users? An open load has so many; a request that is due while all are busy waits, and is
//! dropped in the end.
//!
//! That they are all busy can be the server's doing, which answers slower than it did, or the load's own, which planned more
//! than so many connections carry however fast they are answered: `connections / service time` requests a second
//! (Little's law). What tells the two apart is the service time: from the instant of writing, without the wait for a
//! connection, against what it was under little load.

use genkai_model::error::ErrorKind;
use genkai_model::event::Tick;
use genkai_model::finding::ClientLimit;
use genkai_model::limit::Law;
use genkai_model::load::{Arrivals, Protocol};
use genkai_model::objective::Condition;
use genkai_model::record::Trial;
use genkai_model::units::Spread;

use crate::capacity::demand;
use crate::diagnosis::onset::Onset;
use crate::window::{self, Tally};

/// How many times the service time under little load makes a server slow: with as much waiting in it as work (of a single
/// server at random arrivals, half of its capacity is used up by then).
const SLOWER: f64 = 2.0;
/// Fewest responses to know a service time by.
const ENOUGH: u64 = 20;

/// The connections as the client's limit behind `onset`, and since when they were all busy, microseconds. None for closed
/// loads, where connections were free, where the violation is not one of waiting, or where the server had become slow.
pub(crate) fn check(trial: &Trial, onset: &Onset) -> Option<(ClientLimit, u64)> {
    let Arrivals::Rate { connections, .. } = trial.started.load.arrivals else { return None };
    if !trial.started.load.is_one_request() {
        // What is planned are runs of flows, of many requests each.
        return None;
    }
    let ticks = window::before(&trial.ticks, Some(onset.certain_us));
    if !waits(onset, ticks) {
        return None;
    }
    // Over HTTP/2 each carries several requests at once, as many as the server lets it: seen where some wait for room.
    let streams = matches!(trial.started.load.protocol, Protocol::Http2(_));
    let most = demand::most(&trial.started.load);
    let waits = |t: &Tick| t.waiting.map(|waiting| waiting.unsent).filter(|_| streams);
    let full = |t: &&Tick| waits(t).map_or(t.in_flight as f64 > most, |unsent| unsent > 0);
    let first = ticks.iter().position(|t| full(&t))?;
    let carried = ticks.iter().filter(full).filter_map(|t| Some(t.in_flight.saturating_sub(waits(t)?) as f64));
    let most = carried.reduce(f64::max).map_or(most, |carried| carried.min(most));
    let busy = window::merge(ticks.iter().filter(full), |t| &t.service);
    let now = window::quantile(&busy, 0.5).filter(|_| busy.len() >= ENOUGH)?;
    let before = unhurried(&ticks[..first]).or_else(|| alone(trial)).or_else(|| shortest(ticks));
    if before.is_some_and(|before| now >= before * SLOWER) {
        return None;
    }
    let service = busy.mean() / 1e9;
    let carries = most / service;
    let planned = ticks.iter().filter(full).map(|t| t.level).fold(0.0, f64::max);
    // All busy, and yet they could carry it: something else held the load up.
    (planned >= carries)
        .then_some((ClientLimit::Connections { connections, service, carries, planned }, ticks[first].from_us))
}

/// The users as the limit behind `onset`, and since when, microseconds: where fewer than so many requests a second come of them by themselves
/// (`users / (time alone + pause)`, Little's law), the rate asked for is none of the server's. None where the time alone is not known, or
/// responses came faster than that.
pub(crate) fn users(trial: &Trial, onset: &Onset) -> Option<(ClientLimit, u64)> {
    let Some(Condition::RateAbove(rate)) = onset.condition else { return None };
    let Arrivals::Users { count, think, .. } = &trial.started.load.arrivals else { return None };
    if !trial.started.load.is_one_request() {
        return None;
    }
    let ticks = window::before(&trial.ticks, Some(onset.certain_us));
    let fastest = unhurried(ticks).unwrap_or(f64::INFINITY);
    let (alone, think) = (always(trial)?.min(fastest), demand::mean(think));
    let (users, wanted) = (f64::from(*count), rate.at);
    let carries = users / (alone + think);
    let needed = (wanted * (alone + think)).floor() + 1.0;
    (carries < wanted).then_some((ClientLimit::Users { users, alone, carries, wanted, needed }, onset.at_us))
}

/// What every request is known to take alone, seconds.
fn always(trial: &Trial) -> Option<f64> {
    trial.limits.limits.iter().find_map(|l| match &l.law {
        Law::Delay { time: Spread::Constant(time) } => Some(time.as_secs_f64()),
        _ => None,
    })
}

/// Whether the violation is that requests waited: they were dropped, never sent, too late, or too few.
fn waits(onset: &Onset, ticks: &[Tick]) -> bool {
    let tally = Tally::of(ticks);
    match onset.condition {
        Some(Condition::ErrorsBelow(_)) => onset.unsent > 0 || tally.count(&[ErrorKind::Dropped]) * 2 > tally.failed,
        Some(Condition::LatencyBelow(..) | Condition::RateAbove(_)) => true,
        Some(Condition::ConnectsAbove(_) | Condition::DeliveredAbove(_) | Condition::DisconnectsBelow(_)) | None => {
            false
        }
    }
}

/// The median service time of the tick in which it was shortest, among those with enough responses.
fn unhurried(ticks: &[Tick]) -> Option<f64> {
    let services = ticks.iter().map(|t| window::decode(&t.service)).filter(|all| all.len() >= ENOUGH);
    services.filter_map(|all| window::quantile(&all, 0.5)).min_by(f64::total_cmp)
}

/// The shortest service time of all: that of a load which was too steep for a calm beginning.
fn shortest(ticks: &[Tick]) -> Option<f64> {
    let all = window::merge(ticks, |t| &t.service);
    (!all.is_empty()).then(|| all.min() as f64 / 1e9)
}

/// What a request is known to take alone, seconds.
fn alone(trial: &Trial) -> Option<f64> {
    trial.limits.limits.iter().find_map(|l| match &l.law {
        Law::Delay { time } => Some(demand::quantile(time, 0.5)),
        _ => None,
    })
}
