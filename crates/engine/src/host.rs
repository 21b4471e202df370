//! What this process and its threads use, and where they run.

use std::io;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{Resource, getrlimit};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

/// CPU time of the calling thread so far, user and system, microseconds.
pub(crate) fn thread_cpu_us() -> u64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0, |t| t.tv_sec() as u64 * 1_000_000 + t.tv_nsec() as u64 / 1_000)
}

/// Largest resident memory of this process so far, bytes (`VmHWM` of proc(5)); 0 where it cannot be read.
pub(crate) fn peak_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// CPU time of this process so far, user and system, microseconds.
pub(crate) fn process_cpu_us() -> u64 {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)
        .map_or(0, |t| t.tv_sec() as u64 * 1_000_000 + t.tv_nsec() as u64 / 1_000)
}

/// Descriptors this process has open. Linux tells without counting from 6.2 on (the size of `/proc/self/fd`, proc(5));
/// before, none.
pub(crate) fn descriptors() -> Option<u64> {
    std::fs::metadata("/proc/self/fd").ok().map(|folder| folder.len()).filter(|open| *open > 0)
}

/// How many it may have open (the soft limit of RLIMIT_NOFILE).
pub(crate) fn descriptors_limit() -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft)
}

/// Keeps the calling thread on one core.
///
/// # Errors
/// When it may not run there.
pub fn pin(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    let pinned = set.set(cpu).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
    pinned.map_err(|e| io::Error::other(format!("it cannot be pinned to core {cpu}: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_memory_covers_what_was_touched() {
        let before = peak_rss();
        let touched = vec![1u8; 32 << 20];
        assert!(touched.iter().map(|b| u64::from(*b)).sum::<u64>() == 32 << 20);
        assert!(before > 0 && peak_rss() >= 32 << 20);
    }

    #[test]
    fn a_core_that_does_not_exist_is_an_error() {
        let there = std::thread::spawn(|| (pin(0).is_ok(), pin(1_000_000).is_ok()));
        assert_eq!(there.join().unwrap(), (true, false));
    }
}
