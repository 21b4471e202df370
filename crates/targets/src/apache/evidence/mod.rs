//! What a running httpd shows: its error log, its status page, its processes, its accept queue.
//!
//! One look ([`Watch::look`]) costs a few milliseconds and, of httpd, one short request for the status page. When every
//! worker is busy that request waits with the clients: it is given up after 100 ms and asked again a second later.

mod answers;
mod log;
mod out;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Instant;

use genkai_model::event::{ServerState, State};
use genkai_model::evidence::Sample;

pub(super) use answers::{Answers, of_member, told};
#[cfg(test)]
pub(super) use log::known;
pub use log::{Entry, aggregate, classify, signature};
pub(super) use out::Out;
pub use status::{Status, ask};

use genkai_place::listener::Watched;
use genkai_place::observation::Observation;
use genkai_place::process::Signal;
use genkai_place::running;
use genkai_place::tail::Tail;
use genkai_place::usage::{Tree, Usage};

/// Names of Apache's metrics. Those of the status page are absent when it did not answer; `..._total` are cumulative since
/// the start of this Apache.
pub mod metrics {
    /// Workers that serve, genkai's own question taken off.
    pub const BUSY: &str = "apache.busy_workers";
    /// Workers that wait.
    pub const IDLE: &str = "apache.idle_workers";
    /// Workers that hold an idle keep-alive connection.
    pub const KEEPING: &str = "apache.keepalive_workers";
    /// Workers of children that end gracefully.
    pub const GRACEFUL: &str = "apache.graceful_workers";
    /// Requests.
    pub const REQUESTS: &str = "apache.requests_total";
    /// Times that the status page did not answer.
    pub const UNREACHABLE: &str = "apache.status_unreachable_total";
    /// Child processes.
    pub const PROCESSES: &str = "apache.processes";
    /// Children that have ended, cumulative; those that died of a signal are not among them.
    pub const ENDED: &str = "apache.children_ended_total";
    /// Looks, cumulative, at which connections waited as they had at the look before, while fewer children ran than may.
    pub const SHORT: &str = "apache.waited_for_children_total";
    /// CPU of parent and children, cores.
    pub const CPU: &str = "apache.cpu";
    /// CPU of the busiest child, cores.
    pub const WORKER_CPU_MAX: &str = "apache.worker_cpu_max";
    /// Resident memory of all processes, bytes.
    pub const RSS: &str = "apache.rss";
    /// Descriptors of the child that has most.
    pub const WORKER_FDS_MAX: &str = "apache.worker_fds_max";
    /// Threads of the child that has most.
    pub const WORKER_THREADS_MAX: &str = "apache.worker_threads_max";
    /// Soft limit on its descriptors.
    pub const WORKER_FD_LIMIT: &str = "apache.worker_fd_limit";
    /// Connections waiting in the accept queue of the listener under load.
    pub const ACCEPT_QUEUE: &str = "apache.accept_queue";
    /// Connections that this listener dropped while its accept queue was seen full (httpd sets TCP_DEFER_ACCEPT).
    pub const LISTEN_DROPS: &str = "apache.listen_drops_total";
    /// Answers with the status of an error that members of balancers gave, of all together.
    pub const FAILED_ANSWERS: &str = "apache.failed_answers_total";
}

/// Levels below a warning: `debug` is the deepest that is switched on.
const CHATTER: [&str; 3] = ["notice", "info", "debug"];

/// Looks without a question after one that was not answered.
const PATIENCE: u32 = 4;

/// Looks at one running httpd, again and again.
#[derive(Debug)]
pub struct Watch {
    listener: Watched,
    status: Option<SocketAddr>,
    parent: u32,
    tree: Tree,
    tail: Tail,
    /// Children at the last look, and how many of those before have ended by themselves or were told to.
    children: BTreeSet<u32>,
    ended: u64,
    /// Children that there may be, where each serves one connection; and how often connections waited for more of them.
    most: Option<u64>,
    waited: bool,
    short: u64,
    unreachable: u64,
    answered: u64,
    /// Looks left until the page is asked again.
    rest: u32,
    /// What members of balancers answered with an error; none where nobody writes it down.
    answers: Option<Answers>,
    /// Members of a balancer that are left alone; none where there are not several.
    out: Option<Out>,
}

