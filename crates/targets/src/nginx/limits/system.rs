//! Limits that nginx shares with the machine: the accept queue and the processor.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Law, Limit, Remedy, RemedyUnit, Strength, Symptom};

use super::Facts;
use crate::limits::{AcceptQueue, counted, reached};
use crate::nginx::evidence::metrics;

/// The accept queue of the listener under load.
pub(super) fn backlog(facts: &Facts) -> Limit {
    AcceptQueue {
        subject: "nginx",
        product: "nginx",
        setting: "listen.backlog",
        short: "backlog",
        backlog: &facts.backlog,
        somaxconn: facts.somaxconn,
        default: "nginx src/os/unix/ngx_linux_config.h:107",
        drops: metrics::LISTEN_DROPS,
        waiting: metrics::ACCEPT_QUEUE,
    }
    .limit()
}

/// The processor time that the workers can use.
pub(super) fn cpu(facts: &Facts) -> Limit {
    let cores = facts.workers.value.min(facts.cores);
    let more = facts.workers.value < facts.cores;
    Limit {
        id: "nginx.cpu".to_owned(),
        subject: "nginx".to_owned(),
        setting: "worker_processes".to_owned(),
        value: facts.workers.written.clone(),
        origin: facts.workers.origin.clone(),
        caps: "cores that can work for nginx at once".to_owned(),
        law: Law::Cpu { cores: f64::from(cores) },
        formula: format!(
            "min({}, {} for the servers); a worker is one thread",
            counted(facts.workers.value.into(), "worker"),
            counted(facts.cores.into(), "core")
        ),
        source: "nginx src/os/unix/ngx_process_cycle.c: ngx_worker_process_cycle (one event loop a worker)".to_owned(),
        signatures: vec![
            reached(metrics::WORKER_CPU_MAX, 0.9, Strength::Supports),
            reached(metrics::WORKER_CPU_MAX, 0.8, Strength::Consistent),
            reached(metrics::WORKER_DEMAND_MAX, 0.98, Strength::Consistent),
        ],
        symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        remedy: more.then(|| Remedy {
            setting: "worker_processes".to_owned(),
            unit: RemedyUnit::Count,
            step: 1.0,
            ceiling: Some(Ceiling {
                value: f64::from(facts.cores),
                by: format!("{} for the servers", counted(facts.cores.into(), "core")),
            }),
            note: None,
        }),
    }
}
