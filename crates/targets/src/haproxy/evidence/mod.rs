//! What a running HAProxy shows: its statistics socket, its log of sessions, its process, its accept queue.

mod hidden;
mod log;
mod stat;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;

pub(super) use hidden::Hidden;
#[cfg(test)]
pub(crate) use log::aggregate;
pub use log::signature;
use log::{Apart, Down};
pub(crate) use log::{BACKEND, LINE, Session, ended, unanswered};
#[cfg(test)]
pub(crate) use stat::STAT;
pub(crate) use stat::{Names, Row, Stat, of_backend, of_frontend, of_server, sample};

use crate::socket;
use genkai_place::listener::Watched;
use genkai_place::observation::Observation;
use genkai_place::process::Signal;
use genkai_place::running;
use genkai_place::tail::Tail;
use genkai_place::usage::Tree;

/// Who it is in a record.
pub(crate) const SUBJECT: &str = "haproxy";

/// Names of HAProxy's metrics. `..._total` are cumulative since its start.
pub mod metrics {
    /// Connections of clients (`show info`, CurrConns).
    pub const CONNECTIONS: &str = "haproxy.connections";
    /// The most there may be (Maxconn).
    pub const MAXCONN: &str = "haproxy.maxconn";
    /// TLS connections of clients and to servers (CurrSslConns).
    pub const TLS_CONNECTIONS: &str = "haproxy.tls_connections";
    /// The most there may be (MaxSslConns).
    pub const TLS_CONNECTIONS_LIMIT: &str = "haproxy.maxsslconn";
    /// New connections in the last second (ConnRate).
    pub const CONNECTION_RATE: &str = "haproxy.connection_rate";
    /// The most there may be (ConnRateLimit); absent where there is no such limit.
    pub const CONNECTION_RATE_LIMIT: &str = "haproxy.connection_rate_limit";
    /// New TLS connections of clients in the last second (SslRate).
    pub const TLS_RATE: &str = "haproxy.tls_rate";
    /// The most there may be (SslRateLimit); absent where there is no such limit.
    pub const TLS_RATE_LIMIT: &str = "haproxy.tls_rate_limit";
    /// New sessions in the last second (SessRate).
    pub const SESSION_RATE: &str = "haproxy.session_rate";
    /// The most there may be (SessRateLimit); absent where there is no such limit.
    pub const SESSION_RATE_LIMIT: &str = "haproxy.session_rate_limit";
    /// New sessions of the frontend in the last second (`show stat`, rate).
    pub const FRONTEND_RATE: &str = "haproxy.frontend_rate";
    /// The most there may be (rate_lim); absent where there is no such limit.
    pub const FRONTEND_RATE_LIMIT: &str = "haproxy.frontend_rate_limit";
    /// Connections of the frontend (`show stat`, scur).
    pub const SESSIONS: &str = "haproxy.sessions";
    /// The most it may have (slim).
    pub const SESSIONS_LIMIT: &str = "haproxy.sessions_limit";
    /// Requests that wait for a server (qcur).
    pub const QUEUED: &str = "haproxy.queued";
    /// Requests in service at the fullest server (scur).
    pub const SERVER_SESSIONS_MAX: &str = "haproxy.server_sessions_max";
    /// The most it gets at once (slim).
    pub const SERVER_SESSIONS_LIMIT: &str = "haproxy.server_sessions_limit";
    /// How long the server that answers soonest takes, seconds, 0.02 at least; each server's own time is
    /// `haproxy.server.NAME.response_time`.
    pub const FASTEST: &str = "haproxy.server_fastest";
    /// Answers of all servers with a status of 400 or more (`show stat`, hrsp_4xx and hrsp_5xx).
    pub const ALL_FAILED_ANSWERS: &str = "haproxy.failed_answers_total";
    /// The same of one server, after `haproxy.server.NAME.`.
    pub const FAILED_ANSWERS: &str = "failed_answers_total";
    /// All answers of one server (hrsp_1xx to hrsp_other), after `haproxy.server.NAME.`.
    pub const ANSWERS: &str = "answers_total";
    /// Connections that rules of `tcp-request connection` of the frontend ended (`show stat`, dcon).
    pub const DENIED_CONNECTIONS: &str = "haproxy.denied_connections_total";
    /// The same of `tcp-request session` (dses).
    pub const DENIED_SESSIONS: &str = "haproxy.denied_sessions_total";
    /// Requests that rules of the frontend denied, and connections that they dropped in silence (dreq).
    pub const DENIED_REQUESTS: &str = "haproxy.denied_requests_total";
    /// CPU of its process, cores.
    pub const CPU: &str = "haproxy.cpu";
    /// Its open descriptors.
    pub const FDS: &str = "haproxy.worker_fds_max";
    /// How many it may have.
    pub const FD_LIMIT: &str = "haproxy.worker_fd_limit";
    /// Connections waiting in the accept queue of the listener under load.
    pub const ACCEPT_QUEUE: &str = "haproxy.accept_queue";
    /// Connections that this listener dropped because its accept queue was full.
    pub const LISTEN_DROPS: &str = "haproxy.listen_drops_total";
}

