//! A listening socket as the kernel sees it: how many connections wait in its accept queue, how many may, and how many
//! it dropped. Asked of sock_diag(7), the source of `ss -lntm`; unlike the counters of /proc/net/netstat, which are the
//! machine's, these figures belong to one listener.

use std::io;
use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// linux/inet_diag.h: attribute with the socket's memory figures, drops the ninth of them (linux/sock_diag.h).
const INET_DIAG_SKMEMINFO: u16 = 7;
const SK_MEMINFO_DROPS: usize = 8;
/// linux/sock_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// linux/tcp_states.h.
const TCP_LISTEN: u32 = 10;
/// Answers are read for at most so many datagrams (each of up to [`BUFFER`] bytes): thousands of listeners.
const DATAGRAMS_MAX: usize = 256;
const BUFFER: usize = 32 * 1024;

/// Figures of the listeners on one address; several share it with `SO_REUSEPORT`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Connections waiting to be accepted, in the fullest queue.
    pub waiting: u32,
    /// How many may wait: `min(backlog, net.core.somaxconn)`, the smallest of the queues. The kernel lets one more in.
    pub backlog: u32,
    /// Connections dropped because a queue was full, cumulative, all queues together.
    pub dropped: u64,
}

/// Looks at the listeners on `address`. `None` when nobody listens there or the kernel does not tell.
pub fn queue(address: SocketAddr) -> Option<Queue> {
    let mut found: Option<Queue> = None;
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    dump(family as u8, |local, one| {
        if local.port() == address.port() && (local.ip() == address.ip() || local.ip().is_unspecified()) {
            let all = found.get_or_insert(Queue { backlog: u32::MAX, ..Queue::default() });
            all.waiting = all.waiting.max(one.waiting);
            all.backlog = all.backlog.min(one.backlog);
            all.dropped += one.dropped;
        }
    })
    .ok()?;
    found
}

/// Has `each` see every TCP listener of a family.
fn dump(family: u8, mut each: impl FnMut(SocketAddr, Queue)) -> io::Result<()> {
    let socket = ask(family)?;
    let mut buffer = vec![0_u8; BUFFER];
    for _ in 0..DATAGRAMS_MAX {
        // SAFETY: the buffer is ours and as long as said.
        let read = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        let Ok(read) = usize::try_from(read) else { return Err(io::Error::last_os_error()) };
        let mut rest = &buffer[..read];
        while let Some((kind, payload, after)) = message(rest) {
            match i32::from(kind) {
                libc::NLMSG_DONE => return Ok(()),
                libc::NLMSG_ERROR => return Err(io::ErrorKind::Unsupported.into()),
                _ => {
                    if let Some((local, queue)) = listener(payload) {
                        each(local, queue);
                    }
                }
            }
            rest = after;
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// Sends the question: every TCP socket of `family` that listens, with its memory figures.
fn ask(family: u8) -> io::Result<OwnedFd> {
    // SAFETY: a plain system call; the descriptor it gives is owned by nobody else.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_SOCK_DIAG);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    let timeout = libc::timeval { tv_sec: 0, tv_usec: 100_000 };
    // nlmsghdr (16 bytes), then inet_diag_req_v2: family, protocol, extensions, padding, states, inet_diag_sockid (48).
    let mut question = Vec::with_capacity(72);
    question.extend(72_u32.to_ne_bytes());
    question.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    question.extend(((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16).to_ne_bytes());
    question.extend([0; 8]);
    question.extend([family, libc::IPPROTO_TCP as u8, 1 << (INET_DIAG_SKMEMINFO - 1), 0]);
    question.extend((1_u32 << TCP_LISTEN).to_ne_bytes());
    question.extend([0; 48]);
    // SAFETY: both calls read values that live here, with their true sizes.
    let sent = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            (&raw const timeout).cast(),
            size_of::<libc::timeval>() as libc::socklen_t,
        );
        libc::send(socket.as_raw_fd(), question.as_ptr().cast(), question.len(), 0)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(socket) }
}

/// The first netlink message: its type, its payload, and what follows it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let payload = bytes.get(16..length)?;
    Some((kind, payload, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// Reads an inet_diag_msg (72 bytes) with its attributes. For a listener `idiag_rqueue` is the connections waiting and
/// `idiag_wqueue` how many may (tcp_diag_get_info, net/ipv4/tcp_diag.c).
fn listener(payload: &[u8]) -> Option<(SocketAddr, Queue)> {
    let word = |at: usize| Some(u32::from_ne_bytes(payload.get(at..at + 4)?.try_into().ok()?));
    let port = u16::from_be_bytes(payload.get(4..6)?.try_into().ok()?);
    let ip = match i32::from(*payload.first()?) {
        libc::AF_INET => IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(payload.get(8..12)?).ok()?)),
        _ => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(payload.get(8..24)?).ok()?)),
    };
    let dropped = attribute(payload.get(72..)?, INET_DIAG_SKMEMINFO)
        .and_then(|figures| figures.get(4 * SK_MEMINFO_DROPS..4 * SK_MEMINFO_DROPS + 4)?.try_into().ok())
        .map_or(0, u32::from_ne_bytes);
    let queue = Queue { waiting: word(56)?, backlog: word(60)?, dropped: u64::from(dropped) };
    Some((SocketAddr::new(ip, port), queue))
}

/// The value of one attribute (rtattr: length, type, value, padded to 4 bytes).
fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(4..length)?;
        if kind == wanted {
            return Some(value);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, SockaddrIn};
    use std::net::TcpStream;
    use std::time::{Duration, Instant};

    /// A listener with a short queue that nobody empties.
    fn deaf(backlog: i32) -> (OwnedFd, SocketAddr) {
        let fd = socket::socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
        socket::bind(fd.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
        socket::listen(&fd, Backlog::new(backlog).unwrap()).unwrap();
        let bound: SockaddrIn = socket::getsockname(fd.as_raw_fd()).unwrap();
        (fd, SocketAddr::from((bound.ip(), bound.port())))
    }

    #[test]
    fn a_full_queue_shows_its_length_and_its_drops() {
        let (_listener, address) = deaf(2);
        assert_eq!(queue(address), Some(Queue { waiting: 0, backlog: 2, dropped: 0 }));
        let within = Duration::from_millis(200);
        let held: Vec<_> =
            (0..3).map(|_| TcpStream::connect_timeout(&address, Duration::from_secs(5)).unwrap()).collect();
        // One more than the backlog is let in; the next connection is not.
        assert_eq!(queue(address), Some(Queue { waiting: 3, backlog: 2, dropped: 0 }));
        let deadline = Instant::now() + Duration::from_secs(10);
        while queue(address).unwrap().dropped == 0 {
            assert!(TcpStream::connect_timeout(&address, within).is_err(), "the queue is full");
            assert!(Instant::now() < deadline, "no drop was counted");
        }
        drop(held);
    }

    #[test]
    fn an_address_without_listener_has_no_queue() {
        let (listener, address) = deaf(1);
        drop(listener);
        assert_eq!(queue(address), None);
        assert_eq!(queue("[::1]:1".parse().unwrap()), None);
    }

    #[test]
    fn a_broken_answer_is_nothing() {
        for length in 0..80 {
            let bytes = vec![0xff; length];
            assert_eq!(message(&bytes), None);
            assert_eq!(attribute(&bytes, 7), None);
            listener(&bytes);
        }
    }
}
