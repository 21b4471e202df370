//! The workers: which processes they are, what each consumes, which have died.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::time::Instant;

use genkai_place::usage::{Consumer, Tree, Usage};

/// What the workers showed since the look before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workers {
    /// The whole tree, master and helper processes included.
    pub tree: Usage,
    /// Workers that live.
    pub alive: u32,
    /// Of the busiest worker: fraction of a core that it used.
    pub cpu_max: f64,
    /// Of the worker that wanted most: fraction of the time that it ran or waited for a core.
    pub demand_max: f64,
    /// Descriptors of the worker that has most, and its soft limit.
    pub fds: Option<(u64, Option<u64>)>,
    /// Workers that were there at the look before and are no more.
    pub gone: Vec<u32>,
}

/// Follows the workers of one master.
#[derive(Debug)]
pub struct Follower {
    master: u32,
    tree: Tree,
    /// Nanoseconds that each worker has waited for a core.
    waits: HashMap<u32, u64>,
    known: BTreeSet<u32>,
    looked: Instant,
}

impl Follower {
    /// Follows the workers of this master; consumption counts from now.
    pub fn new(master: u32) -> Follower {
        let tree = Tree::new(master);
        let mut follower =
            Follower { master, tree, waits: HashMap::new(), known: BTreeSet::new(), looked: Instant::now() };
        follower.look();
        follower
    }

    /// One look.
    pub fn look(&mut self) -> Workers {
        let now = Instant::now();
        let wall = now.duration_since(self.looked).as_nanos().max(1) as f64;
        let tree = self.tree.sample();
        let workers: BTreeMap<u32, &Consumer> =
            tree.processes.iter().filter(|p| self.is_worker(p)).map(|p| (p.pid, p)).collect();
        let mut seen = Workers { alive: workers.len() as u32, ..Workers::default() };
        let mut waits = HashMap::new();
        for (&pid, consumer) in &workers {
            let waited = waited(pid).unwrap_or(0);
            let wait = waited.saturating_sub(self.waits.get(&pid).copied().unwrap_or(0)) as f64 / wall;
            waits.insert(pid, waited);
            seen.cpu_max = seen.cpu_max.max(consumer.cpu);
            seen.demand_max = seen.demand_max.max(consumer.cpu + wait);
            seen.fds = seen.fds.max(consumer.fds.map(|fds| (fds, consumer.fd_limit)));
        }
        let alive: BTreeSet<u32> = workers.into_keys().collect();
        seen.gone = self.known.difference(&alive).copied().collect();
        (self.known, self.waits, self.looked) = (alive, waits, now);
        seen.tree = tree;
        seen
    }

    /// A child of the master that calls itself a worker. (A cache manager is none, nor is a child that was just forked
    /// and still bears the master's title.)
    fn is_worker(&self, process: &Consumer) -> bool {
        process.parent == self.master
            && (self.known.contains(&process.pid) || title(process.pid).starts_with("nginx: worker process"))
    }
}

/// Process ids of the live workers of a master.
pub fn workers(master: u32) -> Vec<u32> {
    Follower::new(master).known.into_iter().collect()
}

/// The title that the process gave itself; empty when it is gone.
fn title(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Nanoseconds that a process could have run but waited for a core: the second figure of /proc/PID/schedstat
/// (Documentation/scheduler/sched-stats.rst).
fn waited(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}
