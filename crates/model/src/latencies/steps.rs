//! What the clients of one process do, where those of several processes do one thing together.

use serde::{Deserialize, Serialize};

use super::Case;
use crate::histogram::Payload;
use crate::websocket::CloseCount;

/// How the clients' CLOCK_MONOTONIC stands to the server's. Without any difference both are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerClock {
    /// The clients' less the server's, nanoseconds.
    pub offset_ns: i64,
    /// The most by which that can be wrong, nanoseconds.
    pub within_ns: u64,
}

/// A step of a case, for the clients of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Opens connections that have ended, before anything is measured.
    Prepare,
    /// Has the server send one message to all clients of all processes, and receives it.
    Broadcast {
        /// Its bytes.
        bytes: u64,
    },
    /// Receives what another process has the server send.
    Receive {
        /// An instant of the server's clock before it is sent, ns.
        since: u64,
    },
    /// Has the server begin its count anew.
    Clear,
    /// Every client sends a message.
    Send {
        /// Its bytes.
        bytes: u64,
        /// When, CLOCK_MONOTONIC here, ns.
        at: u64,
    },
    /// Waits until the server has counted so many messages.
    Count {
        /// How many.
        due: u64,
    },
    /// Moves a large message of one client.
    Large(Case),
}

/// What came of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepEnd {
    /// The largest delay, or the only one, ns; none when not everything came.
    pub figure: Option<u64>,
    /// Delay of each client, ns.
    #[serde(default, skip_serializing_if = "Payload::is_empty")]
    pub delays: Payload,
    /// Messages that were due.
    pub due: u64,
    /// Those that did not come.
    pub missing: u64,
    /// Sum of all delays that the server counted, ns.
    pub sum: u64,
    /// Connections that ended meanwhile, by code.
    pub closes: Vec<CloseCount>,
    /// Time in which the thread was busy, ns.
    pub busy_ns: u64,
    /// How long the step took, from when it could begin, ns.
    #[serde(default)]
    pub lasted_ns: u64,
    /// By how much messages that came before they were sent, or were sent before they were asked for, show that the clock is wrong, ns.
    #[serde(default)]
    pub wrong_ns: u64,
    /// Heap in use in the server, bytes, of whoever asked the server for something.
    pub heap: Option<u64>,
}
