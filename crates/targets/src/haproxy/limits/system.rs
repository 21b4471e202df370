//! Limits that HAProxy shares with the machine: the accept queue, the processor, memory.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Law, Limit, Origin, Remedy, RemedyUnit, Strength, Symptom};

use super::Facts;
use crate::haproxy::evidence::metrics;
use crate::limits::{AcceptQueue, counted, reached};

/// What a connection takes beside its buffers, bytes: an idle one of HAProxy 2.6.12 takes 1.1 kB of resident memory (measured with
/// 3000 kept connections in plain HTTP).
const STRUCTURES: f64 = 1_140.0;

/// The accept queue of the listener under load.
pub(super) fn backlog(facts: &Facts) -> Limit {
    let limit = AcceptQueue {
        subject: "haproxy",
        product: "HAProxy",
        setting: "backlog",
        short: "backlog",
        backlog: &facts.backlog,
        somaxconn: facts.somaxconn,
        default: "HAProxy src/listener.c: listener_backlog (maxconn of the frontend, else 1024)",
        drops: metrics::LISTEN_DROPS,
        waiting: metrics::ACCEPT_QUEUE,
    }
    .limit();
    Limit { source: limit.source.replace("default 511: ", "default: "), ..limit }
}

/// The processor time that the threads can use.
pub(super) fn cpu(facts: &Facts) -> Limit {
    let workers = facts.workers();
    let more = facts.threads.value < facts.cores;
    Limit {
        value: facts.threads.written.clone(),
        origin: facts.threads.origin.clone(),
        caps: "cores that can work for HAProxy at once".to_owned(),
        law: Law::Cpu { cores: f64::from(workers) },
        formula: format!(
            "min({}, {} for the servers)",
            counted(facts.threads.value.into(), "thread"),
            counted(facts.cores.into(), "core")
        ),
        source: "clock_getcpuclockid(3) of the process; configuration manual 3.1, `nbthread`".to_owned(),
        signatures: vec![
            reached(metrics::CPU, 0.9 * f64::from(workers), Strength::Supports),
            reached(metrics::CPU, 0.8 * f64::from(workers), Strength::Consistent),
        ],
        symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        remedy: more.then(|| Remedy {
            setting: "nbthread".to_owned(),
            unit: RemedyUnit::Count,
            step: 1.0,
            ceiling: Some(Ceiling {
                value: f64::from(facts.cores),
                by: format!("{} for the servers", counted(facts.cores.into(), "core")),
            }),
            note: None,
        }),
        ..Limit::named("haproxy.cpu", "haproxy", "nbthread")
    }
}

/// Memory: an idle connection keeps its structures only, a busy one two buffers beside them.
pub(super) fn memory(facts: &Facts) -> Limit {
    let busy = 2.0 * facts.bufsize.value as f64 + STRUCTURES;
    Limit {
        value: facts.bufsize.written.clone(),
        origin: if facts.bufsize.written.is_empty() { Origin::Given } else { facts.bufsize.origin.clone() },
        caps: "memory of connections that all carry data at once".to_owned(),
        law: Law::Slots {
            value: facts.memory as f64,
            reserved: 0.0,
            idle_cost: STRUCTURES,
            busy_cost: busy,
            pools: 1.0,
            soft: 1.0,
        },
        formula: format!(
            "{:.1} GiB of this machine / (2 x tune.bufsize {} + {STRUCTURES} bytes a connection); maxconn {} takes {:.0} MiB",
            facts.memory as f64 / f64::from(1 << 30),
            facts.bufsize.value,
            facts.maxconn.value,
            facts.maxconn.value as f64 * busy / f64::from(1 << 20),
        ),
        source: "HAProxy configuration manual 3.2, `tune.bufsize`; src/dynbuf.c".to_owned(),
        symptom: Symptom { errors: Vec::new(), slow: true },
        ..Limit::named("haproxy.memory", "haproxy", "tune.bufsize")
    }
}
