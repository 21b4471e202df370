//! Limits that Apache shares with the machine: the accept queue and the processor.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Origin, Strength, Symptom};

use super::Facts;
use crate::apache::evidence::metrics;
use crate::limits::{AcceptQueue, counted, reached};

/// The accept queue of the listener under load.
pub(super) fn backlog(facts: &Facts) -> Limit {
    AcceptQueue {
        subject: "apache",
        product: "Apache",
        setting: "ListenBacklog",
        short: "ListenBacklog",
        backlog: &facts.backlog,
        somaxconn: facts.somaxconn,
        default: "httpd include/mpm_common.h:63",
        drops: metrics::LISTEN_DROPS,
        waiting: metrics::ACCEPT_QUEUE,
    }
    .limit()
}

/// The processor time that the workers can use.
pub(super) fn cpu(facts: &Facts) -> Limit {
    let cores = facts.workers().min(u64::from(facts.cores));
    Limit {
        id: "apache.cpu".to_owned(),
        subject: "apache".to_owned(),
        setting: "cores".to_owned(),
        value: facts.cores.to_string(),
        origin: Origin::Machine("sched_getaffinity(2), less the generator's cores".to_owned()),
        caps: "cores that can work for Apache at once".to_owned(),
        law: Law::Cpu { cores: cores as f64 },
        formula: format!(
            "min({}, {} for the servers)",
            counted(facts.workers(), "worker"),
            counted(facts.cores.into(), "core")
        ),
        source: "clock_getcpuclockid(3) of each process".to_owned(),
        signatures: vec![reached(metrics::CPU, 0.9 * cores as f64, Strength::Supports)],
        symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        remedy: None,
    }
}
