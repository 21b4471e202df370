//! Sockets as the kernel tells of them: sock_diag(7), the source of `ss`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// linux/inet_diag.h: attribute with the socket's memory figures.
const INET_DIAG_SKMEMINFO: u16 = 7;
/// linux/inet_diag.h: attribute with the connection's `tcp_info` (linux/tcp.h).
pub(crate) const INET_DIAG_INFO: u16 = 2;
/// linux/sock_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// linux/unix_diag.h: show the inode of the other end, and the attribute that it is in.
const UDIAG_SHOW_PEER: u32 = 4;
const UNIX_DIAG_PEER: u16 = 2;
/// The same: show the name, and how long queues are, and the attributes that these are in.
const UDIAG_SHOW_NAME: u32 = 1;
const UDIAG_SHOW_RQLEN: u32 = 16;
/// The same: show the file that it is bound to, and the attribute that this is in: inode and device, a word each (unix_diag_vfs).
const UDIAG_SHOW_VFS: u32 = 2;
const UNIX_DIAG_VFS: u16 = 1;
const UNIX_DIAG_NAME: u16 = 0;
const UNIX_DIAG_RQLEN: u16 = 4;
/// linux/tcp_states.h.
pub(crate) const TCP_ESTABLISHED: u32 = 1;
/// linux/tcp_states.h.
pub(crate) const TCP_TIME_WAIT: u32 = 6;
/// linux/tcp_states.h.
pub(crate) const TCP_LISTEN: u32 = 10;
/// Answers are read for at most so many datagrams (each of up to [`BUFFER`] bytes): a million sockets.
const DATAGRAMS_MAX: usize = 4096;
const BUFFER: usize = 32 * 1024;

/// Which TCP sockets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    /// AF_INET or AF_INET6.
    pub(crate) family: u8,
    /// States: a bit each, by their numbers in linux/tcp_states.h.
    pub(crate) states: u32,
    /// Whether memory figures are wanted too.
    pub(crate) memory: bool,
    /// Whether figures of the connection are wanted too.
    pub(crate) info: bool,
    /// Connected to this port; 0 for any.
    pub(crate) to: u16,
}

/// Has `each` see every socket asked for: an inet_diag_msg (72 bytes) with its attributes.
///
/// # Errors
/// When the kernel does not tell, or there are too many to tell.
pub(crate) fn dump(question: Question, each: impl FnMut(&[u8])) -> io::Result<()> {
    answers(&inet(question), each)
}

/// A Unix socket that is connected.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Connected {
    /// Inode of the other end; 0: it is closed, or was not accepted yet.
    pub(crate) peer: u64,
    /// Its path, which ends that were accepted have of their listener.
    pub(crate) path: Option<PathBuf>,
}

/// Each Unix socket that is connected, by its inode.
///
/// # Errors
/// As [`dump`].
pub(crate) fn connected() -> io::Result<BTreeMap<u64, Connected>> {
    // unix_diag_req (linux/unix_diag.h): family, protocol, padding, states, inode, what to show, cookie.
    let mut question = vec![libc::AF_UNIX as u8, 0, 0, 0];
    question.extend((1_u32 << TCP_ESTABLISHED).to_ne_bytes());
    question.extend(0_u32.to_ne_bytes());
    question.extend((UDIAG_SHOW_PEER | UDIAG_SHOW_NAME).to_ne_bytes());
    question.extend([0xff; 8]);
    let mut all = BTreeMap::new();
    answers(&question, |payload| {
        // unix_diag_msg: family, type, state, padding, inode, cookie (16 bytes in all), then attributes.
        let number = |bytes: Option<&[u8]>| Some(u64::from(u32::from_ne_bytes(bytes?.try_into().ok()?)));
        let attributes = payload.get(16..).unwrap_or_default();
        let Some(inode) = number(payload.get(4..8)) else { return };
        let peer = number(attribute(attributes, UNIX_DIAG_PEER)).unwrap_or(0);
        all.insert(inode, Connected { peer, path: path(attributes) });
    })?;
    Ok(all)
}

/// The path of a Unix socket in the attributes of a unix_diag_msg; a name that begins with a zero is none.
fn path(attributes: &[u8]) -> Option<PathBuf> {
    let name = attribute(attributes, UNIX_DIAG_NAME)?;
    let path = name.split(|byte| *byte == 0).next().filter(|path| !path.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

/// The inode of an inet_diag_msg's socket.
pub(crate) fn inode(payload: &[u8]) -> Option<u64> {
    Some(u64::from(u32::from_ne_bytes(payload.get(68..72)?.try_into().ok()?)))
}

/// A socket's file: its device, as the kernel writes that inside of itself, and the lower half of its inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BoundFile {
    device: u32,
    inode: u32,
}

impl BoundFile {
    /// The file at a path, links followed; none: there is none.
    pub(crate) fn at(path: &Path) -> Option<BoundFile> {
        let meta = std::fs::metadata(path).ok()?;
        // MKDEV of linux/kdev_t.h.
        let device = libc::major(meta.dev()) << 20 | libc::minor(meta.dev());
        Some(BoundFile { device, inode: meta.ino() as u32 })
    }

    /// Whether it is another file of the same file system.
    pub(crate) fn is_beside(self, other: BoundFile) -> bool {
        self.device == other.device && self.inode != other.inode
    }
}

/// A Unix socket that listens at a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UnixListener {
    pub(crate) inode: u64,
    /// As it was bound.
    pub(crate) path: PathBuf,
    /// The file that it was bound to.
    pub(crate) file: Option<BoundFile>,
    /// How many connections wait to be accepted.
    pub(crate) waiting: u32,
    /// How many may.
    pub(crate) room: u32,
}

