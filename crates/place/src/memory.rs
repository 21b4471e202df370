//! How much memory the processes of a server take, and how much more could be had, looked at while it runs.
//!
//! Memory is PSS (proc(5), `smaps_rollup`): a page that several processes share counts for each of them in part, so that the sum over
//! processes is what they take together. Resident memory would count it for each of them in whole.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use genkai_model::evidence::metric;
use procfs::process::Process;

use crate::group::{self, Group};
use crate::machine;
use crate::usage;

/// A look walks the page tables of every process. It may take this part of the time at most.
const SHARE: u32 = 50;
/// Of processes that end just when they are looked at nothing can be read: so often is looked again.
const TRIES: usize = 3;

/// Looks at the memory of a server's processes, rarely enough to be no load on it.
#[derive(Debug)]
pub struct Memory {
    first: u32,
    /// Control groups that limit it, the nearest first.
    groups: Vec<Group>,
    /// No look before.
    next: Instant,
}

/// What all processes of a server take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Taken {
    /// PSS of all, bytes.
    pss: u64,
    /// Memory that no other process shares, of all but the first, bytes.
    private: u64,
    /// All but the first.
    workers: u32,
    /// Descriptors of all.
    descriptors: u64,
}

impl Memory {
    /// Of process `first` and all that it has started.
    pub fn of(first: u32) -> Memory {
        Memory { first, groups: group::limiting(first), next: Instant::now() }
    }

    /// Its metrics, without the server's name before them; none where it is too early for another look, or where a process does not let
    /// itself be looked at.
    pub fn look(&mut self) -> BTreeMap<&'static str, f64> {
        let began = Instant::now();
        if began < self.next {
            return BTreeMap::new();
        }
        let taken = (0..TRIES).find_map(|_| Taken::by(self.first));
        let seen = taken.map(|taken| self.told(&taken)).unwrap_or_default();
        self.next = Instant::now() + began.elapsed().max(Duration::from_micros(100)) * SHARE;
        seen
    }

    fn told(&self, taken: &Taken) -> BTreeMap<&'static str, f64> {
        let mut all = BTreeMap::from([
            (metric::PSS, taken.pss as f64),
            (metric::WORKER_PROCESSES, f64::from(taken.workers)),
            (metric::DESCRIPTORS, taken.descriptors as f64),
        ]);
        if taken.workers > 0 {
            all.insert(metric::WORKER_PRIVATE, taken.private as f64 / f64::from(taken.workers));
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
        for (process, _) in usage::members(first as i32) {
            let alive = process.is_alive();
            match Taken::one(&process) {
                Some((pss, _)) if process.pid() as u32 == first => all.pss += pss,
                Some((pss, private)) => {
                    all.pss += pss;
                    all.private += private;
                    all.workers += 1;
                }
                None if alive && process.is_alive() => return None,
                None => {}
            }
            all.descriptors += process.fd_count().unwrap_or(0) as u64;
        }
        (all.pss > 0).then_some(all)
    }

    /// PSS and private memory of one process, bytes.
    fn one(process: &Process) -> Option<(u64, u64)> {
        let maps = process.smaps_rollup().ok()?.memory_map_rollup.into_iter().next()?.extension.map;
        let of = |name: &str| maps.get(name).copied().unwrap_or(0);
        Some((*maps.get("Pss")?, of("Private_Clean") + of("Private_Dirty") + of("Private_Hugetlb")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_takes_memory_and_looks_are_rare() {
        let mut memory = Memory::of(std::process::id());
        let seen = memory.look();
        assert!(seen[metric::PSS] > 100_000.0, "{seen:?}");
        assert!(seen[metric::MEMORY_AVAILABLE] > 1e6 && seen[metric::DESCRIPTORS] > 2.0, "{seen:?}");
        assert_eq!(memory.look(), BTreeMap::new(), "the next one is due later");
    }

    #[test]
    fn nobody_takes_nothing() {
        assert_eq!(Taken::by(4_194_305), None);
    }
}
