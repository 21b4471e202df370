//! embedded servers: an HTTP origin with a known service time and a cap on concurrent work, a WebSocket echo,
//! chat rooms.
//!
//! A measured server must not share a process with what measures it, so each of these runs as a process of its own
//! (`genkai serve ...`); this crate is what that process does. Reading order: [`http`] (how it behaves),
//! [`pool`] (workers and their queue, without a clock), [`service`] (how long requests take).

mod accept;
mod clock;
pub mod echo;
pub mod http;
#[cfg(test)]
mod peer;
pub mod pool;
mod printer;
pub mod rooms;
pub mod service;
mod socket;

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

/// Connections that may wait to be accepted; the kernel takes the smaller of this and `net.core.somaxconn` (listen(2)).
/// As large as that usually is: the origin must not be the listener that overflows.
const BACKLOG: i32 = 4096;

/// A listener with a long accept queue. Port 0 takes a free one. The address can be bound again at once after an origin
/// has ended (`SO_REUSEADDR`), but not while one runs.
///
/// # Errors
/// When the address cannot be bound.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}
