//! Connections that the processes of a server hold to others, whoever these are: what the next tier must bear.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::diag::{self, Question, TCP_ESTABLISHED, TCP_LISTEN, ends};

/// A TCP socket of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Own {
    listens: bool,
    local: SocketAddr,
    remote: SocketAddr,
}

/// How many connections `processes` hold that they opened themselves, to others than themselves: TCP, and Unix stream sockets that somebody accepted. None where
/// the descriptors of one may not be looked at, or the kernel does not tell.
pub(crate) fn held(processes: &[i32]) -> Option<u64> {
    let mut inodes = BTreeSet::new();
    for process in processes {
        inodes.extend(sockets(*process)?);
    }
    let Some(first) = processes.first().filter(|_| !inodes.is_empty()) else { return Some(0) };
    // A server may have a network of its own.
    diag::within(u32::try_from(*first).ok()?, || Some(opened(&tcp(&inodes)?) + unix(&inodes)?))?
}

/// Inodes of the sockets that a process holds; empty for one that has ended, none for one that may not be looked at.
fn sockets(process: i32) -> Option<Vec<u64>> {
    let all = match fs::read_dir(format!("/proc/{process}/fd")) {
        Ok(all) => all,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return None,
        Err(_) => return Some(Vec::new()),
    };
    let inode = |target: &str| target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok();
    let targets = all.flatten().filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
    Some(targets.filter_map(|target| inode(target.to_str()?)).collect())
}

/// Those of TCP that listen or are connected.
fn tcp(inodes: &BTreeSet<u64>) -> Option<Vec<Own>> {
    let mut all = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let states = 1 << TCP_ESTABLISHED | 1 << TCP_LISTEN;
        let question = Question { family: family as u8, states, memory: false, info: false, to: 0 };
        diag::dump(question, |payload| all.extend(own(payload, inodes))).ok()?;
    }
    Some(all)
}

/// An inet_diag_msg (linux/inet_diag.h): family, state, ..., inode at 68; none of a socket of somebody else's.
fn own(payload: &[u8], inodes: &BTreeSet<u64>) -> Option<Own> {
    let inode = u32::from_ne_bytes(payload.get(68..72)?.try_into().ok()?);
    let canonical = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let (local, remote) = ends(payload)?;
    let listens = u32::from(*payload.get(1)?) == TCP_LISTEN;
    inodes.contains(&u64::from(inode)).then_some(Own { listens, local: canonical(local), remote: canonical(remote) })
}

/// How many of them were opened and not accepted, and do not end at another of them.
fn opened(all: &[Own]) -> u64 {
    let (listening, connected): (Vec<&Own>, Vec<&Own>) = all.iter().partition(|own| own.listens);
    // Few listen, though many may be connected; every worker of some servers has the same listeners.
    let places: BTreeSet<SocketAddr> = listening.into_iter().map(|own| own.local).collect();
    let accepts = |local: SocketAddr| {
        places.iter().any(|at| at.port() == local.port() && (at.ip().is_unspecified() || at.ip() == local.ip()))
    };
    connected.into_iter().filter(|own| !accepts(own.local) && !accepts(own.remote)).count() as u64
}

/// Unix stream sockets whose other end carries the path of a listener, and is none of their own, nor the listener one of theirs (a child that runs scripts
/// gives what it accepted to these). One that nobody accepted has an end without an inode.
fn unix(inodes: &BTreeSet<u64>) -> Option<u64> {
    let connected = diag::connected().ok()?;
    let all = diag::unix_listeners().ok()?.into_iter().filter(|one| inodes.contains(&one.inode));
    let own: BTreeSet<PathBuf> = all.map(|one| one.path).collect();
    let ends: BTreeSet<u64> = inodes.iter().filter_map(|inode| connected.get(inode).map(|one| one.peer)).collect();
    let others = ends.iter().filter(|inode| **inode != 0 && !inodes.contains(inode));
    let is_others = |path: &PathBuf| !own.contains(path);
    let at = |inode: &&u64| connected.get(inode).and_then(|one| one.path.as_ref()).is_some_and(is_others);
    Some(others.filter(at).count() as u64)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::process::{Child, Command, Stdio};

    use super::*;

    const SERVER: &str = "
import os, socket, sys
a = socket.create_server(('127.0.0.1', 0))
kept = [socket.create_connection(('127.0.0.1', int(sys.argv[1]))) for _ in range(3)]
for _ in range(2):
    one = socket.socket(socket.AF_UNIX); one.connect(sys.argv[2]); kept.append(one)
own = socket.create_connection(a.getsockname()); other, _ = a.accept()
scripts = socket.socket(socket.AF_UNIX); scripts.bind(sys.argv[2] + '.own'); scripts.listen()
into, out = os.pipe()
if os.fork() == 0:
    one, _ = scripts.accept()
    os.close(out)
    os.read(into, 1)
    os._exit(0)
asked = socket.socket(socket.AF_UNIX); asked.connect(sys.argv[2] + '.own')
print(a.getsockname()[1], flush=True)
client, _ = a.accept()
print('accepted', flush=True)
sys.stdin.readline()
for one in kept[:2]: one.close()
print('closed', flush=True)
sys.stdin.readline()
";

    fn said(child: &mut Child) -> String {
        let (mut all, mut byte) = (Vec::new(), [0]);
        let from = child.stdout.as_mut().unwrap();
        while from.read_exact(&mut byte).is_ok() && byte != *b"\n" {
            all.extend(byte);
        }
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn connections_to_others_are_counted_and_those_of_clients_and_to_itself_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("next.sock");
        let (tcp, unix) = (TcpListener::bind("127.0.0.1:0").unwrap(), UnixListener::bind(&path).unwrap());
        let mut command = Command::new("python3");
        command.args(["-c", SERVER, &tcp.local_addr().unwrap().port().to_string()]).arg(&path);
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let port: u16 = said(&mut server).parse().unwrap();
        let client = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        assert_eq!(said(&mut server), "accepted");
        let accepted = (unix.accept().unwrap(), unix.accept().unwrap());
        let processes = [server.id() as i32];
        // A child that is not looked at took what goes to a listener of its own. Of TCP those that nobody has accepted yet are borne by the next tier, too.
        assert_eq!(held(&processes), Some(5));
        server.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        assert_eq!(said(&mut server), "closed");
        assert_eq!(held(&processes), Some(3));
        drop((client, accepted, server.stdin.take()));
        server.wait().unwrap();
        assert_eq!(held(&processes), Some(0));
    }
}
