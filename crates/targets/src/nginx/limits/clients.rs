//! Limits on how many clients can be there at once: slots and descriptors of the workers.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Law, Limit, Remedy, RemedyUnit, Sign, Signature, Strength, Symptom};

use super::Facts;
use crate::limits::{counted, errors, grew, log};
use crate::nginx::evidence::{metrics, signature};
use crate::nginx::settings::{WORKER_CONNECTIONS, WORKER_RLIMIT_NOFILE};

/// Idle connections are closed, and bursts lose clients, once at most 1/16 of the slots are free
/// (`ngx_drain_connections`).
const SOFT: f64 = 15.0 / 16.0;

/// Slots of the workers.
pub(super) fn worker_connections(facts: &Facts) -> Limit {
    let busy = facts.busy_slots();
    Limit {
        id: "nginx.worker_connections".to_owned(),
        subject: "nginx".to_owned(),
        setting: WORKER_CONNECTIONS.name.to_owned(),
        value: facts.worker_connections.written.clone(),
        origin: facts.worker_connections.origin.clone(),
        caps: "connections a worker may hold, clients and upstreams together".to_owned(),
        law: Law::Slots {
            value: facts.worker_connections.value as f64,
            reserved: facts.base_slots() as f64,
            idle_cost: 1.0,
            busy_cost: busy as f64,
            pools: f64::from(facts.workers.value),
            soft: SOFT,
        },
        formula: format!(
            "{} x floor(({} - {} - 1 channel) / {busy}){}",
            counted(facts.workers.value.into(), "worker"),
            facts.worker_connections.value,
            counted(facts.listeners.into(), "listener"),
            if busy == 2 { "; a proxied client holds 2 connections, an idle one 1" } else { "" },
        ),
        source: "nginx src/core/ngx_connection.c: ngx_get_connection (none free: alert, the new client is closed or \
                 gets 500), ngx_drain_connections (idle ones are closed when free <= 1/16)"
            .to_owned(),
        signatures: vec![
            log(signature::WORKER_CONNECTIONS, Strength::Decisive),
            log(signature::WORKER_CONNECTIONS_UPSTREAM, Strength::Decisive),
            log(signature::WORKER_CONNECTIONS_REUSING, Strength::Decisive),
            grew(metrics::STUB_DROPPED, Strength::Supports),
        ],
        symptom: errors(&[
            ErrorKind::EofNew,
            ErrorKind::EofReused,
            ErrorKind::Reset,
            ErrorKind::ResetReused,
            ErrorKind::Status500,
        ]),
        remedy: Some(Remedy {
            setting: WORKER_CONNECTIONS.name.to_owned(),
            unit: RemedyUnit::Count,
            step: 64.0,
            ceiling: Some(slots_ceiling(facts)),
            note: Some(format!(
                "every connection needs a descriptor: above {} a higher worker_rlimit_nofile is needed too",
                slots_for(facts, facts.nofile.value)
            )),
        }),
    }
}

/// Slots that `descriptors` are enough for: all but those that are open and hold no slot.
fn slots_for(facts: &Facts, descriptors: u64) -> u64 {
    (descriptors + facts.base_slots()).saturating_sub(facts.base_descriptors())
}

fn slots_ceiling(facts: &Facts) -> Ceiling {
    let by = facts.nofile_ceiling.by.clone();
    Ceiling { value: slots_for(facts, facts.nofile_ceiling.value as u64) as f64, by }
}

/// Descriptors of the workers.
pub(super) fn worker_rlimit_nofile(facts: &Facts) -> Limit {
    let (base, busy) = (facts.base_descriptors(), facts.busy_descriptors());
    Limit {
        id: "nginx.worker_rlimit_nofile".to_owned(),
        subject: "nginx".to_owned(),
        setting: WORKER_RLIMIT_NOFILE.name.to_owned(),
        value: facts.nofile.written.clone(),
        origin: facts.nofile.origin.clone(),
        caps: "descriptors a worker may open: clients, upstreams, files, logs, listeners".to_owned(),
        law: Law::Slots {
            value: facts.nofile.value as f64,
            reserved: base as f64,
            idle_cost: 1.0,
            busy_cost: busy as f64,
            pools: f64::from(facts.workers.value),
            soft: 1.0,
        },
        formula: format!(
            "{} x floor(({} - {base} of its own) / {busy}); its own: 5 + {} + {} + {}",
            counted(facts.workers.value.into(), "worker"),
            facts.nofile.value,
            counted((facts.workers.value + facts.helpers).into(), "channel"),
            counted(facts.sockets.into(), "listening socket"),
            counted(facts.logs.into(), "log"),
        ),
        source:
            "getrlimit(2) RLIMIT_NOFILE; nginx src/event/ngx_event_accept.c: ngx_event_accept (EMFILE: no client is \
                 accepted for 500 ms), src/event/ngx_event_connect.c (EMFILE: 500)"
                .to_owned(),
        signatures: vec![
            log(signature::DESCRIPTORS_ACCEPT, Strength::Decisive),
            log(signature::DESCRIPTORS_SOCKET, Strength::Decisive),
            log(signature::DESCRIPTORS_OTHER, Strength::Decisive),
            Signature {
                sign: Sign::ReachedMetric {
                    metric: metrics::WORKER_FDS_MAX.to_owned(),
                    of: metrics::WORKER_FD_LIMIT.to_owned(),
                    fraction: 0.98,
                },
                strength: Strength::Supports,
            },
        ],
        symptom: Symptom {
            errors: vec![ErrorKind::Timeout, ErrorKind::ConnectTimeout, ErrorKind::Status500],
            slow: true,
        },
        remedy: Some(Remedy {
            setting: WORKER_RLIMIT_NOFILE.name.to_owned(),
            unit: RemedyUnit::Count,
            step: 64.0,
            ceiling: Some(facts.nofile_ceiling.clone()),
            note: None,
        }),
    }
}
