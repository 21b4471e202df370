//! How much memory the processes of a server take, and how much more could be had, looked at while it runs.
//!
//! Memory is PSS (proc(5), `smaps_rollup`): a page that several processes share counts for each of them in part, so that the sum over
//! processes is what they take together. Resident memory would count it for each of them in whole. Pages of files (the program itself, its
//! libraries) are left out: they are shared with whoever else runs the same program, and the kernel gives them up before anything else.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use genkai_model::evidence::metric;
use nix::time::{ClockId, clock_gettime};
use procfs::process::Process;

use crate::group::{self, Group};
use crate::machine;
use crate::onward;
use crate::usage;

/// A look walks the page tables of every process. Looks may take this part of a core's time (that they wait for a core on a busy machine is no load
/// on the server)...
const SHARE: u32 = 50;
/// ... and so much at once, so that the first moments of a load are seen.
const FREE: Duration = Duration::from_millis(100);
/// However much they took, one is made when so long after the last, and ten times as long as that took: what a load of seconds takes of memory is a
/// bound of what is proposed, so that no load may pass without one.
const AT_LAST: Duration = Duration::from_secs(1);
/// What the kernel takes for a thread, bytes: its stack (`THREAD_SIZE` of x86-64 and arm64, 16 KiB), and `task_struct` with what belongs to it.
const THREAD: u64 = 26 << 10;
/// For a mapping: `vm_area_struct`, `anon_vma` and its chain, as a control group's `memory.kmem` counted them (Linux 6.18).
const MAPPING: u64 = 320;
/// For a descriptor: of those that grow in number most are TCP sockets, with inode and file.
const DESCRIPTOR: u64 = 2560;
/// Of processes that end just when they are looked at nothing can be read: so often is looked again.
const TRIES: usize = 3;

/// What this process and its children may have of memory, and what could be had now, bytes: the machine's, or of the control group that leaves
/// them least.
pub fn of_children() -> (u64, u64) {
    let groups = group::limiting(std::process::id());
    within(
        (machine::environment(BTreeMap::new()).memory, machine::available().unwrap_or(u64::MAX)),
        groups.iter().filter_map(|group| Some((group.memory_limit()?, group.memory_left()?))),
    )
}

/// The least that is allowed and left, by a machine and by groups of a process in it.
fn within(machine: (u64, u64), groups: impl Iterator<Item = (u64, u64)>) -> (u64, u64) {
    groups.fold(machine, |(most, left), (limit, rest)| (most.min(limit), left.min(rest)))
}

/// Looks at the memory of a server's processes, rarely enough to be no load on it.
#[derive(Debug)]
pub struct Memory {
    first: u32,
    /// Control groups that limit it, the nearest first.
    groups: Vec<Group>,
    since: Instant,
    /// Processor time that looks have taken since then.
    spent: Duration,
    /// When the last ended, and what it took.
    last: Option<(Instant, Duration)>,
}

/// What all processes of a server take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Taken {
    /// PSS of all but for pages of files, bytes.
    pss: u64,
    /// What all but the first have written and no other process shares, bytes: pages of files that one of them alone has read would be
    /// shared with the next.
    private: u64,
    /// The kernel's for all, reckoned, bytes.
    kernel: u64,
    /// The kernel's for all but the first.
    kernel_of_workers: u64,
    /// All but the first.
    workers: u32,
    /// Descriptors of all.
    descriptors: u64,
    /// Connections that they hold to others; none where that is not known.
    onward: Option<u64>,
}

impl Memory {
    /// Of process `first` and all that it has started.
    pub fn of(first: u32) -> Memory {
        Memory { first, groups: group::limiting(first), since: Instant::now(), spent: Duration::ZERO, last: None }
    }

    /// Its metrics, without the server's name before them; none where it is too early for another look, or where a process does not let
    /// itself be looked at.
    pub fn look(&mut self) -> BTreeMap<&'static str, f64> {
        let began = own_time();
        if !self.is_due() {
            return BTreeMap::new();
        }
        let taken = (0..TRIES).find_map(|_| Taken::by(self.first));
        let seen = taken.map(|taken| self.told(&taken)).unwrap_or_default();
        let took = own_time().saturating_sub(began);
        self.spent += took;
        self.last = Some((Instant::now(), took));
        seen
    }

    fn is_due(&self) -> bool {
        let long_ago = |(ended, took): (Instant, Duration)| ended.elapsed() >= AT_LAST.max(took * 10);
        self.spent <= self.since.elapsed() / SHARE + FREE || self.last.is_some_and(long_ago)
    }

    fn told(&self, taken: &Taken) -> BTreeMap<&'static str, f64> {
        let mut all = BTreeMap::from([
            (metric::PSS, taken.pss as f64),
            (metric::KERNEL_MEMORY, taken.kernel as f64),
            (metric::WORKER_PROCESSES, f64::from(taken.workers)),
            (metric::DESCRIPTORS, taken.descriptors as f64),
        ]);
        all.extend(taken.onward.map(|held| (metric::ONWARD, held as f64)));
        if taken.workers > 0 {
            let each = |bytes: u64| bytes as f64 / f64::from(taken.workers);
            all.insert(metric::WORKER_PRIVATE, each(taken.private));
            all.insert(metric::WORKER_KERNEL, each(taken.kernel_of_workers));
        }
        all.extend(machine::available().map(|bytes| (metric::MEMORY_AVAILABLE, bytes as f64)));
        let least = self.groups.iter().filter_map(|group| Some((group.memory_left()?, group.memory_limit()?))).min();
        if let Some((left, limit)) = least {
            all.extend([(metric::GROUP_LEFT, left as f64), (metric::GROUP_LIMIT, limit as f64)]);
        }
        all
    }
}

