//! A place where a server is reached, whoever started it: which processes listen there, and how many connections it has.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use procfs::net::{TcpNetEntry, TcpState, UnixState};
use procfs::process::{FDTarget, Process, all_processes};

use crate::diag::{self, INET_DIAG_INFO, Question, TCP_ESTABLISHED, TCP_LISTEN, attribute, ends};
use crate::isolated::is_container;
use crate::listener::{self, Queue, Watched};

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
    /// The process from which the others that hold the listening socket were forked.
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

    /// Whether nobody on this machine (in this network namespace) listens there.
    pub fn is_nobodys(&self) -> bool {
        self.listening().is_empty()
    }

    /// Who listens there.
    pub fn listener(&self) -> Listener {
        let inodes = self.listening();
        if inodes.is_empty() {
            return Listener::Nobody;
        }
        let holds = |process: &Process| {
            let descriptors = process.fd().ok().into_iter().flatten().flatten();
            descriptors.into_iter().any(|fd| matches!(fd.target, FDTarget::Socket(inode) if inodes.contains(&inode)))
        };
        let holders: Vec<Process> = all_processes().into_iter().flatten().flatten().filter(holds).collect();
        let pids: BTreeSet<i32> = holders.iter().map(|process| process.pid).collect();
        let forked = |process: &&Process| process.stat().is_ok_and(|stat| pids.contains(&stat.ppid));
        let first = holders.iter().find(|process| !forked(process)).map(|process| process.pid);
        first.or(pids.first().copied()).map_or(Listener::Hidden, |pid| Listener::Process(pid as u32))
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
            Endpoint::Unix(path) => {
                let all = procfs::net::unix().into_iter().flatten();
                // A listener is not connected itself (unix_seq_show, net/unix/af_unix.c).
                all.filter(|entry| entry.path.as_ref() == Some(path) && entry.state == UnixState::UNCONNECTED)
                    .map(|entry| entry.inode)
                    .collect()
            }
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
                // The server's ends carry the listener's path; those that nobody has accepted yet have no inode.
                let all = Process::new(pid as i32).and_then(|process| process.unix()).ok()?;
                let ends: Vec<_> = all.into_iter().filter(|e| e.path.as_ref() == Some(path)).collect();
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
    let container = is_container(*pid);
    all.filter(|place| !container || matches!(place, Endpoint::Tcp(address) if !address.ip().is_loopback())).collect()
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
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn a_process_tells_where_it_has_connections_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        let (tcp, unix) = (TcpListener::bind("127.0.0.1:0").unwrap(), UnixListener::bind(&path).unwrap());
        let places = [Endpoint::Tcp(tcp.local_addr().unwrap()), Endpoint::Unix(path.clone())];
        let mine = || reached(&[std::process::id()]);
        assert!(places.iter().all(|place| !mine().contains(place)), "nobody is connected yet");
        let clients = (TcpStream::connect(tcp.local_addr().unwrap()).unwrap(), UnixStream::connect(&path).unwrap());
        let accepted = (tcp.accept().unwrap(), unix.accept().unwrap());
        assert!(places.iter().all(|place| mine().contains(place)), "{:?}", mine());
        let more = (UnixStream::connect(&path).unwrap(), unix.accept().unwrap());
        let counted = held(&[std::process::id()]);
        assert_eq!(places.clone().map(|place| counted.get(&place).copied()), [Some(1), Some(2)]);
        drop(more);
        drop((clients, accepted));
        assert!(!mine().contains(&places[1]));
    }

    #[test]
    fn whose_other_end_is_closed_is_not_connected_to_whoever_waits_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        let _listener = UnixListener::bind(&path).unwrap();
        // Nobody accepts it, and it is not this process's.
        let code = "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(flush=True); sys.stdin.read()";
        let mut command = std::process::Command::new("python3");
        command.args(["-c", code]).arg(&path).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut other = command.spawn().unwrap();
        std::io::Read::read_exact(&mut other.stdout.take().unwrap(), &mut [0]).unwrap();
        let (mine, closed) = UnixStream::pair().unwrap();
        drop(closed);
        assert!(!reached(&[std::process::id()]).contains(&Endpoint::Unix(path)));
        drop((mine, other.stdin.take()));
        other.wait().unwrap();
    }

    #[test]
    fn an_address_of_ones_own_stands_in_the_table_of_routes() {
        let table = "Main:\n  +-- 0.0.0.0/0 3 0 5\n        |-- 10.9.0.0\n           /24 link UNICAST\n        |-- 10.9.0.2\n           /32 host LOCAL\n        \
                     |-- 10.9.0.255\n           /32 link BROADCAST\n";
        let has = |ip: [u8; 4]| has_address(table, ip.into());
        assert!(has([10, 9, 0, 2]) && !has([10, 9, 0, 255]) && !has([10, 9, 0, 0]) && !has([10, 9, 0, 20]));
    }

    #[test]
    fn who_listens_in_another_network_of_this_machine_is_found() {
        if crate::isolated::possible().is_err() {
            return genkai_tidy::noted::skipped("no namespaces can be made here");
        }
        let dir = tempfile::tempdir().unwrap();
        let ready = dir.path().join("ready");
        let script = "ip link set lo up && ip address add 10.213.57.2/32 dev lo && exec python3 -c \"import \
                      socket,sys,time; s=socket.socket(); s.bind(('10.213.57.2', 8099)); s.listen(3); open(sys.argv[1], 'w').close(); \
                      time.sleep(60)\" \"$1\"";
        let mut command = std::process::Command::new("unshare");
        let mut other = command.args(["--net", "--", "sh", "-c", script, "sh"]).arg(&ready).spawn().unwrap();
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while !ready.exists() && other.try_wait().unwrap().is_none() {
            assert!(std::time::Instant::now() < deadline, "it does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        let found = |port: u16| Endpoint::Tcp(SocketAddr::from(([10, 213, 57, 2], port))).listener();
        let (there, not_there) = (found(8099), found(8098));
        let is_ready = ready.exists();
        let _ = other.kill();
        let _ = other.wait();
        assert!(is_ready);
        assert_eq!((there, not_there), (Listener::Process(other.id()), Listener::Nobody));
    }

    #[test]
    fn places_are_read_as_products_write_them() {
        let tcp = |text: &str| Some(Endpoint::Tcp(text.parse().unwrap()));
        assert_eq!(Endpoint::parse("10.0.0.1:80"), tcp("10.0.0.1:80"));
        assert_eq!(Endpoint::parse("localhost:80"), tcp("127.0.0.1:80"));
        assert_eq!(Endpoint::parse("[::1]:80"), tcp("[::1]:80"));
        for text in ["/run/a.sock", "unix:/run/a.sock", "unix@/run/a.sock", "unix//run/a.sock"] {
            assert_eq!(Endpoint::parse(text), Some(Endpoint::Unix("/run/a.sock".into())), "{text}");
        }
        for text in ["a.example:80", "127.0.0.1", "", ":80", "unix:run/a.sock"] {
            assert_eq!(Endpoint::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_unix_socket_tells_who_listens_and_who_waits() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        let endpoint = Endpoint::Unix(path.clone());
        assert_eq!(endpoint.listener(), Listener::Nobody);
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(endpoint.listener(), Listener::Process(std::process::id()));
        let clients: Vec<UnixStream> = (0..3).map(|_| UnixStream::connect(&path).unwrap()).collect();
        let accepted = listener.accept().unwrap();
        assert_eq!(endpoint.connections(), Some(Connections { accepted: 1, waiting: 2 }));
        drop((accepted, clients));
    }

    #[test]
    fn a_listener_at_the_ipv6_form_of_an_address_is_found() {
        let Ok(listener) = TcpListener::bind("[::ffff:127.57.0.4]:0") else { return };
        let address = std::net::SocketAddr::new([127, 57, 0, 4].into(), listener.local_addr().unwrap().port());
        let endpoint = Endpoint::Tcp(address);
        assert_eq!(endpoint.listener(), Listener::Process(std::process::id()));
        let client = TcpStream::connect(address).unwrap();
        assert_eq!(endpoint.connections(), Some(Connections { accepted: 0, waiting: 1 }));
        let accepted = listener.accept().unwrap();
        assert_eq!(endpoint.connections(), Some(Connections { accepted: 1, waiting: 0 }));
        drop((client, accepted));
    }

    #[test]
    fn connections_that_wait_for_an_answer_are_told_from_those_that_are_kept() {
        use std::io::{Read, Write};
        let listener = TcpListener::bind("127.57.0.3:0").unwrap();
        let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
        let least = Duration::from_millis(40);
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut byte = [0];
        for round in 0..2 {
            client.write_all(b"?").unwrap();
            server.read_exact(&mut byte).unwrap();
            assert_eq!(endpoint.asked(least), Some(1), "asked, round {round}");
            // As long as an answer takes here.
            std::thread::sleep(least);
            server.write_all(b"!").unwrap();
            client.read_exact(&mut byte).unwrap();
            assert_eq!(endpoint.asked(least), Some(0), "answered, round {round}");
        }
        assert_eq!(endpoint.asked(Duration::from_millis(1)), None);
        assert_eq!(Endpoint::Unix("/nowhere".into()).asked(least), None);
    }

    #[test]
    fn a_socket_of_version_6_that_serves_version_4_is_found() {
        let Ok(listener) = TcpListener::bind("[::ffff:127.57.0.3]:0") else { return };
        let address = SocketAddr::from(([127, 57, 0, 3], listener.local_addr().unwrap().port()));
        assert_eq!(Endpoint::Tcp(address).listener(), Listener::Process(std::process::id()));
        assert!(listening(&[std::process::id()]).contains(&address));
    }

    #[test]
    fn a_tcp_socket_tells_who_listens_and_who_waits() {
        let listener = TcpListener::bind("127.57.0.2:0").unwrap();
        let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
        assert_eq!(endpoint.listener(), Listener::Process(std::process::id()));
        assert!(listening(&[std::process::id()]).contains(&listener.local_addr().unwrap()));
        let clients: Vec<TcpStream> =
            (0..3).map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap()).collect();
        let accepted = listener.accept().unwrap();
        assert_eq!(endpoint.connections(), Some(Connections { accepted: 1, waiting: 2 }));
        drop((accepted, clients));
    }
}
