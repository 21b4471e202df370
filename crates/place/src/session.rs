//! Which processes belong to a child: its session, and its process group.
//!
//! A child leads a session of its own, and what it starts stays in that session unless it makes its own. A shell may
//! put its jobs in groups of their own, so killing the group alone would leave some behind.

use std::collections::BTreeSet;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long the kernel gets to end processes that were sent SIGKILL (one in an uninterruptible wait takes its time).
pub(crate) const KILL_DEADLINE: Duration = Duration::from_secs(10);

/// Processes of genkai's own that lead sessions, and have not been ended yet.
pub(crate) fn leaders() -> MutexGuard<'static, BTreeSet<u32>> {
    static LEADERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts one that makes a session of its own; whoever looks meanwhile whose a process is waits until this one is known.
pub(crate) fn lead(command: &mut Command) -> io::Result<Child> {
    let mut leaders = leaders();
    let child = command.spawn()?;
    leaders.insert(child.id());
    Ok(child)
}

/// Live processes (zombies are not) of the session or group led by `leader`, from /proc.
pub(crate) fn members(leader: u32) -> Vec<u32> {
    let leader = leader as i32;
    let Ok(all) = procfs::process::all_processes() else { return Vec::new() };
    all.flatten()
        .filter_map(|process| process.stat().ok())
        .filter(|stat| (stat.session == leader || stat.pgrp == leader) && !matches!(stat.state, 'Z' | 'X' | 'x'))
        .map(|stat| stat.pid as u32)
        .collect()
}

/// SIGKILL to the whole session, again and again until nobody is left (a member may fork while others are killed).
/// True when nobody is left, false after [`KILL_DEADLINE`].
///
/// The caller must not have reaped the leader yet, so that its number cannot belong to somebody else.
pub(crate) fn kill_all(leader: u32) -> bool {
    let deadline = Instant::now() + KILL_DEADLINE;
    loop {
        let _ = kill(Pid::from_raw(-(leader as i32)), Signal::SIGKILL);
        let left = members(leader);
        if left.is_empty() {
            return true;
        }
        for pid in left {
            let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
}
