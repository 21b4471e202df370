//! What an interval of load counts beside its requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::Payload;

/// Requests that had no answer when an interval ended. They have not failed: what becomes of them, later intervals tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// Since when the one has waited that has waited longest, microseconds since the load began: since its write, or the attempt to
    /// connect; none where nobody waits.
    pub since_us: Option<u64>,
    /// `level` at that instant.
    pub since_level: Option<f64>,
    /// Those that had waited for longer than the load's [patience](crate::load::Load::patience).
    pub overdue: u64,
    /// Those that waited for a connection of the generator's and had not been sent (open model).
    pub unsent: u64,
}

/// WebSockets that ended although the client had not asked for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disconnects {
    /// With a close frame of the other side.
    pub closed: u64,
    /// Without one: the connection was cut (end of stream or reset).
    pub cut: u64,
    /// How long nothing had been said or heard on those that were cut, ns.
    pub silent: Payload,
}

impl Disconnects {
    /// All of them.
    pub fn count(&self) -> u64 {
        self.closed + self.cut
    }
}

/// Messages heard by members of chat rooms, their own included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deliveries {
    /// Messages times members that heard them, repetitions left out.
    pub count: u64,
    /// From the planned instant of a message until a member heard it, ns.
    pub latency: Payload,
}

/// What made connections ready after TCP had connected them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Handshakes {
    /// TLS handshakes with certificates.
    pub full: u64,
    /// TLS handshakes that resumed a session.
    pub resumed: u64,
    /// WebSocket handshakes.
    pub upgraded: u64,
    /// WebSockets that could not be opened: the connection, TLS or the handshake failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// WebSockets that were open and that the client ended while the load went on, as the load says.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left: u64,
    /// From connected to ready, ns: TLS, then WebSocket.
    pub took: Payload,
    /// The first WebSocket handshake of the interval that was answered with something else than 101.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
}

/// Left out of a record.
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How often one status was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusCount {
    /// The status (RFC 9110 section 15).
    pub status: u16,
    /// Responses with it.
    pub count: u64,
}

/// A WebSocket handshake that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// The status of the answer.
    pub status: u16,
    /// Where a redirection leads (RFC 9110, 10.2.2), if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// How the body begins, as far as it came with the head: at most [`Refusal::LONGEST`] bytes, as the server wrote them.
    pub body: String,
}

impl Refusal {
    /// Most bytes of a body that are kept.
    pub const LONGEST: usize = 300;
}
