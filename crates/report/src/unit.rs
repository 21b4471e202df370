//! What a load counts, in words.

use genkai_model::load::Protocol;

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unit {
    #[default]
    Requests,
    Messages,
    Openings,
    /// Chat rooms: messages times members that hear them.
    Deliveries,
}

impl Unit {
    pub(crate) fn of(protocol: &Protocol) -> Unit {
        match protocol {
            Protocol::WebSocket(websocket) if websocket.rooms.is_some() => Unit::Deliveries,
            Protocol::WebSocket(websocket) if websocket.message.is_some() => Unit::Messages,
            Protocol::WebSocket(_) => Unit::Openings,
            Protocol::Http1 | Protocol::Http2(_) => Unit::Requests,
        }
    }

    /// Who makes the load, where that is a number of them.
    pub(crate) fn who(self) -> (&'static str, &'static str) {
        match self {
            Unit::Requests | Unit::Messages => ("user", "users"),
            Unit::Openings => ("connection", "connections"),
            Unit::Deliveries => ("member", "members"),
        }
    }

    pub(crate) fn many(self) -> &'static str {
        match self {
            Unit::Requests => "requests",
            Unit::Messages => "messages",
            Unit::Openings => "openings",
            Unit::Deliveries => "deliveries",
        }
    }

    /// How long it takes, and the plural of that.
    pub(crate) fn latency(self) -> (&'static str, &'static str) {
        match self {
            Unit::Requests => ("latency", "latencies"),
            Unit::Messages => ("round trip", "round trips"),
            Unit::Openings => ("time to open", "times to open"),
            Unit::Deliveries => ("delivery time", "delivery times"),
        }
    }
}