/// Unix sockets that listen at a path.
///
/// # Errors
/// As [`dump`].
pub(crate) fn unix_listeners() -> io::Result<Vec<UnixListener>> {
    let mut question = vec![libc::AF_UNIX as u8, 0, 0, 0];
    question.extend((1_u32 << TCP_LISTEN).to_ne_bytes());
    question.extend(0_u32.to_ne_bytes());
    question.extend((UDIAG_SHOW_NAME | UDIAG_SHOW_VFS | UDIAG_SHOW_RQLEN).to_ne_bytes());
    question.extend([0xff; 8]);
    let mut all = Vec::new();
    answers(&question, |payload| all.extend(unix_listener(payload)))?;
    Ok(all)
}

/// A unix_diag_msg. Of a listener `udiag_rqueue` is the connections that wait, `udiag_wqueue` how many may (sk_diag_show_rqlen,
/// net/unix/diag.c). A name that begins with a zero is no path.
fn unix_listener(payload: &[u8]) -> Option<UnixListener> {
    let attributes = payload.get(16..)?;
    let word = |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let lengths = attribute(attributes, UNIX_DIAG_RQLEN)?;
    let (inode, path) = (u64::from(word(payload, 4)?), path(attributes)?);
    let bound = attribute(attributes, UNIX_DIAG_VFS);
    let file = bound.and_then(|bound| Some(BoundFile { inode: word(bound, 0)?, device: word(bound, 4)? }));
    Some(UnixListener { inode, path, file, waiting: word(lengths, 0)?, room: word(lengths, 4)? })
}

/// Does something in the network namespace of a process, whose sockets sock_diag(7) tells of then; none where that may not be entered.
pub(crate) fn within<T: Send>(pid: u32, what: impl FnOnce() -> T + Send) -> Option<T> {
    let space = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    if space(&pid.to_string()) == space("self") {
        return Some(what());
    }
    let inside = move || {
        let space = std::fs::File::open(format!("/proc/{pid}/ns/net")).ok()?;
        // SAFETY: a plain system call on a descriptor that lives here; it moves this thread alone (setns(2)), which ends after this.
        let moved = unsafe { libc::setns(space.as_raw_fd(), libc::CLONE_NEWNET) };
        (moved == 0).then(what)
    };
    std::thread::scope(|scope| match scope.spawn(inside).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Has `each` see every answer to a question.
fn answers(question: &[u8], mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let socket = ask(question)?;
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
                _ => each(payload),
            }
            rest = after;
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// A question after TCP sockets: inet_diag_req_v2: family, protocol, extensions, padding, states, inet_diag_sockid (48).
fn inet(Question { family, states, memory, info, to }: Question) -> Vec<u8> {
    let wanted = |kind: u16, wanted: bool| if wanted { 1 << (kind - 1) } else { 0 };
    let extensions = wanted(INET_DIAG_SKMEMINFO, memory) | wanted(INET_DIAG_INFO, info);
    let mut question = vec![family, libc::IPPROTO_TCP as u8, extensions, 0];
    question.extend(states.to_ne_bytes());
    // inet_diag_sockid begins with the ports, in network order; where they are not zero, they must match.
    question.extend([0; 2]);
    question.extend(to.to_be_bytes());
    question.extend([0; 44]);
    question
}

/// Sends the question.
fn ask(payload: &[u8]) -> io::Result<OwnedFd> {
    // SAFETY: a plain system call; the descriptor it gives is owned by nobody else.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_SOCK_DIAG);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    let timeout = libc::timeval { tv_sec: 0, tv_usec: 100_000 };
    // nlmsghdr: length (16 bytes of its own), type, flags, sequence, port.
    let mut question = Vec::with_capacity(16 + payload.len());
    question.extend((16 + payload.len() as u32).to_ne_bytes());
    question.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    question.extend(((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16).to_ne_bytes());
    question.extend([0; 8]);
    question.extend(payload);
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
pub(crate) fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let payload = bytes.get(16..length)?;
    Some((kind, payload, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// Local and remote address of an inet_diag_msg.
pub(crate) fn ends(payload: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let port = |at: usize| Some(u16::from_be_bytes(payload.get(at..at + 2)?.try_into().ok()?));
    let ip = |at: usize| {
        Some(match i32::from(*payload.first()?) {
            libc::AF_INET => IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(payload.get(at..at + 4)?).ok()?)),
            _ => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(payload.get(at..at + 16)?).ok()?)),
        })
    };
    Some((SocketAddr::new(ip(8)?, port(4)?), SocketAddr::new(ip(24)?, port(6)?)))
}

/// The value of one attribute (rtattr: length, type, value, padded to 4 bytes).
pub(crate) fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
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
