//! A listening socket as the kernel sees it: how many connections wait in its accept queue, how many may, and how many
//! it dropped. Asked of sock_diag(7), the source of `ss -lntm`; unlike the counters of /proc/net/netstat, which are the
//! machine's, these figures belong to one listener.

use std::net::SocketAddr;
use std::path::Path;

use crate::bound;
use crate::diag::{self, Question, TCP_LISTEN, attribute, ends};
use crate::netstat::Netstat;

/// linux/inet_diag.h: attribute with the socket's memory figures, drops the ninth of them (linux/sock_diag.h).
const INET_DIAG_SKMEMINFO: u16 = 7;
const SK_MEMINFO_DROPS: usize = 8;

/// Figures of the listeners on one address; several share it with `SO_REUSEPORT`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Connections waiting to be accepted, in the fullest queue.
    pub waiting: u32,
    /// How many may wait: `min(backlog, net.core.somaxconn)`, the smallest of the queues. The kernel lets one more in.
    pub backlog: u32,
    /// From [`queue`], what was dropped for whatever reason, cumulative, all queues together; from [`Watched`], connections dropped because a queue
    /// was full.
    pub dropped: u64,
}

/// Listeners on one address that are looked at again and again. What the kernel counts of a socket's drops is more than connections for which there was
/// no room: the RST that ends a health check before it is accepted is one too (net/ipv4/tcp_ipv4.c: tcp_v4_rcv, discard_and_relse), so is data that
/// comes while accepting is deferred. What it counts of full queues (`ListenOverflows`) is the machine's. Dropped because a queue was full
/// are as many as both have grown by: at most so many, where another listener's queue was full between the same two looks.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    address: SocketAddr,
    /// Whether accepting waits for data (TCP_DEFER_ACCEPT): then every connection is a drop of the socket (tcp_check_req, net/ipv4/tcp_minisocks.c).
    deferred: bool,
    /// The machine's overflows just before the look before, and what was seen then.
    before: Option<(u64, Queue)>,
    dropped: u64,
}

impl Watched {
    /// Nothing was dropped yet.
    pub fn new(address: SocketAddr) -> Watched {
        Watched { address, deferred: false, before: None, dropped: 0 }
    }

    /// The same where accepting waits for data: only what was dropped between two looks counts at one of which the queue was full, since of the
    /// others another listener's overflows tell nothing.
    pub fn deferred(address: SocketAddr) -> Watched {
        Watched { deferred: true, ..Watched::new(address) }
    }

    /// Looks at them; [`Queue::dropped`] counts from the first look. `None` when nobody listens there or the kernel does not tell.
    pub fn look(&mut self) -> Option<Queue> {
        let earlier = overflows();
        let seen = queue(self.address)?;
        // Read once more after the socket's count, so that none of its drops is missing.
        let machine = overflows();
        let full = |queue: Queue| queue.waiting >= queue.backlog;
        if let Some((earliest, before)) = self.before.replace((earlier, seen))
            && (!self.deferred || full(before) || full(seen))
        {
            self.dropped += seen.dropped.saturating_sub(before.dropped).min(machine.saturating_sub(earliest));
        }
        Some(Queue { dropped: self.dropped, ..seen })
    }
}

/// Connections for which an accept queue had no room, of all listeners of this network namespace (net/ipv4/tcp_input.c: tcp_conn_request).
fn overflows() -> u64 {
    Netstat::now().tcp("ListenOverflows").map_or(0, |count| count as u64)
}

/// Looks at the listeners on `address`. `None` when nobody listens there or the kernel does not tell.
pub fn queue(address: SocketAddr) -> Option<Queue> {
    let of = |family: i32| among(address, family as u8);
    if address.is_ipv6() {
        return of(libc::AF_INET6);
    }
    // Nobody of its own family: a socket of IPv6 takes connections of IPv4, too, at every address or at the IPv6 form of this one (ipv6(7)).
    of(libc::AF_INET).or_else(|| of(libc::AF_INET6))
}

/// Looks at the listeners on the Unix socket `path`: it refuses connections (EAGAIN) where its queue is full, and does not count them (unix(7)). `None`
/// when nobody listens there or the kernel does not tell.
pub fn at_path(path: &Path) -> Option<Queue> {
    let here = bound::listeners(path).into_iter();
    here.map(|one| Queue { waiting: one.waiting, backlog: one.room, dropped: 0 }).reduce(|one, two| Queue {
        waiting: one.waiting.max(two.waiting),
        backlog: one.backlog.min(two.backlog),
        dropped: 0,
    })
}

