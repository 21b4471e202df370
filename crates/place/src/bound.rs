//! Unix sockets by the file that they are bound to: the same one is reached by every path that leads there, through links too, and from every network
//! namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use procfs::net::UnixState;
use procfs::process::all_processes;

use crate::diag::{self, BoundFile, UnixListener};

/// Whether two paths are of one socket.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().ok();
    one == other || whole(one).is_some_and(|one| whole(other) == Some(one))
}

/// Sockets that listen at this path, whatever path they were bound by: of this network namespace, or, where there is none, of another one.
pub(crate) fn listeners(path: &Path) -> Vec<UnixListener> {
    let own = at(path, diag::unix_listeners().unwrap_or_default());
    if own.is_empty() { elsewhere(path) } else { own }
}

/// Those of them that listen at this path: by its file, and where the kernel tells that otherwise (as of file systems that lie over others it may), by name.
/// Without a file nobody is reached there, whoever has that name in other folders.
fn at(path: &Path, all: Vec<UnixListener>) -> Vec<UnixListener> {
    let Some(file) = BoundFile::at(path) else { return Vec::new() };
    let (same, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.file == Some(file));
    if !same.is_empty() {
        return same;
    }
    let told = |one: &UnixListener| one.file.is_some_and(|other| other.is_beside(file));
    // The end of a link leads to the same file as the link does.
    let called = |one: &UnixListener| one.path == path || one.path.is_absolute() && is_same(&one.path, path);
    others.into_iter().filter(|one| !told(one) && called(one)).collect()
}

/// Those of other network namespaces of this machine, by their file alone: a path may be another one there. Empty where these may not be entered.
fn elsewhere(path: &Path) -> Vec<UnixListener> {
    let Some(file) = BoundFile::at(path) else { return Vec::new() };
    let space = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let Some(own) = space("self") else { return Vec::new() };
    let all = all_processes().into_iter().flatten().flatten();
    let spaces: BTreeMap<PathBuf, i32> =
        all.filter_map(|process| Some((space(&process.pid.to_string())?, process.pid))).collect();
    let others = spaces.into_iter().filter(|(space, _)| *space != own);
    let told = others.filter_map(|(_, pid)| diag::within(u32::try_from(pid).ok()?, diag::unix_listeners)?.ok());
    told.flatten().filter(|one| one.file == Some(file)).collect()
}

/// Inodes of the sockets that listen at this path.
pub(crate) fn inodes(path: &Path) -> BTreeSet<u64> {
    let found = listeners(path);
    if !found.is_empty() || diag::unix_listeners().is_ok() {
        return found.into_iter().map(|one| one.inode).collect();
    }
    // A kernel without sock_diag(7) of Unix sockets. A listener is not connected itself (unix_seq_show, net/unix/af_unix.c).
    let all = procfs::net::unix().into_iter().flatten().filter(|entry| entry.state == UnixState::UNCONNECTED);
    all.filter(|entry| entry.path.as_ref().is_some_and(|bound| is_same(bound, path))).map(|entry| entry.inode).collect()
}

/// Paths by which those were bound that listen at this one in the network namespace of a process; none where nobody does, or that is not told.
pub(crate) fn names(path: &Path, pid: u32) -> Option<BTreeSet<PathBuf>> {
    match diag::within(pid, diag::unix_listeners)? {
        Ok(all) => {
            Some(at(path, all).into_iter().map(|one| one.path).collect()).filter(|all: &BTreeSet<_>| !all.is_empty())
        }
        Err(_) => Some(BTreeSet::from([path.to_owned()])),
    }
}

/// Whether somebody takes a connection at this path, or nobody; none where that cannot be tried.
pub(crate) fn takes(path: &Path) -> Option<bool> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None).ok()?;
    match connect(socket.as_raw_fd(), &UnixAddr::new(path).ok()?) {
        // Its queue may be full.
        Ok(()) | Err(Errno::EAGAIN) => Some(true),
        Err(Errno::ECONNREFUSED | Errno::ENOENT | Errno::ENOTDIR) => Some(false),
        Err(_) => None,
    }
}
