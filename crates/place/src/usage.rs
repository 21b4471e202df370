//! What a process and everything it started consume.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use genkai_model::evidence::{Sample, metric};
use procfs::process::{LimitValue, Process, Stat, all_processes};

/// A process with all its descendants and all processes of its session (a master may have left a daemon behind).
#[derive(Debug)]
pub struct Tree {
    root: i32,
    /// CPU time of each process at the last look, seconds, and when it was read, keyed by pid and start time (pids come back).
    before: HashMap<(i32, u64), (f64, Instant)>,
    looked: Instant,
}

/// One look at a tree. CPU is since the look before, in cores; a process that is new counts from its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU of the whole tree, cores.
    pub cpu: f64,
    /// CPU of the busiest process, cores.
    pub busiest_cpu: f64,
    /// Resident memory of the tree, bytes. Pages shared between processes count for each of them.
    pub rss: u64,
    /// Open descriptors of the process that has most; none when no process lets itself be looked at.
    pub fds_max: Option<u64>,
    /// Soft limit on descriptors of that process; none for unlimited or unreadable.
    pub fd_limit: Option<u64>,
    /// Each process, the root first where it lives, then by pid.
    pub processes: Vec<Consumer>,
}

/// One process of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Consumer {
    /// Its pid.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// Its command name (proc(5): at most 15 bytes).
    pub name: String,
    /// CPU since the look before, cores.
    pub cpu: f64,
    /// Resident memory, bytes.
    pub rss: u64,
    /// Threads.
    pub threads: u32,
    /// Open descriptors; none when they may not be read (another user's process).
    pub fds: Option<u64>,
    /// Soft limit on descriptors; none for unlimited or unreadable.
    pub fd_limit: Option<u64>,
}

impl Tree {
    /// The tree of this process; CPU counts from now.
    pub fn new(pid: u32) -> Tree {
        let mut tree = Tree { root: pid as i32, before: HashMap::new(), looked: Instant::now() };
        tree.sample();
        tree
    }

    /// Processor time that its processes have had, those that have ended left out.
    pub fn processor(&self) -> Duration {
        let seconds: f64 = members(self.root).iter().map(|(_, stat)| cpu_seconds(stat)).sum();
        Duration::from_secs_f64(seconds)
    }

    /// Looks at the tree. Processes that end meanwhile are left out; a tree that is gone consumes nothing.
    pub fn sample(&mut self) -> Usage {
        let now = Instant::now();
        let mut times = HashMap::new();
        let mut usage = Usage::default();
        for (process, stat) in members(self.root) {
            let key = (stat.pid, stat.starttime);
            // Who looks at many processes, and may be held up, comes to each at another moment.
            let asked = Instant::now();
            let time = cpu_seconds(&stat);
            let (before, looked) = self.before.get(&key).copied().unwrap_or((0.0, self.looked));
            let wall = Instant::now().duration_since(looked).as_secs_f64().max(1e-6);
            let cpu = (time - before).max(0.0) / wall;
            times.insert(key, (time, asked));
            usage.add(consumer(&process, &stat, cpu));
        }
        self.before = times;
        self.looked = now;
        usage.processes.sort_by_key(|p| (p.pid != self.root as u32, p.pid));
        usage
    }
}

impl Usage {
    /// What every server tells of its processes, as a sample of `subject`.
    pub fn sample(&self, subject: &str) -> Sample {
        let name = |metric: &str| format!("{subject}.{metric}");
        let metrics = [
            (name(metric::CPU), self.cpu),
            (name(metric::WORKER_CPU_MAX), self.busiest_cpu),
            (name(metric::RSS), self.rss as f64),
        ];
        Sample { subject: subject.to_owned(), metrics: metrics.into() }
    }

    /// The same of a server that is one process: its descriptors too.
    pub fn sample_of_one(&self, subject: &str) -> Sample {
        let gauges = [(metric::CPU, Some(self.cpu)), (metric::RSS, Some(self.rss as f64))];
        let descriptors = [(metric::WORKER_FDS_MAX, self.fds_max), (metric::WORKER_FD_LIMIT, self.fd_limit)];
        let descriptors = descriptors.map(|(name, value)| (name, value.map(|n| n as f64)));
        let all = gauges.into_iter().chain(descriptors);
        let metrics = all.filter_map(|(name, value)| Some((format!("{subject}.{name}"), value?))).collect();
        Sample { subject: subject.to_owned(), metrics }
    }

