//! Standing still: now and then the origin does nothing at all for a while, as a server does that collects garbage, swaps, or
//! waits for its disk. What arrives meanwhile waits in its sockets.

use std::cell::Cell;
use std::time::Duration;

use tokio::sync::Notify;

use super::account::{Account, now};

/// How an origin stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// For so long,
    pub lasts: Duration,
    /// in the middle of every so long, counted from the first request.
    pub every: Duration,
}

/// The stalls of one origin.
#[derive(Debug)]
pub(super) struct Stalls {
    how: Option<Stall>,
    /// Whether a request has come.
    begun: Cell<bool>,
    first: Notify,
}

impl Stalls {
    pub(super) fn new(how: Option<Stall>) -> Stalls {
        Stalls { how, begun: Cell::new(false), first: Notify::new() }
    }

    /// A request has come.
    #[inline]
    pub(super) fn begin(&self) {
        if self.how.is_some() && !self.begun.replace(true) {
            self.first.notify_one();
        }
    }

    /// Stops the thread that runs this, and with it the origin, each time; without end.
    pub(super) async fn run(&self, account: Option<&Account>) {
        let Some(Stall { lasts, every }) = self.how else { return std::future::pending().await };
        self.first.notified().await;
        let mut next = tokio::time::Instant::now() + every.saturating_sub(lasts) / 2;
        loop {
            tokio::time::sleep_until(next).await;
            let from = now();
            std::thread::sleep(lasts);
            if let Some(account) = account {
                account.stalled(from, now());
            }
            next += every;
        }
    }
}
