//! Looks at a server that were over before the load was.

use genkai_model::event::Tick;
use genkai_model::evidence::Sample;
use genkai_model::load::Arrivals;
use genkai_model::record::Trial;

use crate::window;

/// Clients of a trial at an instant, microseconds: connections, or where clients share these (HTTP/2) the users, and of a rate the requests in
/// flight.
pub(super) fn clients_at(trial: &Trial, us: u64) -> f64 {
    let load = &trial.started.load;
    let users = matches!(load.arrivals, Arrivals::Users { .. });
    let clients = |tick: &Tick| match load.http2() {
        None => tick.connections as f64,
        Some(_) if users => tick.level,
        Some(_) => tick.in_flight as f64,
    };
    window::gauge(&trial.ticks, us, clients)
}

/// The looks at `subject` before the load and while it ran, in order: microseconds of the trial, and what was seen.
///
/// A look is stamped when it begins, and reading takes a while: the last one within the load may have read what was left when its clients were gone.
/// Whoever looks takes everything in turn, of which all that is seen in one round has one stamp: a look is surely over when the next round begins, so that
/// one counts only if another round, whatever was seen in it, began before the load's end.
pub(super) fn during<'t>(trial: &'t Trial, subject: &'t str) -> impl Iterator<Item = (i64, &'t Sample)> {
    let end = trial.ticks.last().map_or(0, |tick| tick.to_us as i64);
    let last = trial.samples.iter().map(|(at, _)| *at).filter(|at| *at <= end).max();
    let own = trial.samples.iter().filter(move |(_, one)| one.subject == subject);
    own.filter(move |(at, _)| last.is_some_and(|last| *at < last)).map(|(at, sample)| (*at, sample))
}
