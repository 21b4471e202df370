//! What the kernel shows of a server of which nothing else is known: its processes and threads, descriptors, accept queue.

use std::net::SocketAddr;

use genkai_model::evidence::metric;
use genkai_place::listener::Watched;
use genkai_place::log_lines::{ParsedLine, aggregate};
use genkai_place::observation::Observation;
use genkai_place::process::Signal;
use genkai_place::running;
use genkai_place::tail::Tail;
use genkai_place::threads::Threads;
use genkai_place::usage::Tree;

use super::SUBJECT;
use super::secrets::hidden;

/// Names of its metrics. `..._total` are cumulative.
pub(super) mod metrics {
    /// Its processes.
    pub(crate) const PROCESSES: &str = "command.processes";
    /// Threads of all of them.
    pub(crate) const THREADS: &str = "command.threads";
    /// The busiest thread, as a share of a core.
    pub(crate) const THREAD: &str = "command.thread_cpu_max";
    /// Open descriptors of the process that has most.
    pub(crate) const FDS: &str = "command.worker_fds_max";
    /// How many that may have.
    pub(crate) const FD_LIMIT: &str = "command.worker_fd_limit";
    /// Connections that its accept queue had no room for.
    pub(crate) const DROPS: &str = "command.listen_drops_total";
}

/// Looks at a running command, again and again.
#[derive(Debug)]
pub(super) struct Watch {
    listener: Watched,
    tree: Tree,
    threads: Threads,
    log: Tail,
    secrets: Vec<String>,
}

impl Watch {
    /// Watches what this process started; what it prints is told without `secrets`.
    pub(super) fn new(pid: u32, address: SocketAddr, log: Tail, secrets: Vec<String>) -> Watch {
        Watch { listener: Watched::new(address), tree: Tree::new(pid), threads: Threads::default(), log, secrets }
    }
}

impl running::Watch for Watch {
    const SUBJECT: &'static str = SUBJECT;
    const FIRST: &'static str = "first";
    const GRACEFUL: Signal = Signal::SIGTERM;

    fn look(&mut self) -> Observation {
        let usage = self.tree.sample();
        let mut sample = usage.sample(SUBJECT);
        let mut put = |name: &str, value: Option<f64>| {
            sample.metrics.extend(value.map(|value| (name.to_owned(), value)));
        };
        put(metrics::PROCESSES, Some(usage.processes.len() as f64));
        put(metrics::THREADS, Some(usage.processes.iter().map(|one| f64::from(one.threads)).sum()));
        put(metrics::THREAD, self.threads.busiest(usage.processes.iter().map(|one| one.pid)));
        put(metrics::FDS, usage.fds_max.map(|n| n as f64));
        put(metrics::FD_LIMIT, usage.fd_limit.map(|n| n as f64));
        let queue = self.listener.look();
        put(&format!("{SUBJECT}.{}", metric::ACCEPT_QUEUE), queue.map(|queue| f64::from(queue.waiting)));
        put(metrics::DROPS, queue.map(|queue| queue.dropped as f64));
        Observation { samples: vec![sample], ..self.last_words() }
    }

    /// What it prints: what of that tells of trouble is not known.
    fn last_words(&mut self) -> Observation {
        let lines: Vec<String> = self.log.lines().iter().map(|line| hidden(line, &self.secrets)).collect();
        let parsed = |line| ParsedLine { level: "", gist: line, signature: None };
        Observation { logs: aggregate(SUBJECT, lines.iter().map(String::as_str), parsed), ..Observation::default() }
    }
}