impl Taken {
    /// By a process and all that it has started. Of processes that end meanwhile nothing is told; none where one may not be looked at, or
    /// none is left.
    fn by(first: u32) -> Option<Taken> {
        let mut all = Taken::default();
        let members = usage::members(first as i32);
        for (process, _) in &members {
            let alive = process.is_alive();
            match Taken::one(process) {
                Some((pss, _)) if process.pid() as u32 == first => {
                    all.pss += pss;
                    all.kernel += kernel(process);
                }
                Some((pss, private)) => {
                    all.pss += pss;
                    all.private += private;
                    let kernel = kernel(process);
                    all.kernel += kernel;
                    all.kernel_of_workers += kernel;
                    all.workers += 1;
                }
                None if alive && process.is_alive() => return None,
                None => {}
            }
            all.descriptors += process.fd_count().unwrap_or(0) as u64;
        }
        all.onward = onward::held(&members.iter().map(|(process, _)| process.pid()).collect::<Vec<_>>());
        (all.pss > 0).then_some(all)
    }

    /// PSS of one process but for pages of files, and what it has written and shares with nobody, bytes. A kernel before 5.4 tells no parts.
    fn one(process: &Process) -> Option<(u64, u64)> {
        let maps = process.smaps_rollup().ok()?.memory_map_rollup.into_iter().next()?.extension.map;
        let of = |name: &str| maps.get(name).copied().unwrap_or(0);
        let written = maps.get("Pss_Anon").map(|anonymous| anonymous + of("Pss_Shmem"));
        Some((written.or_else(|| maps.get("Pss").copied())?, of("Private_Dirty") + of("Private_Hugetlb")))
    }
}

/// Processor time of this thread so far.
fn own_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// What the kernel takes for a process: page tables (`VmPTE`) as it counts them, and by numbers what it tells no bytes of.
fn kernel(process: &Process) -> u64 {
    let status = process.status().ok();
    let tables = status.as_ref().and_then(|status| status.vmpte).unwrap_or(0) << 10;
    let threads = status.map_or(1, |status| status.threads);
    let maps = fs::read(format!("/proc/{}/maps", process.pid())).unwrap_or_default();
    let mappings = maps.iter().filter(|byte| **byte == b'\n').count() as u64;
    let descriptors = process.fd_count().unwrap_or(0) as u64;
    tables + threads * THREAD + mappings * MAPPING + descriptors * DESCRIPTOR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_had_is_the_least_of_the_machines_and_the_groups() {
        let (machine, groups) = ((16 << 30, 9 << 30), [(4 << 30, 3 << 30), (8 << 30, 1 << 30)]);
        assert_eq!(within(machine, groups.into_iter()), (4 << 30, 1 << 30));
        assert_eq!(within(machine, std::iter::empty()), machine);
    }

    #[test]
    fn a_process_takes_memory_and_looks_are_rare() {
        let mut memory = Memory::of(std::process::id());
        let seen = memory.look();
        assert!(seen[metric::PSS] > 20_000.0 && seen[metric::KERNEL_MEMORY] > 50_000.0, "{seen:?}");
        assert!(seen[metric::MEMORY_AVAILABLE] > 1e6 && seen[metric::DESCRIPTORS] > 2.0, "{seen:?}");
        memory.spent = Duration::from_secs(3600);
        assert_eq!(memory.look(), BTreeMap::new(), "looks have taken more than their share");
        let ago = |took: Duration| Some((Instant::now().checked_sub(AT_LAST * 2).unwrap(), took));
        memory.last = ago(Duration::from_secs(1));
        assert_eq!(memory.look(), BTreeMap::new(), "a look takes a tenth of a core at most");
        memory.last = ago(Duration::from_millis(50));
        assert!(memory.look().contains_key(metric::PSS), "no load of seconds is without one");
    }

    #[test]
    fn nobody_takes_nothing() {
        assert_eq!(Taken::by(4_194_305), None);
    }
}
