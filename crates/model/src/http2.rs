//! HTTP/2 load (RFC 9113): how requests share connections, and what servers sent away.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Streams a connection when nothing else is said.
pub const STREAMS: u32 = 10;

/// How requests share connections. Each request is a stream; a closed user has one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Http2 {
    /// At most so many requests (closed model: users) at once on one connection; fewer where the server allows fewer
    /// (SETTINGS_MAX_CONCURRENT_STREAMS, RFC 9113 section 6.5.2). What does not fit opens another connection.
    pub streams: u32,
}

/// Connections that the server asked to leave, and what was on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GoAways {
    /// Connections the server ended by GOAWAY (RFC 9113 section 6.8).
    pub connections: u64,
    /// Requests such a GOAWAY left out as not processed: they were made again, on another connection, and are counted once.
    pub retried: u64,
}

impl GoAways {
    /// Adds what another thread or interval saw.
    pub fn add(&mut self, other: &GoAways) {
        self.connections += other.connections;
        self.retried += other.retried;
    }
}
