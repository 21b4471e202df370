//! Of the processes that hold a listening socket, the one from which those that serve were forked: who made a socket for others, and keeps it, is not
//! a server.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use procfs::process::{FDTarget, Process, all_processes};

/// A service manager that listens in the place of services until somebody comes (systemd.socket(5)).
const MANAGER: &str = "systemd";

/// Who holds a socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) pid: u32,
    parent: u32,
    /// Its program; none where that cannot be read.
    program: Option<PathBuf>,
    /// Its control groups, as /proc tells them.
    group: String,
    /// Whether it is seen to wait for connections there: in accept(2), poll(2) or select(2), or by epoll(7).
    waits: bool,
}

impl Holder {
    fn of(process: &Process, inodes: &BTreeSet<u64>) -> Option<Holder> {
        let all = process.fd().ok()?.flatten();
        let is = |target: &FDTarget| matches!(target, FDTarget::Socket(inode) if inodes.contains(inode));
        let held: Vec<i32> = all.filter(|fd| is(&fd.target)).map(|fd| fd.fd).collect();
        if held.is_empty() {
            return None;
        }
        let pid = u32::try_from(process.pid).ok()?;
        Some(Holder {
            pid,
            parent: u32::try_from(process.stat().ok()?.ppid).unwrap_or(0),
            program: fs::read_link(format!("/proc/{pid}/exe")).ok(),
            group: fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default(),
            waits: waits(pid, &held),
        })
    }

    /// Whether it listens for services that it starts.
    pub(crate) fn is_manager(&self) -> bool {
        self.program.as_deref().and_then(Path::file_name).is_some_and(|name| name == MANAGER)
    }

    /// Whether it only keeps the socket for these, to whom it was given: all are another program than it is, and it is the machine's first process, or
    /// they are a service of their own, or one of them waits for connections and it does not.
    fn keeps_for(&self, others: &[&Holder]) -> bool {
        let another =
            |other: &&Holder| self.program.is_some() && other.program.is_some() && other.program != self.program;
        let apart = self.pid == 1 || others.iter().all(|other| other.group != self.group);
        !others.is_empty() && others.iter().all(another) && (apart || !self.waits && others.iter().any(|o| o.waits))
    }
}

/// Processes that hold one of these sockets, as far as they may be looked at.
pub(crate) fn all(inodes: &BTreeSet<u64>) -> Vec<Holder> {
    all_processes().into_iter().flatten().flatten().filter_map(|process| Holder::of(&process, inodes)).collect()
}

/// The first of them.
pub(crate) fn first(mut all: Vec<Holder>) -> Option<Holder> {
    all.sort_by_key(|one| one.pid);
    loop {
        let root = all.iter().find(|one| !all.iter().any(|other| other.pid == one.parent)).or(all.first())?.clone();
        let inside = below(root.pid, &all);
        let others = all.iter().filter(|one| one.pid != root.pid && (root.pid == 1 || inside.contains(&one.pid)));
        if !root.keeps_for(&others.collect::<Vec<_>>()) {
            return Some(root);
        }
        all.retain(|one| one.pid != root.pid);
    }
}

/// Those that come from `root`, holder by holder.
fn below(root: u32, all: &[Holder]) -> BTreeSet<u32> {
    let mut inside = BTreeSet::from([root]);
    // Children may come before their parents.
    while let Some(one) = all.iter().find(|one| inside.contains(&one.parent) && !inside.contains(&one.pid)) {
        inside.insert(one.pid);
    }
    inside
}

/// Whether a process waits for connections on one of these descriptors.
fn waits(pid: u32, held: &[i32]) -> bool {
    let text = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    let within = |name: &str| {
        fs::read_dir(format!("/proc/{pid}/{name}")).into_iter().flatten().flatten().map(|entry| entry.path())
    };
    let blocked = || {
        let calls = within("task").filter_map(|task| Call::of(&text(task.join("syscall"))));
        calls.into_iter().any(|call| call.awaits(held, |at, length| memory(pid, at, length)))
    };
    blocked() || within("fdinfo").any(|path| watched(&text(path)).any(|fd| held.contains(&fd)))
}

