//! Opening sockets.

use std::cell::Cell;
use std::io;
use std::os::fd::AsRawFd;

use genkai_model::error::ErrorKind;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::reactor::Source;

/// Where connections come from.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    all: Vec<SockAddr>,
    turn: Cell<usize>,
}

impl Sources {
    /// These addresses, in turn from the `first`-th on; none: the system's choice.
    pub(crate) fn new(all: Vec<SockAddr>, first: usize) -> Sources {
        Sources { all, turn: Cell::new(first) }
    }

    /// Starts to connect to `address`; the socket becomes writable when that has ended, one way or the other. A source whose
    /// ports to that address are all taken is passed over.
    pub(crate) fn dial(&self, address: &SockAddr) -> Result<Source<Socket>, ErrorKind> {
        if self.all.is_empty() {
            return dial(address, None);
        }
        for _ in &self.all {
            let turn = self.turn.get();
            self.turn.set(turn.wrapping_add(1));
            match dial(address, Some(&self.all[turn % self.all.len()])) {
                Err(ErrorKind::PortsExhausted) => {}
                other => return other,
            }
        }
        Err(ErrorKind::PortsExhausted)
    }
}

/// Without a source, the kernel picks a port that is free for this destination alone. A source must be bound for its address
/// only (IP_BIND_ADDRESS_NO_PORT), or a port would be taken for all destinations at bind time.
fn dial(address: &SockAddr, source: Option<&SockAddr>) -> Result<Source<Socket>, ErrorKind> {
    let domain = Domain::from(i32::from(address.family()));
    let protocol = (domain != Domain::UNIX).then_some(Protocol::TCP);
    let socket = Socket::new(domain, Type::STREAM.nonblocking(), protocol).map_err(|e| kind(&e))?;
    if protocol.is_some() {
        // A request is written in one piece; waiting for more to send (Nagle) could only delay the last segment of a body.
        socket.set_tcp_nodelay(true).map_err(|e| kind(&e))?;
        if let Some(source) = source {
            bind_address(&socket, source).map_err(|e| kind(&e))?;
        }
    }
    match socket.connect(address) {
        Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => return Err(kind(&e)),
        _ => {}
    }
    Source::new(socket).map_err(|e| kind(&e))
}

/// Binds an address and leaves the port to connect(2) (ip(7); for IPv6 too).
fn bind_address(socket: &Socket, source: &SockAddr) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: reads a value that lives here, with its true size.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if set < 0 {
        return Err(io::Error::last_os_error());
    }
    socket.bind(source)
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
