//! The way of messages through the servers of chat rooms, as a row of stations with what was lost before each.

use genkai_model::finding::rooms::{Place, Placed, RoomsRun};
use serde::Serialize;

use super::rooms::place;
use crate::figure;

/// A station on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Station {
    /// What happens there.
    pub(crate) name: String,
    /// What passed it.
    pub(crate) count: u64,
    /// What is counted: `messages` up to the fan-out, then `deliveries`.
    pub(crate) unit: &'static str,
    /// Deliveries lost on the way to it, or in it, and where.
    pub(crate) lost: Vec<Lost>,
}

/// Deliveries that went missing at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Lost {
    pub(crate) count: u64,
    pub(crate) place: String,
}

/// All stations of a run, in order; those of a router and a backplane only where there was one.
pub(crate) fn stations(run: &RoomsRun) -> Vec<Station> {
    let hops = &run.hops;
    let backplane = hops.published + hops.unpublished > 0;
    let messages = |name: &str, count, places: &[Place]| station(run, name, count, "messages", places);
    let deliveries = |name: &str, count, places: &[Place]| station(run, name, count, "deliveries", places);
    let router = if run.router.is_some() { "sent through the router" } else { "sent by members" };
    let mut all = vec![
        messages(router, run.sent, &[]),
        messages("received by nodes", hops.received, &[Place::BeforeNode, Place::InRouter, Place::DeadNode]),
    ];
    if backplane {
        all.push(messages("given to the backplane", hops.published, &[Place::InNode, Place::ToBackplane]));
        let copies = deliveries("passed on by the backplane", hops.returned, &[Place::InBackplane]);
        all.push(Station { unit: "copies, one a node", ..copies });
    }
    let inside: &[Place] = if backplane { &[] } else { &[Place::InNode] };
    all.push(deliveries("queued for members", hops.queued, inside));
    all.push(deliveries("written to sockets", hops.written, &[Place::WriteQueue, Place::ReceiverGone]));
    all.push(deliveries("heard by members", run.delivered, &[Place::AfterNode, Place::Unknown]));
    all
}

fn station(run: &RoomsRun, name: &str, count: u64, unit: &'static str, places: &[Place]) -> Station {
    let here = |placed: &&Placed| places.contains(&placed.place);
    let lost = |placed: &Placed| Lost { count: placed.count, place: place(placed) };
    Station { name: name.to_owned(), count, unit, lost: run.losses.iter().filter(here).map(lost).collect() }
}

/// The same in one line, for who cannot see the drawing.
pub(crate) fn line(stations: &[Station]) -> String {
    let one = |station: &Station| {
        let lost: u64 = station.lost.iter().map(|lost| lost.count).sum();
        let lost = if lost > 0 { format!(" ({} deliveries lost before)", figure::count(lost)) } else { String::new() };
        format!("{} {} {}{lost}", figure::count(station.count), station.unit, station.name)
    };
    stations.iter().map(one).collect::<Vec<_>>().join(", ")
}
