//! A place where a server is reached, whoever started it: which processes listen there, and how many connections it has.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use procfs::net::{TcpNetEntry, TcpState, UnixState};
use procfs::process::{FDTarget, Process, all_processes};

use crate::diag::{self, INET_DIAG_INFO, Question, TCP_ESTABLISHED, TCP_LISTEN, attribute, ends};
use crate::isolated::{has_other_files, has_other_network};
use crate::listener::{self, Queue, Watched};
use crate::{bound, holders};

/// linux/tcp.h, tcp_info: how long ago data were sent, and received, milliseconds, and how many bytes came.
const LAST_DATA_SENT: usize = 44;
const LAST_DATA_RECEIVED: usize = 52;
const BYTES_RECEIVED: usize = 128;
/// Below this the kernel's clock of jiffies does not tell a question from an answer.
const TELLING: Duration = Duration::from_millis(10);

/// Where a server is reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Endpoint {
    /// A TCP address.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// Who listens there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listener {
    /// Nobody on this machine (in this network namespace).
    Nobody,
    /// Processes that may not be looked at: another user's.
    Hidden,
    /// Somebody of whom nothing is seen from here (another network namespace's), or it cannot be tried whether anybody does.
    Unseen,
    /// A service manager, in the place of a service that it starts when somebody comes.
    Awaited,
    /// The process from which the others that serve there were forked.
    Process(u32),
}