/// Looks at one running HAProxy, again and again.
#[derive(Debug)]
pub struct Watch {
    listener: Watched,
    socket: PathBuf,
    names: Names,
    tree: Tree,
    tail: Tail,
    down: Down,
    hidden: Hidden,
}

impl Watch {
    /// Watches the HAProxy of this process.
    pub(crate) fn new(pid: u32, address: SocketAddr, socket: PathBuf, names: Names, log: Tail) -> Watch {
        let apart = Apart { back: Some(names.back.clone()), ..Apart::default() };
        Watch {
            listener: Watched::new(address),
            socket,
            names,
            tree: Tree::new(pid),
            tail: log,
            down: Down::of(apart),
            hidden: Hidden::default(),
        }
    }

    /// The same, where accepting waits for data (`bind ... defer-accept`) or not.
    pub(super) fn deferring(self, address: SocketAddr, is_deferred: bool) -> Watch {
        if is_deferred { Watch { listener: Watched::deferred(address), ..self } } else { self }
    }

    /// The same, where these servers (`BACKEND/SERVER`) are listeners of the same HAProxy.
    pub(super) fn leading_back(self, own: BTreeSet<String>) -> Watch {
        Watch { down: Down::of(Apart { back: Some(self.names.back.clone()), own }), ..self }
    }

    /// The same, with the errors that clients get as good answers.
    pub(super) fn hiding(self, hidden: Hidden) -> Watch {
        Watch { hidden, ..self }
    }

    /// Its statistics.
    pub(crate) fn stat(&self) -> Stat {
        Stat::read(&self.ask("show stat"))
    }

    fn ask(&self, command: &str) -> String {
        socket::ask(&self.socket, command).unwrap_or_default()
    }
}

impl running::Watch for Watch {
    const SUBJECT: &'static str = SUBJECT;
    const FIRST: &'static str = "only";
    const GRACEFUL: Signal = Signal::SIGUSR1;

    fn look(&mut self) -> Observation {
        let words = self.last_words();
        let stat = self.stat();
        let usage = self.tree.sample();
        let mut sample = sample(&self.ask("show info"), &stat, &self.names, &usage);
        if let Some(queue) = self.listener.look() {
            sample.metrics.insert(metrics::ACCEPT_QUEUE.to_owned(), f64::from(queue.waiting));
            sample.metrics.insert(metrics::LISTEN_DROPS.to_owned(), queue.dropped as f64);
        }
        let passing = stat.passing(&self.names);
        self.hidden.compare(passing);
        self.hidden.count(&mut sample.metrics);
        sample.metrics.extend(
            passing.map(|passing| (genkai_model::evidence::metric::SERVERS_DONE.to_owned(), passing.answered as f64)),
        );
        Observation { samples: vec![sample], ..words }
    }

    fn last_words(&mut self) -> Observation {
        let lines = self.tail.lines();
        self.hidden.read(&lines);
        Observation { logs: self.down.aggregate(lines.iter().map(String::as_str)), ..Observation::default() }
    }
}
