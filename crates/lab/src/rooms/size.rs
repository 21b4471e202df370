//! Whether a load of rooms, or of requests held open, fits: into the generator's memory, and into what this machine has for
//! connections.

use genkai_model::event::Environment;
use genkai_model::load::{Arrivals, Load, Protocol};
use genkai_model::plan::Cluster;
use genkai_place::machine;

use crate::error::LabError;
use crate::headroom;

/// Most deliveries that may be due. The generator keeps a bit for each (512 MiB for so many), and looks at those of members that
/// missed something when the load is over.
const MOST_DELIVERIES: u64 = 1 << 32;
/// Descriptors that a node has of its own: listener, backplane, logs, pollers, files of a runtime.
const NODE_OWN: u64 = 200;

/// Clients at once.
pub(super) fn clients(load: &Load) -> u32 {
    match load.arrivals {
        Arrivals::Users { count, .. } => count,
        Arrivals::Rate { connections, .. } => connections,
    }
}

/// Whether the generator can keep account of all deliveries.
///
/// # Errors
/// When there would be too many.
pub(super) fn bounded(load: &Load) -> Result<(), LabError> {
    let Protocol::WebSocket(websocket) = &load.protocol else { return Ok(()) };
    let Some(rooms) = &websocket.rooms else { return Ok(()) };
    let (members, messages) = (u64::from(clients(load)), u64::from(rooms.messages));
    // Each member hears all members of its room, the largest room's number at most.
    let seats = members.div_ceil(u64::from(rooms.rooms).max(1));
    let due = members.saturating_mul(seats).saturating_mul(messages);
    if due <= MOST_DELIVERIES {
        return Ok(());
    }
    Err(LabError::Plan(format!(
        "{members} members who each hear {seats} members say {messages} messages are {due} deliveries; the generator keeps account of \
         at most {MOST_DELIVERIES}\n  hint: fewer --members or --messages"
    )))
}

/// The load with the source addresses that it needs to go to its addresses.
///
/// # Errors
/// When it does not fit this machine.
pub(super) fn fitted(load: &Load, environment: &Environment) -> Result<Load, LabError> {
    let hint = "more --processes (or machines: --on), fewer clients (--rooms, --members; for `rooms-http` --most), or raise the limit where root may: `ulimit -n` for \
                descriptors, net.ipv4.ip_local_port_range for ports";
    headroom::advised(load, &headroom::look(&load.addresses, environment), Some(hint))
}

/// Whether the processes of nodes can hold all clients.
///
/// # Errors
/// When they may not have descriptors enough, with the largest number of clients that fits.
pub(super) fn housed(cluster: &Cluster, load: &Load) -> Result<(), LabError> {
    cluster.nodes.iter().try_for_each(|nodes| held(cluster, *nodes, clients(load), machine::hard_descriptors()))
}

/// Whether so many nodes, each of which may have `most` descriptors, can hold `clients`.
fn held(cluster: &Cluster, nodes: u32, clients: u32, most: u64) -> Result<(), LabError> {
    let cap = cluster.router.as_ref().and_then(|router| router.node_connections);
    // Clients are spread evenly, by a router too; it passes no more on than its cap.
    let each = u64::from(clients.div_ceil(nodes.max(1)).min(cap.unwrap_or(u32::MAX)));
    if each + NODE_OWN <= most {
        return Ok(());
    }
    let who = if nodes == 1 { "the node needs".to_owned() } else { format!("each of {nodes} nodes needs") };
    let fit = most.saturating_sub(NODE_OWN) * u64::from(nodes);
    Err(LabError::Environment(format!(
        "{who} {} descriptors for {each} clients, and may have {most}\n  hint: at most {fit} clients fit {nodes} node{}; more --nodes, or fewer \
         --rooms or --members (rooms-http: --most)",
        each + NODE_OWN,
        if nodes == 1 { "" } else { "s" }
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{self, Size, rooms};
    use crate::system::{self, Pin};
    use genkai_model::plan::{Backplane, Router, Study};
    use genkai_model::units::Span;

    fn load(rooms: u32, members: u32, messages: u32) -> Load {
        let shape = rooms::Shape { rooms, members, messages, ..rooms::Shape::of(Size::Full) };
        let site = rooms::Site {
            nodes: vec![1],
            server: "embedded".to_owned(),
            router: None,
            backplane: Backplane::None,
            redis: Vec::new(),
            faults: vec![],
        };
        rooms::plan(Size::Full, &shape, site).load
    }

    #[test]
    fn more_deliveries_than_can_be_kept_are_refused() {
        assert!(bounded(&load(100, 100, 100)).is_ok(), "the original");
        assert!(bounded(&load(1, 4_096, 256)).is_ok(), "just as many");
        let many = |rooms, members, messages| bounded(&load(rooms, members, messages)).unwrap_err().to_string();
        assert!(many(1, 4_096, 257).contains("4311744512 deliveries"), "{}", many(1, 4_096, 257));
        assert!(many(1, u32::MAX / 2, u32::MAX).contains("hint: fewer --members"));
        assert!(bounded(&experiment::users(u32::MAX, 1.0)).is_ok(), "no rooms, no account of deliveries");
    }

    #[test]
    fn nodes_hold_as_many_as_they_have_descriptors_for() {
        let plan = |router: Option<Router>| {
            let site = rooms::Site {
                nodes: vec![1],
                server: "embedded".to_owned(),
                router,
                backplane: Backplane::None,
                redis: Vec::new(),
                faults: vec![],
            };
            let plan = rooms::plan(Size::Full, &rooms::Shape::of(Size::Full), site);
            let Study::Rooms(cluster) = plan.study else { panic!("rooms") };
            cluster
        };
        let free = plan(None);
        assert!(held(&free, 1, 19_800, 20_000).is_ok() && held(&free, 2, 39_600, 20_000).is_ok());
        let text = held(&free, 2, 39_601, 20_000).unwrap_err().to_string();
        assert!(
            text.contains("each of 2 nodes needs 20001 descriptors")
                && text.contains("at most 39600 clients fit 2 nodes"),
            "{text}"
        );
        let product = "haproxy".to_owned();
        let capped = Router { product, node_connections: Some(70), queue_timeout: Span::from_secs(1), listen: None };
        assert!(held(&plan(Some(capped)), 1, 60_000, 20_000).is_ok());
    }

    #[test]
    fn clients_come_from_as_many_addresses_as_they_need() {
        let environment = Environment { ports: (40_000, 40_099), ..system::environment(&Pin::Free, None) };
        let mut load = load(3, 50, 1);
        load.addresses = vec!["127.0.0.1:9".parse().unwrap()];
        let fitted = fitted(&load, &environment).unwrap();
        assert!(fitted.scale.sources.len() >= 3, "half of 100 ports each: {:?}", fitted.scale.sources);
        assert_eq!(fitted.addresses, load.addresses);
    }

    #[test]
    fn what_does_not_fit_names_flags_that_there_are() {
        let environment = Environment { descriptors: 1, ..system::environment(&Pin::Free, None) };
        let text = fitted(&load(u32::MAX / 16, 16, 1), &environment).unwrap_err().to_string();
        assert!(text.contains("--members") && text.contains("--processes") && !text.contains("--source"), "{text}");
    }
}