/// Connections of a server, as the kernel counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// That the server has accepted and not closed.
    pub accepted: u64,
    /// That wait to be accepted.
    pub waiting: u64,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(address) => write!(f, "{address}"),
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Endpoint {
    /// Reads `address:port`, `localhost:port`, and the path of a Unix socket, alone or after `unix:`, `unix@` or `unix/`. None for names
    /// that must be resolved, and for anything else.
    pub fn parse(text: &str) -> Option<Endpoint> {
        let path = ["unix:", "unix@", "unix/"].iter().find_map(|before| text.strip_prefix(before)).unwrap_or(text);
        if path.starts_with('/') {
            return Some(Endpoint::Unix(path.into()));
        }
        let address =
            text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
        address.parse().ok().map(Endpoint::Tcp)
    }

    /// The path of a Unix socket; none of an address.
    pub fn socket(&self) -> Option<String> {
        match self {
            Endpoint::Unix(path) => Some(path.to_string_lossy().into_owned()),
            Endpoint::Tcp(_) => None,
        }
    }

    /// Whether both are one place: of Unix sockets whatever path leads there.
    pub fn is_same(&self, other: &Endpoint) -> bool {
        match (self, other) {
            (Endpoint::Unix(one), Endpoint::Unix(other)) => bound::is_same(one, other),
            _ => self == other,
        }
    }

    /// Whether nobody on this machine (in this network namespace) listens there.
    pub fn is_nobodys(&self) -> bool {
        self.listening().is_empty()
    }

    /// Who listens there.
    pub fn listener(&self) -> Listener {
        let inodes = self.listening();
        if inodes.is_empty() {
            return self.unlisted();
        }
        match holders::first(holders::all(&inodes)) {
            None => Listener::Hidden,
            Some(one) if one.is_manager() => Listener::Awaited,
            Some(one) => Listener::Process(one.pid),
        }
    }

    /// Those of `processes` that hold the socket that listens there; none where nobody does, or they are all other users'.
    pub fn holders(&self, processes: impl Iterator<Item = u32>) -> Option<Vec<u32>> {
        let inodes = self.listening();
        let holds = |pid: &u32| sockets(&[*pid]).iter().any(|inode| inodes.contains(inode));
        Some(processes.filter(holds).collect()).filter(|all: &Vec<u32>| !all.is_empty())
    }

    /// Where the kernel tells of no socket that listens there: nobody, or somebody whom it does not tell of here.
    fn unlisted(&self) -> Listener {
        match self {
            Endpoint::Unix(path) if bound::takes(path) != Some(false) => Listener::Unseen,
            _ => Listener::Nobody,
        }
    }

    /// The user whose processes listen there; none where nobody does, or the kernel does not tell: of root it tells who opened the port, and not who serves, and
    /// of this very user it tells nothing of which processes are meant.
    pub fn owner(&self) -> Option<u32> {
        match self {
            Endpoint::Tcp(address) => {
                let all = [procfs::net::tcp(), procfs::net::tcp6()].into_iter().flatten().flatten();
                let found = all.into_iter().find(|entry| takes(entry, *address)).map(|entry| entry.uid);
                found.filter(|uid| *uid != 0 && *uid != nix::unistd::geteuid().as_raw())
            }
            Endpoint::Unix(_) => None,
        }
    }

    /// Inodes of the sockets that listen there.
    fn listening(&self) -> BTreeSet<u64> {
        match self {
            Endpoint::Tcp(address) => {
                let all = [procfs::net::tcp(), procfs::net::tcp6()].into_iter().flatten().flatten();
                let own: BTreeSet<u64> = all.filter(|entry| takes(entry, *address)).map(|entry| entry.inode).collect();
                if own.is_empty() { in_containers(*address) } else { own }
            }
            Endpoint::Unix(path) => bound::inodes(path),
        }
    }

    /// Connections from this machine on which an answer is waited for: in service, or waiting somewhere in the server. An answer takes
    /// `least` at least. None when the kernel does not tell, as of Unix sockets, or where answers are too fast to be told from questions.
    pub fn asked(&self, least: Duration) -> Option<u64> {
        let Endpoint::Tcp(address) = self else { return None };
        let mut asked = 0;
        let busy = |payload: &[u8]| waits(attribute(payload.get(72..)?, INET_DIAG_INFO)?, least);
        established(*address, true, |payload| asked += u64::from(busy(payload) == Some(true)))
            .filter(|()| least >= TELLING)?;
        Some(asked)
    }

    /// The accept queue of whoever listens there; of drops as [`listener::queue`] and [`listener::at_path`] have them.
    pub fn queue(&self) -> Option<Queue> {
        match self {
            Endpoint::Tcp(address) => listener::queue(*address),
            Endpoint::Unix(path) => listener::at_path(path),
        }
    }

    /// Its listeners, to be looked at again and again; none of a Unix socket, which refuses and counts nothing.
    pub fn watched(&self) -> Option<Watched> {
        match self {
            Endpoint::Tcp(address) => Some(Watched::new(*address)),
            Endpoint::Unix(_) => None,
        }
    }

    /// Its connections from this machine. None when the kernel does not tell.
    pub fn connections(&self) -> Option<Connections> {
        self.connections_of(std::process::id())
    }

    /// The same of a server whose process is in a network namespace of its own, where it is one of a Unix socket: as that process sees it.
    pub fn connections_of(&self, pid: u32) -> Option<Connections> {
        match self {
            Endpoint::Tcp(address) => {
                let waiting = u64::from(listener::queue(*address)?.waiting);
                let mut all = 0_u64;
                established(*address, false, |_| all += 1)?;
                Some(Connections { accepted: all.saturating_sub(waiting), waiting })
            }
            Endpoint::Unix(path) => {
                // The server's ends carry the path by which the listener was bound; those that nobody has accepted yet have no inode.
                let all = Process::new(pid as i32).and_then(|process| process.unix()).ok()?;
                let names = bound::names(path, pid)?;
                let ends: Vec<_> =
                    all.into_iter().filter(|e| e.path.as_ref().is_some_and(|p| names.contains(p))).collect();
                let count =
                    |of: &dyn Fn(&procfs::net::UnixNetEntry) -> bool| ends.iter().filter(|e| of(e)).count() as u64;
                Some(Connections {
                    accepted: count(&|e| e.inode != 0 && e.state == UnixState::CONNECTED),
                    waiting: count(&|e| e.inode == 0),
                })
            }
        }
    }
}

