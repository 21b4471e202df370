//! What caps connections, as data.

use genkai_model::limit::{Law, Limit, Origin, Strength, Symptom};

use super::records::{CONNECTIONS, THROTTLE, default};
use crate::limits::log;

/// Signature of the message that it refuses connections (iocore/net/UnixNetAccept.cc).
const THROTTLING: &str = "trafficserver-throttling";

/// The known message that a line of its log is.
pub(super) fn signature(line: &str) -> Option<&'static str> {
    line.contains("too many connections, throttling").then_some(THROTTLING)
}

/// Every limit of a Traffic Server with so many descriptors, and `connections_throttle` as it is written.
pub(super) fn with(asked: Option<(u32, Origin)>, descriptors: u64) -> Vec<Limit> {
    let (asked, origin) = asked.unwrap_or_else(|| (THROTTLE, default()));
    // src/traffic_server/traffic_server.cc: at most the descriptors less 192 ("connection throttle too high").
    let value = u64::from(asked).min(descriptors.saturating_sub(192)) as f64;
    vec![Limit {
        value: asked.to_string(),
        origin,
        caps: "open sockets, of clients and to the origin; beyond 1/1.1 of it new ones are closed at once".to_owned(),
        law: Law::Slots {
            value: (value / 1.1).floor(),
            reserved: 0.0,
            idle_cost: 1.0,
            busy_cost: 2.0,
            pools: 1.0,
            soft: 1.0,
        },
        formula: format!("connections_throttle ({value:.0}) / 1.1 / 2 for requests that go to the origin"),
        source: "trafficserver 9.2 iocore/net/P_UnixNet.h:178, :426".to_owned(),
        signatures: vec![log(THROTTLING, Strength::Decisive)],
        symptom: Symptom { errors: vec![genkai_model::error::ErrorKind::Reset], slow: false },
        ..Limit::named("trafficserver.connections_throttle", "trafficserver", CONNECTIONS)
    }]
}
