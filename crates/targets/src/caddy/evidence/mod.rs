//! What a running Caddy shows: its administration endpoint, its log of errors, its process, its accept queue.

mod admin;
mod answers;
mod checks;
mod hidden;
mod log;

use std::net::SocketAddr;
use std::path::PathBuf;

pub(super) use admin::Judged;
pub(super) use answers::{Answers, of_upstream};
pub(super) use checks::{Checks, LOGGER};
pub(super) use hidden::Hidden;
pub(crate) use log::aggregate;
pub use log::signature;

use genkai_place::listener::Watched;
use genkai_place::observation::Observation;
use genkai_place::process::Signal;
use genkai_place::running;
use genkai_place::tail::Tail;
use genkai_place::usage::Tree;

/// Who it is in a record.
pub(crate) const SUBJECT: &str = "caddy";

/// Names of Caddy's metrics. `..._total` are cumulative since its start.
pub mod metrics {
    /// Requests that are with the upstreams, those that wait for a connection to one among them.
    pub const UPSTREAM_REQUESTS: &str = "caddy.upstream_requests";
    /// The same of the fullest upstream.
    pub const UPSTREAM_REQUESTS_MAX: &str = "caddy.upstream_requests_max";
    /// Failures of upstreams that count at present (`fail_duration`).
    pub const UPSTREAM_FAILS: &str = "caddy.upstream_fails";
    /// Goroutines.
    pub const GOROUTINES: &str = "caddy.goroutines";
    /// Heap in use, bytes.
    pub const HEAP: &str = "caddy.heap";
    /// CPU of its process, cores.
    pub const CPU: &str = "caddy.cpu";
    /// Its open descriptors.
    pub const FDS: &str = "caddy.worker_fds_max";
    /// How many it may have.
    pub const FD_LIMIT: &str = "caddy.worker_fd_limit";
    /// Connections waiting in the accept queue of the listener under load.
    pub const ACCEPT_QUEUE: &str = "caddy.accept_queue";
    /// Connections that this listener dropped because its accept queue was full.
    pub const LISTEN_DROPS: &str = "caddy.listen_drops_total";
    /// Answers with a status of 500 and above that upstreams gave, of all together.
    pub const FAILED_ANSWERS: &str = "caddy.failed_answers_total";
}

/// Looks at one running Caddy, again and again.
#[derive(Debug)]
pub struct Watch {
    listener: Watched,
    socket: PathBuf,
    tree: Tree,
    tail: Tail,
    /// What upstreams answered with an error; none where nobody writes it down.
    answers: Option<Answers>,
    hidden: Hidden,
    /// Upstreams of several that get no requests once they failed; none: none of them is judged so.
    judged: Option<Judged>,
    /// What Caddy's own checks say of several upstreams.
    checks: Checks,
}

impl Watch {
    /// Watches the Caddy of this process.
    pub(crate) fn new(pid: u32, address: SocketAddr, socket: PathBuf, log: Tail) -> Watch {
        Watch {
            listener: Watched::new(address),
            socket,
            tree: Tree::new(pid),
            tail: log,
            answers: None,
            hidden: Hidden::default(),
            judged: None,
            checks: Checks::default(),
        }
    }

    /// The same, with the log of what upstreams answered with an error.
    pub(super) fn answered(self, answers: Option<Answers>) -> Watch {
        Watch { answers, ..self }
    }

    /// The same, which tells which of these upstreams get no requests.
    pub(super) fn judging(self, judged: Option<Judged>) -> Watch {
        Watch { judged, ..self }
    }

    /// The same, which tells which of these fail Caddy's own checks.
    pub(super) fn checking(self, checks: Checks) -> Watch {
        Watch { checks, ..self }
    }

    /// The same, which counts the errors that clients get as good answers.
    pub(super) fn hiding(self, hidden: Hidden) -> Watch {
        Watch { hidden, ..self }
    }
}

impl running::Watch for Watch {
    const SUBJECT: &'static str = SUBJECT;
    const FIRST: &'static str = "only";
    const GRACEFUL: Signal = Signal::SIGTERM;

    fn look(&mut self) -> Observation {
        let usage = self.tree.sample();
        let mut sample = usage.sample(SUBJECT);
        sample.metrics.extend(admin::sample(&self.socket, self.judged.as_ref()));
        if let Some(answers) = &mut self.answers {
            answers.count(&mut sample.metrics);
        }
        self.hidden.count(&mut sample.metrics);
        let words = self.last_words();
        self.checks.count(&mut sample.metrics);
        let mut put = |name: &str, value: Option<f64>| {
            sample.metrics.extend(value.map(|value| (name.to_owned(), value)));
        };
        put(metrics::FDS, usage.fds_max.map(|fds| fds as f64));
        put(metrics::FD_LIMIT, usage.fd_limit.map(|limit| limit as f64));
        let queue = self.listener.look();
        put(metrics::ACCEPT_QUEUE, queue.as_ref().map(|queue| f64::from(queue.waiting)));
        put(metrics::LISTEN_DROPS, queue.map(|queue| queue.dropped as f64));
        Observation { samples: vec![sample], ..words }
    }

    fn last_words(&mut self) -> Observation {
        let lines = self.tail.lines();
        self.hidden.read(&lines);
        self.checks.read(&lines);
        Observation { logs: aggregate(lines.iter().map(String::as_str)), ..Observation::default() }
    }
}