/// Those of one family.
fn among(address: SocketAddr, family: u8) -> Option<Queue> {
    let mut found: Option<Queue> = None;
    let question = Question { family, states: 1 << TCP_LISTEN, memory: true, info: false, to: 0 };
    diag::dump(question, |payload| {
        let Some((local, one)) = listener(payload) else { return };
        let here = local.ip().to_canonical() == address.ip() || local.ip().is_unspecified();
        if local.port() == address.port() && here {
            let all = found.get_or_insert(Queue { backlog: u32::MAX, ..Queue::default() });
            all.waiting = all.waiting.max(one.waiting);
            all.backlog = all.backlog.min(one.backlog);
            all.dropped += one.dropped;
        }
    })
    .ok()?;
    found
}

/// Reads an inet_diag_msg (72 bytes) with its attributes. For a listener `idiag_rqueue` is the connections waiting and
/// `idiag_wqueue` how many may (tcp_diag_get_info, net/ipv4/tcp_diag.c).
fn listener(payload: &[u8]) -> Option<(SocketAddr, Queue)> {
    let word = |at: usize| Some(u32::from_ne_bytes(payload.get(at..at + 4)?.try_into().ok()?));
    let (local, _) = ends(payload)?;
    let dropped = attribute(payload.get(72..)?, INET_DIAG_SKMEMINFO)
        .and_then(|figures| figures.get(4 * SK_MEMINFO_DROPS..4 * SK_MEMINFO_DROPS + 4)?.try_into().ok())
        .map_or(0, u32::from_ne_bytes);
    let queue = Queue { waiting: word(56)?, backlog: word(60)?, dropped: u64::from(dropped) };
    Some((local, queue))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, SockaddrIn};
    use std::net::TcpStream;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::time::{Duration, Instant};

    #[test]
    fn a_unix_socket_tells_who_waits_and_how_many_may() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        assert_eq!(at_path(&path), None);
        let fd = socket::socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
        socket::bind(fd.as_raw_fd(), &socket::UnixAddr::new(&path).unwrap()).unwrap();
        socket::listen(&fd, Backlog::new(3).unwrap()).unwrap();
        assert_eq!(at_path(&path), Some(Queue { waiting: 0, backlog: 3, dropped: 0 }));
        let waiting: Vec<_> = (0..2).map(|_| std::os::unix::net::UnixStream::connect(&path).unwrap()).collect();
        assert_eq!(at_path(&path), Some(Queue { waiting: 2, backlog: 3, dropped: 0 }));
        drop(waiting);
    }

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
    fn connections_that_are_ended_before_they_are_accepted_were_not_dropped() {
        // Other tests fill queues of theirs, which the machine's count has in it, too: a time is waited for in which none does.
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let (_listener, address) = deaf(20);
            let (quiet, mut watched) = (overflows(), Watched::new(address));
            assert_eq!(watched.look(), Some(Queue { waiting: 0, backlog: 20, dropped: 0 }));
            // As a health check does: the RST comes in the place of the last acknowledgement of the handshake.
            for _ in 0..5 {
                let check = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
                check.set_tcp_quickack(false).unwrap();
                check.set_linger(Some(Duration::ZERO)).unwrap();
                check.connect(&address.into()).unwrap();
            }
            assert_eq!(queue(address).map(|queue| queue.dropped), Some(5), "the kernel counts them as the socket's");
            let seen = watched.look();
            if overflows() == quiet {
                assert_eq!(seen, Some(Queue { waiting: 0, backlog: 20, dropped: 0 }));
                return;
            }
            assert!(Instant::now() < deadline, "some queue of this machine is full all the time");
        }
    }

    #[test]
    fn connections_for_which_there_was_no_room_were_dropped() {
        let (_listener, address) = deaf(1);
        let mut watched = Watched::new(address);
        assert_eq!(watched.look().map(|queue| queue.dropped), Some(0));
        let _held: Vec<_> =
            (0..2).map(|_| TcpStream::connect_timeout(&address, Duration::from_secs(5)).unwrap()).collect();
        let deadline = Instant::now() + Duration::from_secs(10);
        while watched.look().unwrap().dropped == 0 {
            assert!(TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_err(), "the queue is full");
            assert!(Instant::now() < deadline, "no drop was counted");
        }
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
            assert_eq!(diag::message(&bytes), None);
            assert_eq!(attribute(&bytes, 7), None);
            listener(&bytes);
        }
    }
}
