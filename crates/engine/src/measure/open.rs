//! How many connections a process has open, counted where they open and close, and not by looking now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The connections of all threads of a process. Two atomic counters, touched when a connection opens or closes and never by a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenCount(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    now: AtomicU64,
    most: AtomicU64,
}

impl OpenCount {
    /// One more is open.
    pub(crate) fn opened(&self) {
        let now = self.0.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.0.most.fetch_max(now, Ordering::Relaxed);
    }

    /// One is gone.
    pub(crate) fn closed(&self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }

    /// The most that were open at once so far.
    pub(crate) fn most(&self) -> u64 {
        self.0.most.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_at_once_is_of_all_threads_together() {
        let count = OpenCount::default();
        let barrier = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..25).for_each(|_| count.opened());
                    barrier.wait();
                    (0..25).for_each(|_| count.closed());
                });
            }
        });
        assert_eq!((count.most(), count.0.now.load(Ordering::Relaxed)), (100, 0));
        count.opened();
        assert_eq!(count.most(), 100, "what was, stays");
    }
}
