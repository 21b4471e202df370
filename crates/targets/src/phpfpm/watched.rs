//! The status page of a pool that serves others, asked rarely and beside everything else, on a socket of its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use genkai_place::endpoint::Endpoint;

use super::status::{Status, StatusPage};

/// Between two pages: php-fpm's master counts once a second (fpm_process_ctl.h: FPM_IDLE_SERVER_MAINTENANCE_HEARTBEAT).
const EVERY: Duration = Duration::from_secs(1);

/// It, asked until it is dropped.
#[derive(Debug)]
pub(super) struct Watched(Arc<Mutex<Option<Status>>>);

impl Watched {
    /// Begins to ask for `path` at `at`.
    pub(super) fn of(at: Endpoint, path: &str) -> Watched {
        let seen = Arc::new(Mutex::new(None));
        let theirs = Arc::downgrade(&seen);
        let mut page = StatusPage::short(at, path);
        thread::spawn(move || {
            while let Some(seen) = theirs.upgrade() {
                let status = page.look().ok();
                // What it said last stays where it does not answer.
                if status.is_some() {
                    *seen.lock().unwrap_or_else(PoisonError::into_inner) = status;
                }
                drop(seen);
                thread::sleep(EVERY);
            }
        });
        Watched(seen)
    }

    /// What it said last; none before it has.
    pub(super) fn status(&self) -> Option<Status> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
