//! Ending a load early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A wish to stop, shared by who may have it and who must notice. Once stopped it stays so. The engine looks at it some
/// fifty times a second.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Not stopped.
    pub fn new() -> StopFlag {
        StopFlag::default()
    }

    /// Asks to stop. May be called from a signal handler: it only stores a flag.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`stop`](Self::stop) was called.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