impl Watch {
    /// Watches the httpd of this parent, which listens here, its status page and its error log.
    pub fn new(parent: u32, address: SocketAddr, status: Option<SocketAddr>, error_log: Tail) -> Watch {
        Watch {
            listener: Watched::deferred(address),
            status,
            parent,
            tree: Tree::new(parent),
            tail: error_log,
            children: BTreeSet::new(),
            ended: 0,
            most: None,
            waited: false,
            short: 0,
            unreachable: 0,
            answered: 0,
            rest: 0,
            answers: None,
            out: None,
        }
    }

    /// The same, with the log of what members of balancers answered with an error.
    pub(super) fn answered(self, answers: Option<Answers>) -> Watch {
        Watch { answers, ..self }
    }

    /// The same, which tells of these members of a balancer which are left alone.
    pub(super) fn balancing(self, out: Option<Out>) -> Watch {
        Watch { out, ..self }
    }

    /// The same of an httpd whose children serve one connection each, of which there may be so many.
    pub(super) fn forking(self, most: Option<u64>) -> Watch {
        Watch { most, ..self }
    }
}

impl running::Watch for Watch {
    const SUBJECT: &'static str = "apache";
    const FIRST: &'static str = "parent";
    const GRACEFUL: Signal = Signal::SIGWINCH;

    fn look(&mut self) -> Observation {
        let usage = self.tree.sample();
        let mut metrics = consumption(&usage, self.parent);
        if let Some(queue) = self.listener.look() {
            metrics.insert(metrics::ACCEPT_QUEUE.to_owned(), f64::from(queue.waiting));
            metrics.insert(metrics::LISTEN_DROPS.to_owned(), queue.dropped as f64);
            let run = usage.processes.iter().filter(|p| p.parent == self.parent).count() as u64;
            metrics.extend(self.short_of(run, queue.waiting).map(|n| (metrics::SHORT.to_owned(), n as f64)));
        }
        self.ask(&mut metrics);
        if let Some(answers) = &mut self.answers {
            answers.count(&mut metrics);
        }
        let (logs, states) = self.log();
        if let Some(out) = &self.out {
            out.count(Instant::now(), &mut metrics);
        }
        metrics.insert(metrics::ENDED.to_owned(), self.gone(&usage, states.len() as u64) as f64);
        Observation { samples: vec![Sample { subject: "apache".to_owned(), metrics }], logs, states }
    }

    fn last_words(&mut self) -> Observation {
        let (logs, states) = self.log();
        Observation { logs, states, ..Observation::default() }
    }
}

impl Watch {
    fn log(&mut self) -> (Vec<genkai_model::evidence::LogLine>, Vec<State>) {
        let lines = self.tail.lines();
        if let Some(out) = &mut self.out {
            out.read(&lines, Instant::now());
        }
        let died = |line: &String| {
            let entry = classify(line);
            (entry.signature.as_deref() == Some(signature::CHILD_DIED)).then(|| State {
                subject: "apache".to_owned(),
                state: ServerState::WorkerDied,
                detail: Some(entry.message.to_owned()),
            })
        };
        let states = lines.iter().filter_map(died).collect();
        // The private copy has httpd say more than usual: what is neither known nor a warning is left out.
        let mut logs = aggregate(lines.iter().map(String::as_str));
        logs.retain(|line| line.signature.is_some() || !CHATTER.contains(&line.level.as_str()));
        (logs, states)
    }