    fn add(&mut self, process: Consumer) {
        self.cpu += process.cpu;
        self.busiest_cpu = self.busiest_cpu.max(process.cpu);
        self.rss += process.rss;
        if process.fds > self.fds_max {
            self.fds_max = process.fds;
            self.fd_limit = process.fd_limit;
        }
        self.processes.push(process);
    }
}

/// All processes of a user, of which nothing else may be looked at.
#[derive(Debug)]
pub struct OfUser {
    uid: u32,
    before: Option<(f64, Instant)>,
}

impl OfUser {
    /// Those of this one.
    pub fn new(uid: u32) -> OfUser {
        OfUser { uid, before: None }
    }

    /// Processor time that they have since the look before, in cores; none at the first look, and where /proc does not show them (hidepid).
    pub fn cpu(&mut self) -> Option<f64> {
        let all = all_processes().ok()?.flatten();
        let theirs = all.filter(|process| process.uid().is_ok_and(|uid| uid == self.uid));
        let times: Vec<f64> = theirs.filter_map(|process| Some(cpu_seconds(&process.stat().ok()?))).collect();
        let now = ((!times.is_empty()).then(|| times.iter().sum::<f64>())?, Instant::now());
        let (time, at) = self.before.replace(now)?;
        // One that ended takes with it what it had.
        Some((now.0 - time).max(0.0) / now.1.duration_since(at).as_secs_f64().max(1e-6))
    }
}

/// One process alone, without a look at any other. Its `cpu` is the processor time since it began, seconds. None when it is
/// gone.
pub fn alone(pid: u32) -> Option<Consumer> {
    let process = Process::new(pid as i32).ok()?;
    let stat = process.stat().ok()?;
    Some(consumer(&process, &stat, cpu_seconds(&stat)))
}

fn consumer(process: &Process, stat: &Stat, cpu: f64) -> Consumer {
    let limit = process.limits().ok().map(|limits| limits.max_open_files.soft_limit);
    Consumer {
        pid: stat.pid as u32,
        parent: stat.ppid as u32,
        name: stat.comm.clone(),
        cpu,
        rss: stat.rss * procfs::page_size(),
        threads: u32::try_from(stat.num_threads).unwrap_or(0),
        fds: process.fd_count().ok().map(|count| count as u64),
        fd_limit: match limit {
            Some(LimitValue::Value(value)) => Some(value),
            _ => None,
        },
    }
}

/// Live processes of the tree.
pub(crate) fn members(root: i32) -> Vec<(Process, Stat)> {
    let Ok(all) = all_processes() else { return Vec::new() };
    let mut all: Vec<(Process, Stat)> = all
        .flatten()
        .filter_map(|process| process.stat().ok().map(|stat| (process, stat)))
        .filter(|(_, stat)| !matches!(stat.state, 'Z' | 'X' | 'x'))
        .collect();
    let mut inside: HashSet<i32> = HashSet::from([root]);
    // Parents need not come before their children, so until nothing is added; as many rounds as the tree is deep.
    loop {
        let before = inside.len();
        for (_, stat) in &all {
            if stat.session == root || stat.pgrp == root || inside.contains(&stat.ppid) {
                inside.insert(stat.pid);
            }
        }
        if inside.len() == before {
            break;
        }
    }
    all.retain(|(_, stat)| inside.contains(&stat.pid));
    all
}

/// CPU time of a process with all its threads, seconds: from its CPU clock (clock_getcpuclockid(3), nanoseconds), or
/// where that cannot be read from /proc's ticks of 10 ms.
pub(crate) fn cpu_seconds(stat: &Stat) -> f64 {
    // SAFETY: both calls write only to the variables given.
    unsafe {
        let mut clock: libc::clockid_t = 0;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        if libc::clock_getcpuclockid(stat.pid, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut time) == 0 {
            return time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
        }
    }
    (stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64
}
