//! What a running nginx shows: its error log, its status page, its workers, its accept queue.
//!
//! One look ([`Watch::look`]) costs a few milliseconds and, of nginx, one short connection for the status page. That is
//! left out where a worker is nearly full: it would make nginx close an idle client's connection, or refuse a new one.
//! genkai's own share - its connections, and an alert that one causes all the same - is taken off, so that every figure
//! is about the load.

mod answers;
mod contained;
mod log;
mod out;
mod stub;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Instant;

use genkai_model::event::{ServerState, State};
use genkai_model::evidence::{LogLine, Sample};

pub use answers::Answers;
pub(super) use answers::{of_server, time_of, timed_failed_of, timed_of, unanswered_of};
pub(super) use contained::{MASTER, Within, is_master, is_worker};
#[cfg(test)]
pub(super) use log::known;
pub use log::{Entry, aggregate, classify, signature};
pub(super) use out::Out;
pub use stub::{Answer, Poll, StubPage, StubStatus};
pub use workers::{Follower, Workers, workers};

use genkai_place::listener::Watched;
use genkai_place::observation::Observation;
use genkai_place::process::Signal;
use genkai_place::running;
use genkai_place::tail::Tail;

/// Names of nginx's metrics. Those of the status page are absent when it did not answer; `..._total` are cumulative
/// since the start of this nginx.
pub mod metrics {
    /// Client connections open, idle ones included.
    pub const STUB_ACTIVE: &str = "nginx.stub_active";
    /// Client connections accepted.
    pub const STUB_ACCEPTS: &str = "nginx.stub_accepts_total";
    /// Of these, given a slot.
    pub const STUB_HANDLED: &str = "nginx.stub_handled_total";
    /// Accepted and closed for want of a slot: accepts - handled.
    pub const STUB_DROPPED: &str = "nginx.stub_dropped_total";
    /// Requests.
    pub const STUB_REQUESTS: &str = "nginx.stub_requests_total";
    /// Connections whose request head is being read.
    pub const STUB_READING: &str = "nginx.stub_reading";
    /// Connections being answered.
    pub const STUB_WRITING: &str = "nginx.stub_writing";
    /// Idle keep-alive connections.
    pub const STUB_WAITING: &str = "nginx.stub_waiting";
    /// Times that the status page did not answer, or was not asked as a worker was nearly full.
    pub const STUB_UNREACHABLE: &str = "nginx.stub_unreachable_total";
    /// Requests answered without asking any server behind while all of several were left alone for their failures; absent where that is not known.
    pub const REFUSED_ALL_OUT: &str = "nginx.refused_all_out_total";
    /// Answers of servers behind with a status of 400 or more that were passed on; absent where these are not several.
    pub const FAILED_ANSWERS: &str = "nginx.failed_answers_total";
    /// The mean time of the fastest of several servers to the head of its answer, of the last requests of a share, seconds.
    pub const FASTEST: &str = "nginx.fastest_response_time";
    /// CPU of master, workers and helpers, cores.
    pub const CPU: &str = "nginx.cpu";
    /// CPU of the busiest worker, fraction of a core.
    pub const WORKER_CPU_MAX: &str = "nginx.worker_cpu_max";
    /// Of the worker that wanted most: fraction of the time that it ran or waited for a core.
    pub const WORKER_DEMAND_MAX: &str = "nginx.worker_demand_max";
    /// Descriptors of the worker that has most.
    pub const WORKER_FDS_MAX: &str = "nginx.worker_fds_max";
    /// Soft limit on its descriptors.
    pub const WORKER_FD_LIMIT: &str = "nginx.worker_fd_limit";
    /// Resident memory of all processes, bytes.
    pub const RSS: &str = "nginx.rss";
    /// Workers alive.
    pub const WORKERS: &str = "nginx.workers";
    /// Connections waiting in the accept queue of the listener under load.
    pub const ACCEPT_QUEUE: &str = "nginx.accept_queue";
    /// Connections that this listener dropped because its accept queue was full.
    pub const LISTEN_DROPS: &str = "nginx.listen_drops_total";
    /// In a container: of the periods since the look before, the fraction in which its quota of processor time was used up.
    pub const THROTTLED: &str = "nginx.throttled";
}

/// An alert caused by genkai's own question is taken off the log for so many looks after it; then it is forgotten.
const OWN_ALERT_LOOKS: u8 = 3;

