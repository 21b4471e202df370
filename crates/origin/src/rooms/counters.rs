//! What happened at each hop of a node.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// Counts of one node, readable from any thread. Each is exact; together they may be a message apart.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) joined: Count,
    pub(super) left: Count,
    pub(super) slow: Count,
    pub(super) received: Count,
    pub(super) lost_inside: Count,
    pub(super) published: Count,
    pub(super) unpublished: Count,
    pub(super) returned: Count,
    pub(super) backplane_lost: Count,
    pub(super) queued: Count,
    pub(super) written: Count,
    pub(super) dropped_slow: Count,
    pub(super) dropped_gone: Count,
}

/// One count.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts since a node began. `received = published + unpublished + lost_inside` with a backplane; each message that is
/// passed on is `queued` once a member; `queued = written + dropped_slow + dropped_gone +` what still waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hops {
    /// Members that entered.
    pub joined: u64,
    /// Members that left, or were disconnected.
    pub left: u64,
    /// Members disconnected because they read too slowly.
    pub slow: u64,
    /// Messages received from members.
    pub received: u64,
    /// Messages lost in the node on purpose.
    pub lost_inside: u64,
    /// Messages given to Redis, which said so.
    pub published: u64,
    /// Messages that could not be given to Redis, or of which it is not known.
    pub unpublished: u64,
    /// Messages that came from Redis.
    pub returned: u64,
    /// Times the connection to Redis was lost.
    pub backplane_lost: u64,
    /// Deliveries: messages times the members they are for.
    pub queued: u64,
    /// Deliveries that the kernel took.
    pub written: u64,
    /// Deliveries lost because their member was disconnected for being slow.
    pub dropped_slow: u64,
    /// Deliveries lost because their member was gone.
    pub dropped_gone: u64,
}

impl Counters {
    /// The counts now.
    pub(super) fn hops(&self) -> Hops {
        Hops {
            joined: self.joined.get(),
            left: self.left.get(),
            slow: self.slow.get(),
            received: self.received.get(),
            lost_inside: self.lost_inside.get(),
            published: self.published.get(),
            unpublished: self.unpublished.get(),
            returned: self.returned.get(),
            backplane_lost: self.backplane_lost.get(),
            queued: self.queued.get(),
            written: self.written.get(),
            dropped_slow: self.dropped_slow.get(),
            dropped_gone: self.dropped_gone.get(),
        }
    }

    /// The counts now, as a line of JSON.
    pub(super) fn line(&self) -> String {
        serde_json::to_string(&self.hops()).unwrap_or_default()
    }
}
