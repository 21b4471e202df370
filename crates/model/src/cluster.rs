//! Nodes with what stands before and between them: the servers of chat rooms and of requests held open.

use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Span};

/// Servers of chat rooms, or of requests held open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cluster {
    /// Numbers of nodes to be tried, one after the other.
    pub nodes: Vec<u32>,
    /// The application that a node is, e.g. `embedded`.
    #[serde(default = "embedded")]
    pub server: String,
    /// What stands before the nodes; none: clients go to the nodes, in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router: Option<Router>,
    /// How nodes share rooms.
    pub backplane: Backplane,
    /// Lines of the private Redis's configuration beside its defaults, e.g. `maxclients 20`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redis: Vec<String>,
    /// Bytes that may wait for one member in a node.
    pub member_queue: Bytes,
    /// Messages each node keeps a trace of.
    pub trace: u32,
    /// Faults on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

fn embedded() -> String {
    "embedded".to_owned()
}

/// A proxy that spreads connections over nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Router {
    /// Which, e.g. `haproxy`.
    pub product: String,
    /// Connections that a node gets at once; none: as many as come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_connections: Option<u32>,
    /// How long a request waits for a node with room before it is refused. (nginx has no such queue: it refuses at once.)
    pub queue_timeout: Span,
    /// This machine's address at which it listens; none: 127.0.0.1. Nodes stay at that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<Ipv4Addr>,
}

/// How nodes share rooms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backplane {
    /// They do not: only one node can serve a room.
    #[default]
    None,
    /// Over a private Redis (pub/sub).
    Redis,
}

impl Backplane {
    /// What samples, log lines and limits call it; none where there is none.
    pub fn subject(self) -> Option<&'static str> {
        match self {
            Backplane::None => None,
            Backplane::Redis => Some("redis"),
        }
    }
}

/// Something that goes wrong on purpose, to see whether it is found out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Node 1 loses every so many-th message.
    LoseEvery(u64),
    /// The last node is killed so long after the load began.
    KillNode(Span),
    /// Redis closes the connections of all subscribers so long after the load began.
    CutSubscribers(Span),
    /// The same, and others take every connection that Redis allows (`maxclients`): subscribers do not get back in.
    FillRedis(Span),
    /// The router stands still so long after the load began, and is killed and started anew a little later: what was on its
    /// way through it is lost.
    ResetRouter(Span),
}