/// So many bytes of a process's memory.
fn memory(pid: u32, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    fs::File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

/// The system call in which a thread is: its number and its first two arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Call(i64, u64, u64);

/// Calls in which a thread waits for a connection by the descriptor itself, by an array of pollfd, or by a set of bits.
const ACCEPTS: [i64; 2] = [libc::SYS_accept, libc::SYS_accept4];
#[cfg(target_arch = "x86_64")]
const POLLS: [i64; 2] = [libc::SYS_poll, libc::SYS_ppoll];
#[cfg(target_arch = "x86_64")]
const SELECTS: [i64; 2] = [libc::SYS_select, libc::SYS_pselect6];
#[cfg(not(target_arch = "x86_64"))]
const POLLS: [i64; 1] = [libc::SYS_ppoll];
#[cfg(not(target_arch = "x86_64"))]
const SELECTS: [i64; 1] = [libc::SYS_pselect6];
/// Most descriptors that are looked at in an array or a set.
const MOST: u64 = 1024;

impl Call {
    /// By the text of `syscall` (proc(5)): `43 0x5 0x0 ...`; none where it is in none.
    fn of(text: &str) -> Option<Call> {
        let mut words = text.split_whitespace();
        let number = words.next()?.parse().ok().filter(|number| *number >= 0)?;
        let mut argument = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
        Some(Call(number, argument()?, argument()?))
    }

    /// Whether it waits on one of these descriptors; `memory` reads what of the process's memory the arguments say.
    fn awaits(self, held: &[i32], memory: impl Fn(u64, usize) -> Option<Vec<u8>>) -> bool {
        let Call(number, one, two) = self;
        if ACCEPTS.contains(&number) {
            return held.iter().any(|fd| u64::try_from(*fd) == Ok(one));
        }
        if POLLS.contains(&number) {
            let all = memory(one, 8 * two.min(MOST) as usize).unwrap_or_default();
            let fd = |entry: &[u8]| Some(i32::from_ne_bytes(entry.get(..4)?.try_into().ok()?));
            return all.chunks(8).filter_map(fd).any(|fd| held.contains(&fd));
        }
        if SELECTS.contains(&number) {
            // A set is written in words of 64 bits.
            let set = memory(two, one.min(MOST).div_ceil(64) as usize * 8).unwrap_or_default();
            let has = |fd: usize| set.get(fd / 8).is_some_and(|byte| byte >> (fd % 8) & 1 == 1);
            return held.iter().any(|fd| usize::try_from(*fd).is_ok_and(has));
        }
        false
    }
}

/// Descriptors that an epoll(7) watches, by the text of its `fdinfo` (proc(5)): `tfd:        5 events: ...`.
fn watched(text: &str) -> impl Iterator<Item = i32> {
    text.lines().filter_map(|line| line.strip_prefix("tfd:")?.split_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(pid: u32, parent: u32, program: &str, group: &str, waits: bool) -> Holder {
        Holder { pid, parent, program: Some(program.into()), group: group.to_owned(), waits }
    }

    fn found(all: &[Holder]) -> Option<u32> {
        first(all.to_vec()).map(|one| one.pid)
    }

    #[test]
    fn a_service_is_told_and_not_the_manager_that_keeps_its_socket() {
        let manager = |pid| holder(pid, u32::from(pid > 1), "/usr/lib/systemd/systemd", "0::/init.scope\n", false);
        let server = |pid, parent| holder(pid, parent, "/usr/bin/python3.11", "0::/a.service\n", false);
        // gunicorn.socket and gunicorn.service; the same of a user's manager.
        assert_eq!(found(&[manager(1), server(700, 1), server(701, 700)]), Some(700));
        assert_eq!(found(&[manager(400), server(700, 400), server(701, 700)]), Some(700));
        assert_eq!(found(&[manager(1), server(700, 650)]), Some(700), "its parent does not hold it");
        let alone = first(vec![manager(1)]).unwrap();
        assert!(alone.is_manager(), "nobody has come yet");
    }

    #[test]
    fn the_first_of_one_program_is_a_server_whatever_its_number() {
        let of = |pid, parent, waits| holder(pid, parent, "/usr/sbin/php-fpm", "0::/x\n", waits);
        assert_eq!(found(&[of(1, 0, false), of(7, 1, true), of(8, 1, true)]), Some(1), "the first of a container");
        assert_eq!(found(&[of(70, 1, false), of(80, 70, true)]), Some(70));
        // A helper that it started and that has the descriptor, too.
        assert_eq!(found(&[of(70, 1, true), holder(80, 70, "/bin/sh", "0::/x\n", false)]), Some(70));
        // Nobody is seen to wait, as where he may not be looked at so closely.
        assert_eq!(found(&[of(70, 1, false), holder(80, 70, "/bin/sh", "0::/x\n", false)]), Some(70));
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn who_waits_is_read_as_the_kernel_tells_it() {
        let call = |number: i64, arguments: &str| {
            Call::of(&format!("{number} {arguments} 0x0 0x0 0x0 0x0 0x7ffd 0x7f")).unwrap()
        };
        let accepts = call(libc::SYS_accept4, "0x9 0x0");
        assert!(accepts.awaits(&[9], |_, _| None) && !accepts.awaits(&[8], |_, _| None));
        // Two of pollfd: 4 and 9.
        let polls = call(libc::SYS_ppoll, "0x1000 0x2");
        let array = |at: u64, length: usize| {
            (at == 0x1000 && length == 16).then(|| vec![4, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0])
        };
        assert!(polls.awaits(&[9], array) && !polls.awaits(&[1], array));
        let selects = call(libc::SYS_pselect6, "0xa 0x2000");
        let set = |at: u64, length: usize| (at == 0x2000 && length == 8).then(|| vec![0x10, 2, 0, 0, 0, 0, 0, 0]);
        assert!(selects.awaits(&[4], set) && selects.awaits(&[9], set) && !selects.awaits(&[8], set));
        assert_eq!((Call::of("running"), Call::of("-1 0x7ffd 0x7f")), (None, None));
        let text = "pos:\t0\nflags:\t02\ntfd:        7 events:       19 data:                0  pos:0 ino:1 sdev:8\n";
        assert_eq!(watched(text).collect::<Vec<_>>(), [7]);
    }
}
