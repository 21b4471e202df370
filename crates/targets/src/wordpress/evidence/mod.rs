//! What the backend shows while the load runs.
//!
//! One sample of subject `backend` a look. Beside the well-known names (`backend.busy`, `.workers`, `.queued`,
//! `.refused_total`, `.done_total`, `.cpu`, `.rss`) it has
//! * [`PROCESSES`], [`EXHAUSTED`] - php-fpm's children now; how often it wanted one more than `pm.max_children`;
//! * [`CONNECTIONS`], [`MAX_CONNECTIONS`], [`CONNECTIONS_REFUSED`] - connections to MariaDB now (without the
//!   observer's), their cap, and how often it was in the way;
//! * [`WORKER_CPU_MAX`] - the busiest process, as a fraction of a core.

pub(super) mod log;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use genkai_model::event::{ServerState, State};
use genkai_model::evidence::{LogLine, Sample, metric};

use self::log::Writer;
use super::lifecycle::Servers;
use super::places::Places;
use super::settings::{STATUS_PATH, Settings};
use crate::phpfpm::status::StatusPage;
use genkai_place::endpoint::Endpoint;
use genkai_place::kernel::{ACCEPT_QUEUE, Kernel};
use genkai_place::observation::Observation;
use genkai_place::process::Child;
use genkai_place::tail::Tail;
use genkai_place::usage::{Tree, Usage};

/// CPU of all the backend's processes, cores.
pub(crate) const CPU: &str = "backend.cpu";
/// The busiest process of the backend, as a fraction of a core.
pub(crate) const WORKER_CPU_MAX: &str = "backend.worker_cpu_max";
/// Resident memory of all the backend's processes, bytes; pages they share count for each.
pub(crate) const RSS: &str = "backend.rss";
/// php-fpm's children.
pub(crate) const PROCESSES: &str = "backend.php_fpm.processes";
/// Times php-fpm wanted another child and had reached `pm.max_children`, cumulative.
pub(crate) const EXHAUSTED: &str = "backend.php_fpm.max_children_reached_total";
/// Connections to MariaDB.
pub(crate) const CONNECTIONS: &str = "backend.mariadb.connections";
/// Connections MariaDB refused because `max_connections` were open, cumulative.
pub(crate) const CONNECTIONS_REFUSED: &str = "backend.mariadb.connections_refused_total";
/// MariaDB's `max_connections`, less the observer's.
pub(crate) const MAX_CONNECTIONS: &str = "backend.mariadb.max_connections";

/// Looks at one instance, again and again.
#[derive(Debug)]
pub(super) struct Observer {
    page: StatusPage,
    pool: SocketAddr,
    kernel: Kernel,
    trees: [Tree; 3],
    tails: [(Writer, Tail); 3],
    /// Requests that could not be handed to php-fpm, from the web server's log.
    refused: u64,
}

impl Observer {
    /// For servers that have just been started and warmed; what they logged so far is not told.
    pub(super) fn new(servers: &Servers, places: &Places) -> Observer {
        let tail = |writer, name: &str| (writer, Tail::open(places.file(name)));
        Observer {
            page: StatusPage::full(Endpoint::Tcp(servers.status), STATUS_PATH),
            pool: servers.pool,
            kernel: Kernel::new(),
            trees: servers.pids().map(Tree::new),
            tails: [
                (Writer::PhpFpm, Tail::open(places.php_fpm_log())),
                tail(Writer::Web, "web.log"),
                tail(Writer::MariaDb, "mariadb.log"),
            ],
            refused: 0,
        }
    }

    /// Looks. What does not answer is absent from the sample.
    pub(super) fn look(&mut self, servers: &mut Servers, settings: &Settings) -> Observation {
        let logs: Vec<LogLine> =
            self.tails.iter_mut().flat_map(|(writer, tail)| log::aggregate(*writer, &tail.lines())).collect();
        let of = |signature| logs.iter().filter(move |l| l.signature.as_deref() == Some(signature));
        self.refused += of(log::BACKLOG).map(|l| l.count).sum::<u64>();
        let mut states: Vec<State> = of(log::CHILD_DIED).map(|l| state(ServerState::WorkerDied, &l.text)).collect();
        states.extend(Observer::deaths(servers));
        let metrics = self.metrics(servers, settings);
        Observation { samples: vec![Sample { subject: "backend".to_owned(), metrics }], logs, states }
    }

    fn metrics(&mut self, servers: &mut Servers, settings: &Settings) -> BTreeMap<String, f64> {
        let mut metrics = BTreeMap::new();
        let mut note = |name: &str, value: f64| {
            metrics.insert(name.to_owned(), value);
        };
        note(metric::BACKEND_WORKERS, f64::from(settings.children));
        note(metric::BACKEND_REFUSED, self.refused as f64);
        note(MAX_CONNECTIONS, f64::from(settings.max_connections - 1));
        // The kernel's view is of this instant; the status page's is up to a second old.
        let waiting = self.kernel.sample(&[self.pool]).metrics.get(ACCEPT_QUEUE).copied();
        if let Ok(status) = self.page.look() {
            note(metric::BACKEND_BUSY, status.busy as f64);
            note(metric::BACKEND_DONE, status.accepted.saturating_sub(status.busy) as f64);
            note(metric::BACKEND_QUEUED, waiting.unwrap_or(status.queued as f64));
            note(PROCESSES, status.processes as f64);
            note(EXHAUSTED, status.exhausted as f64);
        } else if let Some(waiting) = waiting {
            note(metric::BACKEND_QUEUED, waiting);
        }
        if let Ok(connections) = servers.statistics.look() {
            note(CONNECTIONS, connections.open as f64);
            note(CONNECTIONS_REFUSED, connections.refused as f64);
        }
        let usage: Vec<Usage> = self.trees.iter_mut().map(Tree::sample).collect();
        note(CPU, usage.iter().map(|u| u.cpu).sum());
        note(WORKER_CPU_MAX, usage.iter().map(|u| u.busiest_cpu).fold(0.0, f64::max));
        note(RSS, usage.iter().map(|u| u.rss as f64).sum());
        metrics
    }

    /// Servers that have ended by themselves, each told once.
    fn deaths(servers: &mut Servers) -> Vec<State> {
        let ended = |child: &mut Child| {
            let status = child.death()?;
            Some(state(ServerState::Died, &format!("{} ended ({status})", child.name())))
        };
        [&mut servers.web, &mut servers.php_fpm, &mut servers.mariadb].into_iter().filter_map(ended).collect()
    }
}

fn state(state: ServerState, detail: &str) -> State {
    State { subject: "backend".to_owned(), state, detail: Some(detail.to_owned()) }
}