/// Whether a socket listens at an address.
fn takes(entry: &TcpNetEntry, address: SocketAddr) -> bool {
    let local = entry.local_address;
    // A socket of version 6 that serves version 4 (as Java's are) has the address in the longer form.
    let same = local.ip().to_canonical() == address.ip().to_canonical() || local.ip().is_unspecified();
    entry.state == TcpState::Listen && local.port() == address.port() && same
}

/// Inodes of sockets that listen at an address of another network namespace of this machine, as a container has; none where several have the
/// address: it is not known which of them is meant. Other users' processes do not show theirs.
fn in_containers(address: SocketAddr) -> BTreeSet<u64> {
    let IpAddr::V4(ip) = address.ip().to_canonical() else { return BTreeSet::new() };
    if ip.is_loopback() {
        return BTreeSet::new();
    }
    let space = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let own = space("self");
    let all = all_processes().into_iter().flatten().flatten();
    let spaces: BTreeMap<PathBuf, Process> =
        all.filter_map(|process| Some((space(&process.pid.to_string()).filter(|_| own.is_some())?, process))).collect();
    let others = spaces.into_iter().filter(|(space, _)| Some(space) != own.as_ref());
    let mut having = others.filter(|(_, process)| {
        let text = std::fs::read_to_string(format!("/proc/{}/net/fib_trie", process.pid)).unwrap_or_default();
        has_address(&text, ip)
    });
    let (Some((_, process)), None) = (having.next(), having.next()) else { return BTreeSet::new() };
    let entries = [process.tcp(), process.tcp6()].into_iter().flatten().flat_map(|all| all.into_iter());
    entries.filter(|entry| takes(entry, address)).map(|entry| entry.inode).collect()
}

/// Whether a routing table has an address as one of its own (net/ipv4/fib_trie.c: `fib_trie_seq_show`): `|-- 10.0.0.2`, `/32 host LOCAL`.
fn has_address(table: &str, ip: Ipv4Addr) -> bool {
    let mut lines = table.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if line.strip_prefix("|-- ").is_some_and(|text| text == ip.to_string()) {
            let mut kinds = lines.clone().take_while(|line| line.starts_with('/'));
            if kinds.any(|kind| kind == "/32 host LOCAL") {
                return true;
            }
        }
    }
    false
}

/// Places on this machine to which one of these processes has a connection that was accepted; each as it sees them in its network namespace.
pub fn reached(processes: &[u32]) -> BTreeSet<Endpoint> {
    held(processes).into_keys().collect()
}

/// The same, each with how many such connections there are.
pub fn held(processes: &[u32]) -> BTreeMap<Endpoint, u64> {
    let mut spaces: BTreeMap<Option<PathBuf>, Vec<u32>> = BTreeMap::new();
    for pid in processes {
        spaces.entry(std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()).or_default().push(*pid);
    }
    let mut all = BTreeMap::new();
    for place in spaces.into_values().flat_map(|all| reached_within(&all)) {
        *all.entry(place).or_default() += 1;
    }
    all
}

/// Of processes in one network namespace. A connection may be there for a moment only: what the kernel tells of all is asked at once after
/// what these hold (sock_diag(7); the text of /proc takes longer). One for each connection.
fn reached_within(processes: &[u32]) -> Vec<Endpoint> {
    let Some(pid) = processes.first() else { return Vec::new() };
    let own = sockets(processes);
    let told = diag::within(*pid, || {
        let unix = diag::connected().unwrap_or_default();
        (unix, tcp_reached(&own))
    });
    let (unix, tcp) = told.unwrap_or_default();
    // The server's ends carry the listener's path. One that was closed has no inode any more, as have those of anybody's that nobody has
    // accepted yet (sock_i_ino of a socket without a file, net/core/sock.c).
    let ends = own.iter().filter_map(|inode| unix.get(inode)).map(|one| one.peer).filter(|peer| *peer != 0);
    let paths = ends.filter_map(|peer| unix.get(&peer)?.path.clone()).map(Endpoint::Unix);
    let all = paths.chain(tcp.into_iter().map(Endpoint::Tcp));
    // What a container has at its loopback, or at a path of its own, is another here.
    let (network, files) = (has_other_network(*pid), has_other_files(*pid));
    let is_here = |place: &Endpoint| match place {
        // Of a network alone it is its own that was asked: a copy of genkai's is led there so.
        Endpoint::Tcp(address) => !(network && files && address.ip().is_loopback()),
        Endpoint::Unix(_) => !files,
    };
    all.filter(is_here).collect()
}

