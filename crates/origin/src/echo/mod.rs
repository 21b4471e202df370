//! A WebSocket server that sends every message back (RFC 6455), as it was: text as text, binary as binary, compressed if
//! the client offers it (RFC 7692) and that is allowed.
//!
//! * Any target opens; the first subprotocol asked for is chosen. What is not a correct handshake is answered by the status
//!   that says what is wrong.
//! * A message is sent back when it is whole; until then its parts wait, bounded by [`MAX_MESSAGE`].
//! * What violates the protocol ends the connection with the code it calls for, at the first wrong byte.
//! * A client that does not read is not read from.
//! * An idle connection costs its socket and its state, and no buffer.
//!
//! One thread does everything, as in [`http`](crate::http); start several on several ports for more.

mod connection;

use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use genkai_wire::websocket::MAX_MESSAGE;
use tokio::task::LocalSet;

use crate::accept;
use connection::Shared;

/// How the server behaves.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Whether compression is agreed to.
    pub deflate: bool,
    /// Largest message, bytes.
    pub max_message: u64,
    /// How long a message waits before it is sent back; those that came with it wait with it.
    pub delay: Duration,
}

impl Default for Spec {
    /// Compression allowed, messages up to [`MAX_MESSAGE`].
    fn default() -> Spec {
        Spec { deflate: true, max_message: MAX_MESSAGE, delay: Duration::ZERO }
    }
}

/// Serves until `stop` is set: blocks the calling thread, which does all the work.
///
/// # Errors
/// When the event loop cannot be made, or the listener fails for good.
pub fn serve(listener: TcpListener, spec: Spec, stop: &Arc<AtomicBool>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let shared = Rc::new(Shared::new(spec));
        tokio::select! {
            ended = accept::forever(&listener, |stream| connection::serve(stream, Rc::clone(&shared))) => ended,
            () = accept::stopped(stop) => Ok(()),
        }
    })
}

#[cfg(test)]
mod tests;
