//! WebSocket load: what is sent, and what became of each message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rooms::Rooms;
use crate::units::Span;

/// Smallest message that carries its identity, bytes: connection, sequence number and planned instant in text.
pub const SMALLEST_MESSAGE: u64 = 24;

/// Close code of who got a message that is too big (RFC 6455 section 7.4.1).
pub const TOO_BIG: u16 = 1009;

/// What goes over the WebSocket connections of a load. The request's method is GET; its path, host and headers are those
/// of the opening handshake (RFC 6455 section 4.1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebSocket {
    /// The messages, each of which the server is to send back; none: connections are opened and held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// Subprotocols offered, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subprotocols: Vec<String>,
    /// Compression offered (RFC 7692).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deflate: Option<Deflate>,
    /// A ping on each connection so often; its pong is due within the load's timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping: Option<Span>,
    /// Open model: connections opened a second; none: all at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_rate: Option<f64>,
    /// Closed model: users are members of chat rooms. The messages are as `message` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rooms: Option<Rooms>,
}

/// One message, sent over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Bytes, at least [`SMALLEST_MESSAGE`].
    pub size: u64,
    /// Binary instead of text.
    #[serde(default)]
    pub binary: bool,
}

/// Compression offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Deflate {
    /// As browsers offer it: each direction keeps its window from message to message.
    Takeover,
    /// Each message compressed by itself (`client_no_context_takeover; server_no_context_takeover`).
    NoTakeover,
}

/// What became of messages. Those not yet settled are `sent - delivered - lost - changed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Messages {
    /// Messages written.
    pub sent: u64,
    /// Echoes that came back whole, in time or late, each counted once.
    pub delivered: u64,
    /// Will not come any more: the server ended the connection without them, or they are too long overdue to be waited for. (Those that are
    /// on their way when the load is over are waited for, as long as its patience lasts; where it was cut short they count as neither.)
    pub lost: u64,
    /// Those that were on their way when the load ended and did not come within its patience after it: of the requests they are in flight at
    /// its end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// Came again.
    pub duplicated: u64,
    /// Came after one that was sent later on the same connection.
    pub reordered: u64,
    /// Came after the load's timeout (counted under `delivered` too, and before as a timeout).
    pub late: u64,
    /// Came back as something else: with its identity, but not as it was sent; or never, where all that came for it was something
    /// that is nobody's echo, while it was the only one on its way on that connection.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub changed: u64,
    /// Messages that are nobody's echo: of another connection, not asked for, or altered so that it is not known whose they were.
    pub foreign: u64,
    /// Pings of the server that were answered.
    pub pings: u64,
    /// Pings of ours.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pinged: u64,
    /// Pongs to our pings.
    pub pongs: u64,
    /// Connections that ended, by close code of the server's close frame; 1005 for none in the frame, 1006 when there was no
    /// close frame (RFC 6455 section 7.1.5).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closes: Vec<CloseCount>,
    /// What went wrong, by name: the first few of the interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incidents: Vec<Incident>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Connections ended with one code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CloseCount {
    /// The code.
    pub code: u16,
    /// Connections.
    pub count: u64,
}

/// One message that did not come once, in order and in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Incident {
    /// What happened to it.
    pub what: Fate,
    /// Number of its connection.
    pub connection: u32,
    /// Its number on that connection, from 0.
    pub sequence: u64,
    /// When it was planned, microseconds since the load began; none where that is not known any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_us: Option<u64>,
}

/// What can happen to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// See [`Messages::lost`].
    Lost,
    /// See [`Messages::duplicated`].
    Duplicated,
    /// See [`Messages::reordered`].
    Reordered,
    /// See [`Messages::late`].
    Late,
    /// See [`Messages::changed`].
    Changed,
    /// See [`Messages::foreign`]; connection and sequence are what it claims, or those of its receiver.
    Foreign,
}

/// Most incidents named in one interval.
pub const MOST_INCIDENTS: usize = 8;

impl Messages {
    /// Those that did not come once, in order, in time and as they were sent; `incidents` names the first of them.
    pub fn wrong(&self) -> u64 {
        self.lost + self.duplicated + self.reordered + self.late + self.changed + self.foreign
    }

    /// Adds what another thread or interval saw.
    pub fn add(&mut self, other: &Messages) {
        self.sent += other.sent;
        self.delivered += other.delivered;
        self.lost += other.lost;
        self.unanswered += other.unanswered;
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
        self.late += other.late;
        self.changed += other.changed;
        self.foreign += other.foreign;
        self.pings += other.pings;
        self.pinged += other.pinged;
        self.pongs += other.pongs;
        for close in &other.closes {
            self.closed(close.code, close.count);
        }
        let room = MOST_INCIDENTS.saturating_sub(self.incidents.len());
        self.incidents.extend(other.incidents.iter().take(room));
    }

    /// Counts connections that ended with `code`. Codes are kept in order.
    pub fn closed(&mut self, code: u16, count: u64) {
        match self.closes.binary_search_by_key(&code, |close| close.code) {
            Ok(at) => self.closes[at].count += count,
            Err(at) => self.closes.insert(at, CloseCount { code, count }),
        }
    }

    /// Names an incident, if there is room.
    pub fn incident(&mut self, incident: Incident) {
        if self.incidents.len() < MOST_INCIDENTS {
            self.incidents.push(incident);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_keeps_codes_apart_and_incidents_few() {
        let incident = Incident { what: Fate::Lost, connection: 1, sequence: 2, planned_us: None };
        let mut one = Messages { sent: 3, delivered: 2, lost: 1, ..Messages::default() };
        one.closed(1006, 1);
        one.closed(1000, 2);
        (0..20).for_each(|_| one.incident(incident));
        let mut sum = one.clone();
        sum.add(&one);
        assert_eq!((sum.sent, sum.delivered, sum.lost), (6, 4, 2));
        assert_eq!(sum.closes, [CloseCount { code: 1000, count: 4 }, CloseCount { code: 1006, count: 2 }]);
        assert_eq!(sum.incidents.len(), MOST_INCIDENTS);
    }
}