/// Looks at one running nginx, again and again.
#[derive(Debug)]
pub struct Watch {
    listener: Watched,
    page: Option<StubPage>,
    crowded: u64,
    poll: Poll,
    workers: Follower,
    tail: Tail,
    /// Workers whose death was reported.
    reported: BTreeSet<u32>,
    /// What servers behind answered with an error, where these are several.
    answers: Option<Answers>,
    /// Servers of the group that get no requests; none where that is not known.
    out: Option<Out>,
    /// Looks left in which an alert of our own making may appear in the log.
    own_alert: u8,
}

impl Watch {
    /// Watches the nginx of this master, which listens here, its status page and its error log. `crowded`: descriptors of a worker from
    /// which on another connection could hurt clients.
    pub fn new(master: u32, address: SocketAddr, page: Option<StubPage>, crowded: u64, error_log: Tail) -> Watch {
        Watch {
            listener: Watched::new(address),
            page,
            crowded,
            poll: Poll::default(),
            workers: Follower::new(master),
            tail: error_log,
            reported: BTreeSet::new(),
            answers: None,
            out: None,
            own_alert: 0,
        }
    }

    /// The same, where accepting waits for data (`listen ... deferred`) or not.
    pub(super) fn deferring(self, address: SocketAddr, is_deferred: bool) -> Watch {
        if is_deferred { Watch { listener: Watched::deferred(address), ..self } } else { self }
    }

    /// The same with the servers that get no requests because they failed.
    pub(super) fn leaving_out(self, out: Option<Out>) -> Watch {
        Watch { out, ..self }
    }

    /// The same with the log of what servers behind answered.
    pub(super) fn answered(self, answers: Option<Answers>) -> Watch {
        Watch { answers, ..self }
    }
}

impl running::Watch for Watch {
    const SUBJECT: &'static str = "nginx";
    const FIRST: &'static str = "master";
    const GRACEFUL: Signal = Signal::SIGQUIT;

    fn look(&mut self) -> Observation {
        let workers = self.workers.look();
        let mut metrics = consumption(&workers);
        let queue = self.listener.look();
        if let Some(queue) = queue {
            metrics.insert(metrics::ACCEPT_QUEUE.to_owned(), f64::from(queue.waiting));
            metrics.insert(metrics::LISTEN_DROPS.to_owned(), queue.dropped as f64);
        }
        // A question takes a place in the queue and in a worker. Where few are left it would cost a client its own.
        let full = queue.is_some_and(|queue| queue.waiting >= queue.backlog);
        let crowded = workers.fds.is_some_and(|(fds, _)| fds >= self.crowded);
        self.ask(full || crowded, &mut metrics);
        if let Some(answers) = &mut self.answers {
            answers.count(&mut metrics);
        }
        let lines = self.tail.lines();
        if let Some(out) = &mut self.out {
            let now = Instant::now();
            out.read(&lines, now);
            out.count(now, &mut metrics);
        }
        let states = self.deaths(&workers.gone, &lines);
        let logs = self.without_own(aggregate(lines.iter().map(String::as_str)));
        Observation { samples: vec![Sample { subject: "nginx".to_owned(), metrics }], logs, states }
    }

    fn last_words(&mut self) -> Observation {
        let lines = self.tail.lines();
        Observation { logs: aggregate(lines.iter().map(String::as_str)), ..Observation::default() }
    }
}

impl Watch {
    /// The status page's figures; not asked for while there is no room for the question.
    fn ask(&mut self, full: bool, metrics: &mut BTreeMap<String, f64>) {
        let Some(page) = &self.page else { return };
        let answer = if full { Answer::Silent } else { page.ask() };
        if answer == Answer::Closed {
            self.own_alert = OWN_ALERT_LOOKS;
        }
        if let Some(seen) = self.poll.take(answer) {
            let dropped = seen.accepts.saturating_sub(seen.handled);
            for (name, value) in [
                (metrics::STUB_ACTIVE, seen.active),
                (metrics::STUB_ACCEPTS, seen.accepts),
                (metrics::STUB_HANDLED, seen.handled),
                (metrics::STUB_DROPPED, dropped),
                (metrics::STUB_REQUESTS, seen.requests),
                (metrics::STUB_READING, seen.reading),
                (metrics::STUB_WRITING, seen.writing),
                (metrics::STUB_WAITING, seen.waiting),
            ] {
                metrics.insert(name.to_owned(), value as f64);
            }
        }
        metrics.insert(metrics::STUB_UNREACHABLE.to_owned(), self.poll.unreachable as f64);
    }

