//! Counts for whoever started the origin.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::pool::Counts;

/// The pool's counts, readable from any thread. Each is exact; together they may be a request apart.
#[derive(Debug, Default)]
pub(super) struct Counters {
    busy: AtomicU64,
    queued: AtomicU64,
    refused: AtomicU64,
    done: AtomicU64,
}

impl Counters {
    pub(super) fn set(&self, counts: Counts) {
        self.busy.store(counts.busy, Ordering::Relaxed);
        self.queued.store(counts.queued, Ordering::Relaxed);
        self.refused.store(counts.refused, Ordering::Relaxed);
        self.done.store(counts.done, Ordering::Relaxed);
    }

    /// A request that took no time.
    pub(super) fn one_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn line(&self, workers: Option<u32>) -> String {
        let [busy, queued, refused, done] =
            [&self.busy, &self.queued, &self.refused, &self.done].map(|count| count.load(Ordering::Relaxed));
        serde_json::json!({
            "busy": busy, "queued": queued, "workers": workers, "refused_total": refused, "done_total": done,
        })
        .to_string()
    }
}
