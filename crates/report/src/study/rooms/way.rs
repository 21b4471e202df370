//! The way of messages through the servers of chat rooms, as a row of stations with what was lost before each.

use genkai_model::finding::rooms::{Place, Placed, RoomsRun};

use super::place;
use crate::document::{Drawing, Station};
use crate::figure;

/// A station with its count, and what was lost on the way to it, or in it, and where.
pub(super) struct Passed {
    name: String,
    count: u64,
    /// What is counted: `messages` up to the fan-out, then `deliveries`.
    unit: &'static str,
    pub(super) lost: Vec<(u64, String)>,
}

/// All stations of a run, in order; those of a router and a backplane only where there was one.
pub(super) fn stations(run: &RoomsRun) -> Vec<Passed> {
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
        all.push(Passed { unit: "copies, one a node", ..copies });
    }
    let inside: &[Place] = if backplane { &[] } else { &[Place::InNode] };
    all.push(deliveries("queued for members", hops.queued, inside));
    all.push(deliveries("written to sockets", hops.written, &[Place::WriteQueue, Place::ReceiverGone]));
    all.push(deliveries("heard by members", run.delivered, &[Place::AfterNode, Place::Unknown]));
    all
}

fn station(run: &RoomsRun, name: &str, count: u64, unit: &'static str, places: &[Place]) -> Passed {
    let here = |placed: &&Placed| places.contains(&placed.place);
    let lost = |placed: &Placed| (placed.count, place(placed));
    Passed { name: name.to_owned(), count, unit, lost: run.losses.iter().filter(here).map(lost).collect() }
}

/// The drawing of them.
pub(super) fn drawing(stations: &[Passed]) -> Drawing {
    let lost = |one: &Passed| one.lost.iter().map(|(count, _)| count).sum::<u64>();
    let said = |one: &Passed| {
        let lost = match lost(one) {
            0 => String::new(),
            lost => format!(" ({} deliveries lost before)", figure::count(lost)),
        };
        format!("{} {} {}{lost}", figure::count(one.count), one.unit, one.name)
    };
    let station = |one: &Passed| Station {
        name: one.name.clone(),
        count: figure::count(one.count),
        unit: one.unit.to_owned(),
        lost: (lost(one) > 0).then(|| format!("−{}", figure::count(lost(one)))),
    };
    let label = stations.iter().map(said).collect::<Vec<_>>().join(", ");
    Drawing::Way { label, stations: stations.iter().map(station).collect() }
}
