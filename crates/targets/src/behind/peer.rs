//! One server behind a product.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use genkai_model::error::ErrorKind;
use genkai_model::evidence::{Sample, metric};
use genkai_model::limit::{Limit, Origin, Strength, Symptom};
use genkai_place::caps::Machine;
use genkai_place::endpoint::{Endpoint, Listener};
use genkai_place::listener;
use genkai_place::observation::Observation;
use genkai_place::threads::Threads;
use genkai_place::usage::{Tree, alone};

use crate::catalog;
use crate::limits::{SLOW, grew, reached, reached_of};
use crate::product::{Cost, Served};

/// The busiest thread of all its processes, as a share of a core; after its subject.
const THREAD: &str = "thread_cpu_max";
/// Connections that its accept queue had no room for, cumulative; after its subject.
const DROPS: &str = "listen_drops_total";
/// A thread that never waits has as much of a core, or more.
const FULL: f64 = 0.9;

/// A server that somebody else started.
#[derive(Debug)]
pub(super) struct Peer {
    endpoint: Endpoint,
    /// Of its samples.
    subject: String,
    who: Who,
}

#[derive(Debug)]
enum Who {
    /// Nobody listens.
    Nobody,
    /// Its processes are another user's.
    Hidden,
    /// These.
    Known(Box<Processes>),
}

#[derive(Debug)]
struct Processes {
    first: u32,
    /// As people call it.
    name: String,
    tree: Tree,
    threads: Threads,
    /// A product of the catalogue, or why nothing of it can be read; none: it is something else.
    product: Option<Result<Box<dyn Served>, String>>,
}

impl Peer {
    /// Whoever listens there.
    pub(super) fn find(endpoint: Endpoint, subject: String, machine: &Machine, memory: u64) -> Peer {
        let who = match endpoint.listener() {
            Listener::Nobody => Who::Nobody,
            Listener::Hidden => Who::Hidden,
            Listener::Process(first) => {
                let name = named(first);
                let product = catalog::serves(first, &endpoint, machine, memory);
                let (tree, threads) = (Tree::new(first), Threads::default());
                Who::Known(Box::new(Processes { first, name, tree, threads, product }))
            }
        };
        Peer { endpoint, subject, who }
    }

    /// Who it is, and what cannot be seen of it.
    pub(super) fn told(&self) -> String {
        let at = &self.endpoint;
        match &self.who {
            Who::Nobody => format!("nobody listens at {at} on this machine"),
            Who::Hidden => format!(
                "the processes that listen at {at} belong to another user: run genkai as that user or as root, so that it can look at them"
            ),
            Who::Known(known) => {
                let Processes { first, name, product, .. } = &**known;
                match product {
                    None => format!("{at} is {name}, process {first}"),
                    Some(Ok(product)) => format!("{at} is {}, process {first}", product.told()),
                    Some(Err(why)) => format!("{at} is {name}, process {first}, of which nothing more is known: {why}"),
                }
            }
        }
    }

    /// Whether it has a number of workers.
    pub(super) fn has_workers(&self) -> bool {
        matches!(&self.who, Who::Known(known) if matches!(known.product, Some(Ok(_))))
    }

    /// Processor time that its processes have had.
    pub(super) fn processor(&self) -> Duration {
        let Who::Known(known) = &self.who else { return Duration::ZERO };
        known.tree.processor()
    }

    /// Takes over what a request costs when nothing else is asked.
    pub(super) fn costs(&mut self, cost: Cost) {
        if let Who::Known(known) = &mut self.who
            && let Some(Ok(product)) = &mut known.product
        {
            product.costs(cost);
        }
    }

    /// What caps it: its pool where it is one, and what every process has.
    pub(super) fn limits(&self) -> Vec<Limit> {
        let Who::Known(known) = &self.who else { return Vec::new() };
        let own = known.product.iter().flatten().flat_map(|product| product.limits(&self.subject));
        own.chain([self.thread(known), self.descriptors(known), self.queue(known)].into_iter().flatten()).collect()
    }

    /// One thread that has a core for itself and needs more.
    fn thread(&self, known: &Processes) -> Option<Limit> {
        // Of a product that is known its own limits tell more.
        known.product.is_none().then(|| Limit {
            value: "1".to_owned(),
            origin: Origin::Machine(format!("threads of process {}", known.first)),
            caps: "one of its threads has a core for itself all the time: what that thread does for each request is the limit (an event loop, a \
                   lock that all wait for)"
                .to_owned(),
            formula: "a thread runs on one core at a time".to_owned(),
            source: "proc(5): /proc/PID/task/TID/schedstat".to_owned(),
            signatures: vec![reached(&self.metric(THREAD), FULL, Strength::Supports)],
            symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
            ..self.limit(known, "thread", "one thread's processor time")
        })
    }