    /// The log without the alert that genkai's own question caused. Each closed question takes off one line.
    fn without_own(&mut self, mut logs: Vec<LogLine>) -> Vec<LogLine> {
        if self.own_alert == 0 {
            return logs;
        }
        self.own_alert -= 1;
        let own = logs.iter_mut().find(|l| l.signature.as_deref() == Some(signature::WORKER_CONNECTIONS));
        if let Some(line) = own {
            line.count -= 1;
            self.own_alert = 0;
        }
        logs.retain(|line| line.count > 0);
        logs
    }

    /// Workers that died: those that are gone, and those that only the log names (started and dead between two
    /// looks), each once.
    fn deaths(&mut self, gone: &[u32], lines: &[String]) -> Vec<State> {
        let logged: BTreeMap<u32, &str> = lines.iter().filter_map(|line| death(line)).collect();
        let all: BTreeSet<u32> = gone.iter().copied().chain(logged.keys().copied()).collect();
        let new = all.into_iter().filter(|&pid| self.reported.insert(pid));
        new.map(|pid| {
            let detail =
                logged.get(&pid).map_or_else(|| format!("worker process {pid} ended"), |&said| said.to_owned());
            State { subject: "nginx".to_owned(), state: ServerState::WorkerDied, detail: Some(detail) }
        })
        .collect()
    }
}

/// The worker whose death a line tells, and the message.
fn death(line: &str) -> Option<(u32, &str)> {
    let entry = classify(line);
    (entry.signature.as_deref() == Some(signature::WORKER_DIED)).then_some(())?;
    let pid = entry.message.split_ascii_whitespace().nth(2)?.parse().ok()?;
    Some((pid, entry.message))
}

fn consumption(workers: &Workers) -> BTreeMap<String, f64> {
    let mut metrics = BTreeMap::from([
        (metrics::CPU.to_owned(), workers.tree.cpu),
        (metrics::RSS.to_owned(), workers.tree.rss as f64),
        (metrics::WORKERS.to_owned(), f64::from(workers.alive)),
        (metrics::WORKER_CPU_MAX.to_owned(), workers.cpu_max),
        (metrics::WORKER_DEMAND_MAX.to_owned(), workers.demand_max),
    ]);
    if let Some((fds, limit)) = workers.fds {
        metrics.insert(metrics::WORKER_FDS_MAX.to_owned(), fds as f64);
        metrics.extend(limit.map(|limit| (metrics::WORKER_FD_LIMIT.to_owned(), limit as f64)));
    }
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str = "2026/11/21 11:00:00 [alert] 7#7: 64 worker_connections are not enough";
    const DIED: &str = "2026/11/21 11:00:00 [alert] 1#1: worker process 77 exited on signal 9";

    fn watch() -> Watch {
        let nowhere = tempfile::tempdir().unwrap().path().join("error.log");
        Watch::new(std::process::id(), ([127, 0, 0, 1], 1).into(), None, 1, Tail::open(nowhere))
    }

    #[test]
    fn an_alert_of_our_own_making_is_taken_off_once() {
        let mut watch = watch();
        let counts = |logs: &[LogLine]| logs.iter().map(|l| l.count).collect::<Vec<_>>();
        assert_eq!(counts(&watch.without_own(aggregate([FULL, FULL]))), [2], "nothing was asked");
        watch.own_alert = OWN_ALERT_LOOKS;
        assert!(watch.without_own(aggregate([DIED])).iter().all(|l| l.count == 1));
        assert_eq!(counts(&watch.without_own(aggregate([FULL, FULL]))), [1]);
        assert_eq!(counts(&watch.without_own(aggregate([FULL]))), [1], "it is taken off once");
        watch.own_alert = OWN_ALERT_LOOKS;
        assert!(watch.without_own(aggregate([FULL])).is_empty());
        watch.own_alert = 1;
        watch.without_own(Vec::new());
        assert_eq!(counts(&watch.without_own(aggregate([FULL]))), [1], "it was forgotten");
    }

    #[test]
    fn a_death_is_reported_once_with_the_log_s_words() {
        let mut watch = watch();
        let dead = watch.deaths(&[77, 78], &[DIED.to_owned()]);
        let details: Vec<_> = dead.iter().filter_map(|s| s.detail.as_deref()).collect();
        assert_eq!(details, ["worker process 77 exited on signal 9", "worker process 78 ended"]);
        assert!(watch.deaths(&[78], &[DIED.to_owned()]).is_empty());
    }
}
