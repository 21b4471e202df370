//! What a router before the nodes tells after a load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of connections at the router.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouterReport {
    /// Which, e.g. `haproxy`.
    pub product: String,
    /// Its version.
    pub version: String,
    /// Each node as the router saw it. Empty where the router does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<RouterNode>,
    /// Requests that waited for a node at once, at most, where the router tells; of several processes the sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_peak: Option<u64>,
    /// Requests to enter that the router answered itself, by why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    /// Connections of members that did not end by the member's wish, of those that the router tells of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<Ended>,
    /// When the router was killed and started anew, microseconds since the load began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resets_us: Vec<u64>,
}

impl RouterReport {
    /// What two processes of one router tell together.
    pub fn and(mut self, other: RouterReport) -> RouterReport {
        for node in other.nodes {
            match self.nodes.iter_mut().find(|one| one.node == node.node) {
                Some(one) => {
                    one.peak += node.peak;
                    one.connect_errors += node.connect_errors;
                    one.limit = one.limit.zip(node.limit).map(|(one, other)| one + other);
                }
                None => self.nodes.push(node),
            }
        }
        for refused in other.refused {
            match self.refused.iter_mut().find(|one| one.why == refused.why) {
                Some(one) => one.count += refused.count,
                None => self.refused.push(refused),
            }
        }
        self.queue_peak = self.queue_peak.zip(other.queue_peak).map(|(one, other)| one + other);
        self.ended.extend(other.ended);
        self.resets_us.extend(other.resets_us);
        self
    }
}

/// A node as the router saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouterNode {
    /// Which one, from 1.
    pub node: u32,
    /// Connections at once, at most; of a router of several processes the sum of what each had at most.
    pub peak: u64,
    /// Connections it may have at once; none: no cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Connections to it that failed.
    pub connect_errors: u64,
}

/// Requests refused by the router, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refused {
    /// Why.
    pub why: Why,
    /// How many.
    pub count: u64,
}

/// Why a router refuses to pass on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Every node had as many connections as it may have, for as long as a request may wait.
    QueueTimeout,
    /// Every node had as many connections as it may have.
    NodesFull,
    /// The node did not accept the connection.
    NodeRefused,
    /// The node did not accept the connection in time.
    NodeSilent,
    /// There was no node that it could be given to.
    NoNode,
    /// The router had no room itself (connections, descriptors, memory).
    RouterFull,
    /// Something else.
    Other,
}

/// A member's connection that ended without the member's wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ended {
    /// Whose.
    pub member: u32,
    /// By whom.
    pub by: Ender,
}

/// Who ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ender {
    /// The router, by its own decision (a timeout, an order).
    Router,
    /// The node.
    Node,
}
