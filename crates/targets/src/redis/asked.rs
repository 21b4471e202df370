//! What a private copy of Redis tells of itself while it runs, asked on a connection that it has besides those of its clients.

use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::info::field;
use super::line::Line;

/// Between two questions: who has a connection for a moment only is met in one of many.
const EVERY: Duration = Duration::from_millis(5);

/// What it has told so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ClientCounts {
    /// Most clients at once since this was read last, without genkai.
    pub(super) peak: u64,
    /// Most clients at once since it began.
    pub(super) most: u64,
    /// Clients now.
    now: u64,
    /// Connections that it accepted, since genkai began to ask.
    pub(super) received: u64,
    /// Connections that it refused, since it began.
    pub(super) rejected: u64,
}

/// It, as it is asked until this is dropped.
#[derive(Debug)]
pub(super) struct Asked(Arc<Mutex<ClientCounts>>);

impl Asked {
    /// Begins to ask on `line`.
    pub(super) fn on(mut line: Line<UnixStream>) -> Asked {
        let told = Arc::new(Mutex::new(ClientCounts::default()));
        // genkai's own attempts while it loaded what it keeps.
        let earlier = answer(&mut line).map_or(0, |[_, received, _]| received);
        let theirs = Arc::downgrade(&told);
        thread::spawn(move || {
            while let Some(told) = theirs.upgrade() {
                let Some([now, all, rejected]) = answer(&mut line) else { return };
                let received = all.saturating_sub(earlier);
                let mut seen = told.lock().unwrap_or_else(PoisonError::into_inner);
                *seen = ClientCounts { peak: seen.peak.max(now), most: seen.most.max(now), now, received, rejected };
                drop(seen);
                drop(told);
                thread::sleep(EVERY);
            }
        });
        Asked(told)
    }

    /// What it told; the peak begins anew.
    pub(super) fn take(&self) -> ClientCounts {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = *told;
        told.peak = seen.now;
        seen
    }
}

/// Clients now and connections accepted and refused since it began, all without this one. It is accepted before it may be refused
/// (src/networking.c: acceptCommonHandler; src/server.c: `stat_numconnections`).
fn answer(line: &mut Line<UnixStream>) -> Option<[u64; 3]> {
    let text = line.ask("INFO clients")? + &line.ask("INFO stats")?;
    let number = |name: &str| field(&text, name)?.parse::<u64>().ok();
    let others = |name: &str| Some(number(name)?.saturating_sub(1));
    Some([others("connected_clients")?, others("total_connections_received")?, number("rejected_connections")?])
}
