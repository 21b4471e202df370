//! Limits that nginx shares with the machine: the accept queue and the processor.

use genkai_model::limit::{Limit, Strength};

use super::Facts;
use crate::limits::{AcceptQueue, Processor, reached};
use crate::nginx::evidence::metrics;
use crate::nginx::settings::{LISTEN_BACKLOG, WORKER_PROCESSES};

/// The accept queue of the listener under load.
pub(super) fn backlog(facts: &Facts) -> Limit {
    AcceptQueue {
        subject: "nginx",
        product: "nginx",
        setting: LISTEN_BACKLOG.name,
        short: LISTEN_BACKLOG.directive,
        backlog: &facts.backlog,
        somaxconn: facts.somaxconn,
        default: LISTEN_BACKLOG.source,
    }
    .limit()
}

/// The processor time that the workers can use.
pub(super) fn cpu(facts: &Facts) -> Limit {
    Processor {
        subject: "nginx",
        product: "nginx",
        noun: "worker",
        workers: facts.workers.value.into(),
        cores: facts.cores,
        setting: Some((WORKER_PROCESSES.name, &facts.workers)),
        remark: "; a worker is one thread",
        source: "nginx src/os/unix/ngx_process_cycle.c: ngx_worker_process_cycle (one event loop a worker)",
    }
    .limit(vec![
        reached(metrics::WORKER_CPU_MAX, 0.9, Strength::Supports),
        reached(metrics::WORKER_CPU_MAX, 0.8, Strength::Consistent),
        reached(metrics::WORKER_DEMAND_MAX, 0.98, Strength::Consistent),
    ])
}
