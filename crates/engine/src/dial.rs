//! Opening sockets.

use std::io;

use genkai_model::error::ErrorKind;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::reactor::Source;

/// Starts to connect to `address`; the socket becomes writable when that has ended, one way or the other.
///
/// No source address is bound: the kernel then picks a port that is free for this destination alone. Who binds one (several
/// sources, to have more ports) must set IP_BIND_ADDRESS_NO_PORT first, or the port is taken for all destinations
/// at bind time.
pub(crate) fn dial(address: &SockAddr) -> Result<Source<Socket>, ErrorKind> {
    let domain = Domain::from(i32::from(address.family()));
    let protocol = (domain != Domain::UNIX).then_some(Protocol::TCP);
    let socket = Socket::new(domain, Type::STREAM.nonblocking(), protocol).map_err(|e| kind(&e))?;
    if protocol.is_some() {
        // A request is written in one piece; waiting for more to send (Nagle) could only delay the last segment of a body.
        socket.set_tcp_nodelay(true).map_err(|e| kind(&e))?;
    }
    match socket.connect(address) {
        Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => return Err(kind(&e)),
        _ => {}
    }
    Source::new(socket).map_err(|e| kind(&e))
}

/// How connecting ended, once the socket is writable.
pub(crate) fn outcome(socket: &Socket) -> Result<(), ErrorKind> {
    match socket.take_error() {
        Ok(None) => Ok(()),
        Ok(Some(e)) | Err(e) => Err(kind(&e)),
    }
}

/// connect(2), socket(2), unix(7): a Unix socket without a file has nobody who listens, and one whose accept queue is full
/// says EAGAIN at once where TCP would wait.
fn kind(error: &io::Error) -> ErrorKind {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED | libc::ENOENT) => ErrorKind::ConnectRefused,
        Some(libc::ETIMEDOUT | libc::EAGAIN) => ErrorKind::ConnectTimeout,
        Some(libc::EADDRNOTAVAIL) => ErrorKind::PortsExhausted,
        Some(libc::EMFILE | libc::ENFILE) => ErrorKind::DescriptorsExhausted,
        _ => ErrorKind::ConnectOther,
    }
}