/// Has `each` see every TCP socket in a state (its number in linux/tcp_states.h).
fn tcp_in(state: u32, mut each: impl FnMut(&[u8])) {
    for family in [libc::AF_INET, libc::AF_INET6] {
        let question = Question { family: family as u8, states: 1 << state, memory: false, info: false, to: 0 };
        let _ = diag::dump(question, &mut each);
    }
}

/// Addresses at which somebody listens and to which one of these sockets is connected: one for each of these.
fn tcp_reached(own: &BTreeSet<u64>) -> Vec<SocketAddr> {
    let canonical = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let (mut remote, mut open) = (Vec::new(), BTreeSet::new());
    let theirs = |payload: &[u8]| diag::inode(payload).is_some_and(|inode| own.contains(&inode));
    tcp_in(TCP_ESTABLISHED, |payload| {
        remote.extend(ends(payload).filter(|_| theirs(payload)).map(|(_, remote)| canonical(remote)));
    });
    tcp_in(TCP_LISTEN, |payload| open.extend(ends(payload).map(|(local, _)| canonical(local))));
    let listens = |address: &SocketAddr| {
        open.iter()
            .any(|local| local.port() == address.port() && (local.ip().is_unspecified() || local.ip() == address.ip()))
    };
    remote.into_iter().filter(listens).collect()
}

/// Inodes of the sockets that these processes hold.
fn sockets(processes: &[u32]) -> BTreeSet<u64> {
    let all = processes.iter().filter_map(|pid| Process::new(*pid as i32).ok());
    let descriptors = all.filter_map(|process| process.fd().ok()).flatten().flatten();
    descriptors.filter_map(|fd| if let FDTarget::Socket(inode) = fd.target { Some(inode) } else { None }).collect()
}

/// The TCP addresses on which one of these processes listens.
pub fn listening(processes: &[u32]) -> BTreeSet<SocketAddr> {
    let sockets = sockets(processes);
    let open = [procfs::net::tcp(), procfs::net::tcp6()].into_iter().flatten().flatten();
    let theirs = open.filter(|entry| entry.state == TcpState::Listen && sockets.contains(&entry.inode));
    theirs.map(|entry| SocketAddr::new(entry.local_address.ip().to_canonical(), entry.local_address.port())).collect()
}

/// Has `each` see every connection from this machine to `address`, with figures of it where they are wanted.
fn established(address: SocketAddr, info: bool, mut each: impl FnMut(&[u8])) -> Option<()> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 } as u8;
    let question = Question { family, states: 1 << TCP_ESTABLISHED, memory: false, info, to: address.port() };
    let to = |payload: &[u8]| ends(payload).is_some_and(|(_, remote)| remote == address);
    diag::dump(question, |payload| {
        if to(payload) {
            each(payload);
        }
    })
    .ok()
}

/// Whether a client waits for an answer on this connection, by its `tcp_info` (linux/tcp.h): nothing has come on it yet, or what came last
/// came before what was sent last. An answer takes `least` at least, so that what came less than half of that after is of the one before.
fn waits(info: &[u8], least: Duration) -> Option<bool> {
    let age = |at: usize| Some(i64::from(u32::from_ne_bytes(info.get(at..at + 4)?.try_into().ok()?)));
    let received = u64::from_ne_bytes(info.get(BYTES_RECEIVED..BYTES_RECEIVED + 8)?.try_into().ok()?);
    let answered_after = age(LAST_DATA_SENT)? - age(LAST_DATA_RECEIVED)?;
    Some(received == 0 || answered_after < least.as_millis() as i64 / 2)
}

#[cfg(test)]
mod tests;
