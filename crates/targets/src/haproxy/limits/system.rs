//! Limits that HAProxy shares with the machine: the accept queue, the processor, memory.

use genkai_model::limit::{Law, Limit, Origin, Strength, Symptom};

use super::Facts;
use crate::haproxy::evidence::metrics;
use crate::haproxy::settings::{BACKLOG, NBTHREAD};
use crate::limits::{AcceptQueue, Processor, reached};

/// What a connection takes beside its buffers, bytes: an idle one of HAProxy 2.6.12 takes 1.1 kB of resident memory (measured with
/// 3000 kept connections in plain HTTP).
const STRUCTURES: f64 = 1_140.0;

/// The accept queue of the listener under load.
pub(super) fn backlog(facts: &Facts) -> Limit {
    let limit = AcceptQueue {
        subject: "haproxy",
        product: "HAProxy",
        setting: BACKLOG.name,
        short: BACKLOG.name,
        backlog: &facts.backlog,
        somaxconn: facts.somaxconn,
        default: "HAProxy src/listener.c: listener_backlog (maxconn of the bind line, else of the frontend, else 1024)",
    }
    .limit();
    Limit { source: limit.source.replace("default 511: ", "default: "), ..limit }
}

/// The processor time that the threads can use.
pub(super) fn cpu(facts: &Facts) -> Limit {
    let processor = Processor {
        subject: "haproxy",
        product: "HAProxy",
        noun: "thread",
        workers: facts.threads.value.into(),
        cores: facts.cores,
        setting: Some((NBTHREAD.name, &facts.threads)),
        remark: "",
        source: "clock_getcpuclockid(3) of the process; configuration manual 3.1, `nbthread`",
    };
    let of = |part, strength| reached(metrics::CPU, part * processor.usable(), strength);
    processor.limit(vec![of(0.9, Strength::Supports), of(0.8, Strength::Consistent)])
}

/// The name of the limit that memory is.
pub(crate) const MEMORY: &str = "haproxy.memory";

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
        ..Limit::named(MEMORY, "haproxy", "tune.bufsize")
    }
}
