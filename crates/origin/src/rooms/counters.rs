//! What happened at each hop of a node.

use std::sync::atomic::{AtomicU64, Ordering};

use genkai_model::rooms::Hops;

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
