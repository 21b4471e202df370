//! embedded servers: an HTTP origin with a known service time and a cap on concurrent work, a WebSocket echo,
//! chat rooms; and a link that is worse than loopback.
//!
//! A measured server must not share a process with what measures it, so each of these runs as a process of its own
//! (`genkai serve ...`); this crate is what that process does. Reading order: [`http`] (how it behaves),
//! [`pool`] (workers and their queue, without a clock), [`service`] (how long requests take).

mod accept;
pub mod aside;
mod clock;
pub mod echo;
pub mod http;
pub mod link;
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
    let socket = bound(address, false)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// As [`listen`], on an address that several processes listen on: the kernel spreads connections evenly over them
/// (`SO_REUSEPORT`, socket(7)). All of them must ask for it, and be the same user's.
///
/// # Errors
/// When the address cannot be bound.
pub fn listen_shared(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = bound(address, true)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// An address that is kept for processes that will [`listen_shared`] on it. It takes no connections itself.
#[derive(Debug)]
pub struct Reserved(Socket);

impl Reserved {
    /// Keeps `address`; port 0 takes a free one. An address on which somebody listens is refused.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub fn take(address: SocketAddr) -> io::Result<Reserved> {
        // With SO_REUSEPORT, another's server of the same kind would share its connections with ours unnoticed.
        drop(listen(address)?);
        Ok(Reserved(bound(address, true)?))
    }

    /// The address, with its port.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()?.as_socket().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }
}

fn bound(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    socket.bind(&address.into())?;
    Ok(socket)
}
