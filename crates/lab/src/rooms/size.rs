//! Whether a load of rooms, or of requests held open, fits: into the generator's memory, and into what this machine has for
//! connections.

use genkai_model::event::Environment;
use genkai_model::load::{Arrivals, Load, Protocol};

use crate::error::LabError;
use crate::headroom;

/// Most deliveries that may be due. The generator keeps a bit for each (512 MiB for so many), and looks at those of members that
/// missed something when the load is over.
const MOST_DELIVERIES: u64 = 1 << 32;

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
    let hint = "fewer clients (--rooms, --members; for `rooms-http` --most), or raise the limit where root may: `ulimit -n` for \
                descriptors, net.ipv4.ip_local_port_range for ports";
    headroom::advised(load, &headroom::look(&load.addresses, environment), Some(hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{self, Size, rooms};
    use crate::system::{self, Pin};
    use genkai_model::plan::Backplane;

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
        assert!(text.contains("--members") && !text.contains("--processes") && !text.contains("--source"), "{text}");
    }
}
