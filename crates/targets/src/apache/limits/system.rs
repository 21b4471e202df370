//! Limits that Apache shares with the machine: the accept queue and the processor.

use genkai_model::limit::{Limit, Strength};

use super::Facts;
use crate::apache::evidence::metrics;
use crate::apache::settings::LISTEN_BACKLOG;
use crate::limits::{AcceptQueue, Processor, reached};

/// The accept queue of the listener under load.
pub(super) fn backlog(facts: &Facts) -> Limit {
    AcceptQueue {
        subject: "apache",
        product: "Apache",
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
    let processor = Processor {
        subject: "apache",
        product: "Apache",
        noun: "worker",
        workers: facts.workers(),
        cores: facts.cores,
        setting: None,
        remark: "",
        source: "clock_getcpuclockid(3) of each process",
    };
    processor.limit(vec![reached(metrics::CPU, 0.9 * processor.usable(), Strength::Supports)])
}
