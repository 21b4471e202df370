//! A server on a thread of this process, for a program that wants one beside what it does: tests.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// A running server. Dropping it ends it.
#[derive(Debug)]
pub struct Aside {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Aside {
    /// Has `serve` serve on a free port of loopback until the flag is set.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn start(
        serve: impl FnOnce(TcpListener, Arc<AtomicBool>) -> io::Result<()> + Send + 'static,
    ) -> io::Result<Aside> {
        let listener = crate::listen((Ipv4Addr::LOCALHOST, 0).into())?;
        let (address, stop) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let ends = Arc::clone(&stop);
        Ok(Aside { address, stop, thread: Some(thread::spawn(move || serve(listener, ends))) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it, if it has not ended.
    ///
    /// # Errors
    /// What it failed with; a panic of its thread is one, too.
    pub fn end(&mut self) -> io::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the server's thread panicked")))
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let ended = self.end();
        // A panic while another is under way would end the process without a word of the first.
        if !thread::panicking() {
            assert!(ended.is_ok(), "{ended:?}");
        }
    }
}
