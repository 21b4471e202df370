//! A limit weighed against a break, and where it was to be met.

use genkai_model::finding::{Against, Break, Candidate};
use genkai_model::limit::{Law, Strength};
use genkai_model::units::Range;

use crate::capacity::{Demand, Forecast, TOLERANCE};

/// A limit weighed against a break.
#[derive(Clone, Debug)]
pub struct Weighed<'l> {
    /// The limit with its prediction.
    pub forecast: Forecast<'l>,
    /// The verdict on it.
    pub candidate: Candidate,
    /// Its strongest sign.
    pub strongest: Option<Strength>,
    /// Whether it cannot have bitten at all: a queue that is longer than all clients there were, or one that lets more through and left no
    /// sign but such as others leave, too.
    pub out_of_reach: bool,
}

impl Weighed<'_> {
    /// Whether it can be the cause.
    pub fn is_possible(&self) -> bool {
        !self.out_of_reach && self.candidate.against.iter().all(|a| *a == Against::WrongPlace)
    }

    /// Whether it can be, and what was seen in that very trial says that it was reached: a sign more than one that fits.
    pub fn is_shown(&self) -> bool {
        self.is_possible() && self.strongest > Some(Strength::Consistent)
    }
}

/// Whether `at` lies in `range`, give or take [`TOLERANCE`].
pub fn is_near(range: Range, at: f64) -> bool {
    at >= range.low * (1.0 - TOLERANCE) - 1.0 && at <= range.high * (1.0 + TOLERANCE) + 1.0
}

/// What the law of `limit` counts, as observed at the break: clients (all that are connected, or those with a request in
/// flight; users, where each has one connection at most and connections are not counted), users, or requests a second; with the prediction in the same unit.
pub fn observed(forecast: &Forecast<'_>, broke: &Break, demand: &Demand) -> Option<(Range, f64)> {
    let predicted = &forecast.predicted;
    match forecast.limit.law {
        Law::Slots { idle_cost, .. } => {
            let users = demand.think == 0.0 || !demand.counted;
            let at = match users && !demand.tunnels && !demand.is_open() {
                true => broke.level,
                false if demand.tunnels => broke.in_flight,
                // Who keeps a stream is there, whether or not it has a request in flight.
                false if demand.shares && demand.keeps && !demand.is_open() => broke.level,
                false if demand.keeps && idle_cost > 0.0 && !demand.shares => broke.connections.unwrap_or(broke.level),
                // What takes nothing while it thinks is predicted as all who are there, of whom a part asks.
                false if demand.thinks_present() => broke.level,
                false => broke.in_flight,
            };
            Some((predicted.clients?, at))
        }
        Law::Workers { .. }
        | Law::Growing { .. }
        | Law::Rate { .. }
        | Law::NewConnections { .. }
        | Law::Handshakes { .. } => {
            Some((if demand.is_open() { predicted.rate? } else { predicted.users? }, broke.level))
        }
        Law::Backlog { .. }
        | Law::BodySize { .. }
        | Law::MessageSize { .. }
        | Law::Idle { .. }
        | Law::Cpu { .. }
        | Law::Delay { .. }
        | Law::Tried { .. }
        | Law::Unknown => None,
    }
}