    /// Children that have ended so far, but for those that died of a signal, of which there were so many since the last look.
    fn gone(&mut self, usage: &Usage, died: u64) -> u64 {
        let now: BTreeSet<u32> = usage.processes.iter().filter(|p| p.parent == self.parent).map(|p| p.pid).collect();
        self.ended += (self.children.difference(&now).count() as u64).saturating_sub(died);
        self.children = now;
        self.ended
    }

    /// Looks at which connections waited, as they had at the look before, while fewer children ran than may: a child that serves nobody
    /// accepts at once (prefork.c: child_main).
    fn short_of(&mut self, run: u64, waiting: u32) -> Option<u64> {
        let most = self.most?;
        let waits = waiting > 0;
        self.short += u64::from(self.waited && waits && run < most);
        self.waited = waits;
        Some(self.short)
    }

    fn ask(&mut self, metrics: &mut BTreeMap<String, f64>) {
        let Some(address) = self.status else { return };
        if self.rest > 0 {
            self.rest -= 1;
        } else if let Some(page) = ask(address) {
            self.answered += 1;
            for (name, value) in [
                (metrics::BUSY, page.busy.saturating_sub(1)),
                (metrics::IDLE, page.idle),
                (metrics::KEEPING, page.keeping),
                (metrics::GRACEFUL, page.graceful),
                (metrics::REQUESTS, page.accesses.saturating_sub(self.answered - 1)),
            ] {
                metrics.insert(name.to_owned(), value as f64);
            }
        } else {
            self.unreachable += 1;
            self.rest = PATIENCE;
        }
        metrics.insert(metrics::UNREACHABLE.to_owned(), self.unreachable as f64);
    }
}

fn consumption(usage: &Usage, parent: u32) -> BTreeMap<String, f64> {
    let children: Vec<_> = usage.processes.iter().filter(|p| p.parent == parent).collect();
    let cpu_max = children.iter().map(|p| p.cpu).fold(0.0, f64::max);
    let mut metrics = BTreeMap::from([
        (metrics::CPU.to_owned(), usage.cpu),
        (metrics::RSS.to_owned(), usage.rss as f64),
        (metrics::PROCESSES.to_owned(), children.len() as f64),
        (metrics::WORKER_CPU_MAX.to_owned(), cpu_max),
    ]);
    if let Some(threads) = children.iter().map(|p| p.threads).max() {
        metrics.insert(metrics::WORKER_THREADS_MAX.to_owned(), f64::from(threads));
    }
    let fds = children.iter().filter_map(|p| Some((p.fds?, p.fd_limit))).max();
    if let Some((fds, limit)) = fds {
        metrics.insert(metrics::WORKER_FDS_MAX.to_owned(), fds as f64);
        metrics.extend(limit.map(|limit| (metrics::WORKER_FD_LIMIT.to_owned(), limit as f64)));
    }
    metrics
}

/// Process ids of the live children of a parent.
pub fn children(parent: u32) -> Vec<u32> {
    let usage = Tree::new(parent).sample();
    usage.processes.iter().filter(|p| p.parent == parent).map(|p| p.pid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_while_fewer_children_run_than_may_waits_for_more_of_them() {
        let log = Tail::open(std::path::PathBuf::from("/nonexistent/log"));
        let mut watch = Watch::new(1, "127.0.0.1:1".parse().unwrap(), None, log).forking(Some(10));
        let seen: Vec<_> = [(5, 3), (6, 2), (8, 0), (8, 4), (9, 4), (10, 9), (10, 9)]
            .map(|(run, waiting)| watch.short_of(run, waiting).unwrap())
            .into();
        assert_eq!(seen, [0, 1, 1, 1, 2, 2, 2], "not at the first look, and not when all run");
        let log = Tail::open(std::path::PathBuf::from("/nonexistent/log"));
        assert_eq!(Watch::new(1, "127.0.0.1:1".parse().unwrap(), None, log).short_of(1, 9), None, "threads serve, too");
    }
}
