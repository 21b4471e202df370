//! Limits that nginx shares with the machine: the accept queue and the processor.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Limit, Strength};

use super::Facts;
use crate::limits::{AcceptQueue, Processor, accident, errors, log, reached};
use crate::nginx::evidence::{metrics, signature};
use crate::nginx::settings::{LISTEN_BACKLOG, WORKER_PROCESSES};

/// The accept queue of the listener under load.
pub(super) fn backlog(facts: &Facts) -> Limit {
    let queue = AcceptQueue {
        subject: "nginx",
        product: "nginx",
        setting: LISTEN_BACKLOG.name,
        short: LISTEN_BACKLOG.directive,
        backlog: &facts.backlog,
        somaxconn: facts.somaxconn,
        default: LISTEN_BACKLOG.source,
    };
    let limit = queue.limit();
    // `reuseport`: the kernel chooses by a hash of the addresses (net/core/sock_reuseport.c: reuseport_select_sock).
    match facts.sockets > facts.listeners {
        true => Limit {
            formula: format!(
                "{}, of each of {} queues: with `reuseport` each worker has one, and chance puts a connection into one of them",
                limit.formula, facts.workers.value
            ),
            ..limit
        },
        false => limit,
    }
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

/// What no number of the configuration predicts and the log tells when it happens.
pub(super) fn accidents() -> Vec<Limit> {
    let refused = [ErrorKind::Status500, ErrorKind::Timeout, ErrorKind::EofNew, ErrorKind::EofReused];
    let lost = [ErrorKind::EofReused, ErrorKind::EofNew, ErrorKind::ResetReused, ErrorKind::Reset];
    vec![
        Limit {
            source: "open(2), accept(2): ENFILE; Linux fs/file_table.c: alloc_empty_file".to_owned(),
            symptom: errors(&refused),
            ..accident(
                "nginx.file_max",
                "kernel",
                "fs.file-max",
                "the machine has no descriptor left",
                &[signature::DESCRIPTORS_MACHINE],
            )
        },
        Limit {
            source: "nginx src/http/ngx_http_file_cache.c: ngx_http_file_cache_exists".to_owned(),
            symptom: errors(&refused[..1]),
            ..accident(
                "nginx.cache_zone",
                "nginx",
                "keys_zone",
                "the zone of a cache's keys is full",
                &[signature::CACHE_ZONE],
            )
        },
        Limit {
            source: "write(2), open(2): ENOSPC".to_owned(),
            symptom: errors(&refused),
            ..accident(
                "nginx.disk",
                "machine",
                "disk space",
                "a disk that nginx writes to is full",
                &[signature::DISK_FULL],
            )
        },
        Limit {
            source: "nginx src/os/unix/ngx_alloc.c: ngx_alloc, ngx_memalign".to_owned(),
            symptom: errors(&[&refused[..], &lost].concat()),
            ..accident("nginx.memory", "machine", "memory", "nginx is refused memory", &[signature::MEMORY])
        },
        Limit {
            source: "nginx src/os/unix/ngx_process.c: ngx_process_get_status".to_owned(),
            symptom: errors(&lost),
            // A death has a reason, which may have left a sign of its own.
            signatures: vec![log(signature::WORKER_DIED, Strength::Supports)],
            ..accident(
                "nginx.worker_died",
                "nginx",
                "worker process",
                "a worker dies of a signal, with its clients",
                &[],
            )
        },
    ]
}