    fn descriptors(&self, known: &Processes) -> Option<Limit> {
        let limit = alone(known.first)?.fd_limit?;
        Some(Limit {
            value: limit.to_string(),
            origin: Origin::Machine(format!("/proc/{}/limits", known.first)),
            caps: "descriptors of one of its processes".to_owned(),
            formula: format!("{limit} descriptors a process"),
            source: "getrlimit(2) RLIMIT_NOFILE".to_owned(),
            signatures: vec![reached_of(
                &self.metric(metric::WORKER_FDS_MAX),
                &self.metric(metric::WORKER_FD_LIMIT),
                0.98,
                Strength::Decisive,
            )],
            symptom: Symptom {
                errors: vec![ErrorKind::Status502, ErrorKind::Status504, ErrorKind::Timeout],
                slow: true,
            },
            ..self.limit(known, "descriptors", "RLIMIT_NOFILE")
        })
    }

    /// The accept queue of a TCP listener; of a pool, and of a Unix socket, others tell.
    fn queue(&self, known: &Processes) -> Option<Limit> {
        let Endpoint::Tcp(address) = &self.endpoint else { return None };
        let backlog = listener::queue(*address).filter(|_| known.product.is_none())?.backlog;
        Some(Limit {
            value: backlog.to_string(),
            origin: Origin::Machine(format!("listening socket of {address}")),
            caps: "connections that wait to be accepted by it".to_owned(),
            formula: format!("{backlog} + 1: the smaller of its backlog and net.core.somaxconn"),
            source: "listen(2); sock_diag(7)".to_owned(),
            signatures: vec![grew(&self.metric(DROPS), Strength::Decisive)],
            symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Status502, ErrorKind::Timeout], ..SLOW },
            ..self.limit(known, "backlog", "listen backlog")
        })
    }

    fn limit(&self, known: &Processes, id: &str, setting: &str) -> Limit {
        Limit::named(&format!("{}.{id}", self.subject), &known.name, setting)
    }

    fn metric(&self, name: &str) -> String {
        format!("{}.{name}", self.subject)
    }

    /// Looks at it.
    pub(super) fn observe(&mut self) -> Observation {
        let (subject, endpoint) = (self.subject.clone(), self.endpoint.clone());
        let Who::Known(known) = &mut self.who else { return Observation::default() };
        let usage = known.tree.sample();
        let mut metrics = BTreeMap::from([
            (metric::BEHIND_CPU.to_owned(), usage.cpu),
            (metric::WORKER_CPU_MAX.to_owned(), usage.busiest_cpu),
            (metric::RSS.to_owned(), usage.rss as f64),
        ]);
        let mut note = |name: &str, value: Option<f64>| metrics.extend(value.map(|value| (name.to_owned(), value)));
        note(metric::WORKER_FDS_MAX, usage.fds_max.map(|n| n as f64));
        note(metric::WORKER_FD_LIMIT, usage.fd_limit.map(|n| n as f64));
        note(THREAD, known.threads.busiest(usage.processes.iter().map(|one| one.pid)));
        if let Endpoint::Tcp(address) = &endpoint {
            note(DROPS, listener::queue(*address).map(|queue| queue.dropped as f64));
        }
        let mut logs = Vec::new();
        if let Some(Ok(product)) = &mut known.product {
            metrics.extend(product.look(&endpoint, &usage));
            logs = product.logs(&subject);
        }
        let metrics = metrics.into_iter().map(|(name, value)| (format!("{subject}.{name}"), value)).collect();
        Observation { samples: vec![Sample { subject, metrics }], logs, states: Vec::new() }
    }
}

/// What people call a process: the name of its program, of a script that of the script.
fn named(pid: u32) -> String {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<String> = text.split(|b| *b == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let program = fs::read_link(format!("/proc/{pid}/exe")).ok();
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let program = program.as_deref().and_then(name).or_else(|| usage_name(pid)).unwrap_or_default();
    if program.starts_with("python") { script(&words).unwrap_or(program) } else { program }
}

/// What an interpreter was started with: a file, or a module after `-m`. None where other flags stand before it: which of them have a value
/// is not known.
fn script(words: &[String]) -> Option<String> {
    let at = if words.get(1)? == "-m" { 2 } else { 1 };
    words.get(at).filter(|word| !word.is_empty() && !word.starts_with('-')).map(|word| name_of(word))
}

fn name_of(script: &str) -> String {
    Path::new(script).file_name().map_or_else(|| script.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn usage_name(pid: u32) -> Option<String> {
    alone(pid).map(|one| one.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_called_by_its_name_and_code_is_not() {
        let said = |line: &str| script(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(said("python3 /usr/bin/gunicorn -w 2 app:app").as_deref(), Some("gunicorn"));
        assert_eq!(said("python3 -m uvicorn app:app").as_deref(), Some("uvicorn"));
        for line in ["python3", "python3 -c import/os", "python3 -W ignore x.py", "python3 -m"] {
            assert_eq!(said(line), None, "{line}");
        }
    }
}
