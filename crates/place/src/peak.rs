//! The most connections that a server had at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::endpoint::Endpoint;

/// Between two looks at how many connections a server has, where their peak counts.
const OFTEN: Duration = Duration::from_millis(20);

/// The most connections that a server had at once: looked at more often than everything else, since one too many is refused in a moment.
#[derive(Debug)]
pub struct Peak(Arc<AtomicU64>);

impl Peak {
    /// Looks at `endpoint` until it is dropped.
    pub fn of(endpoint: Endpoint) -> Peak {
        let most = Arc::new(AtomicU64::new(0));
        let theirs = Arc::downgrade(&most);
        std::thread::spawn(move || {
            while let Some(most) = theirs.upgrade() {
                most.fetch_max(endpoint.connections().unwrap_or_default().accepted, Ordering::Relaxed);
                drop(most);
                std::thread::sleep(OFTEN);
            }
        });
        Peak(most)
    }

    /// The most since it was asked before.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn the_most_connections_are_seen_of_both_kinds_of_sockets() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        let (tcp, unix) = (TcpListener::bind("127.0.0.1:0").unwrap(), UnixListener::bind(&path).unwrap());
        let places = [Endpoint::Tcp(tcp.local_addr().unwrap()), Endpoint::Unix(path.clone())];
        let _clients = (TcpStream::connect(tcp.local_addr().unwrap()).unwrap(), UnixStream::connect(&path).unwrap());
        let _accepted = (tcp.accept().unwrap(), unix.accept().unwrap());
        for place in &places {
            let peak = Peak::of(place.clone());
            while peak.take() != 1 {
                std::thread::sleep(OFTEN);
            }
        }
    }
}
