//! Limits that Apache shares with the machine: the accept queue and the processor.

use genkai_model::error::ErrorKind;
use genkai_model::evidence::metric;
use genkai_model::limit::{Ceiling, Law, Limit, Remedy, RemedyUnit, Strength, Symptom};

use super::{Facts, counted, grew, reached};
use crate::apache::evidence::metrics;

/// The accept queue of the listener under load.
pub(super) fn backlog(facts: &Facts) -> Limit {
    let effective = facts.backlog.value.min(facts.somaxconn);
    let queue = f64::from(effective) + 1.0;
    Limit {
        id: "apache.ListenBacklog".to_owned(),
        subject: "apache".to_owned(),
        setting: "ListenBacklog".to_owned(),
        value: facts.backlog.written.clone(),
        origin: facts.backlog.origin.clone(),
        caps: "connections that may wait to be accepted at one instant".to_owned(),
        law: Law::Backlog { value: queue },
        formula: format!("min(ListenBacklog {}, net.core.somaxconn {}) + 1", facts.backlog.value, facts.somaxconn),
        source: "listen(2); Linux net/ipv4/tcp_ipv4.c: tcp_v4_syn_recv_sock, include/net/sock.h: sk_acceptq_is_full; default \
                 511: httpd include/mpm_common.h:63"
            .to_owned(),
        signatures: vec![
            grew(metrics::LISTEN_DROPS, Strength::Decisive),
            grew(metric::LISTEN_OVERFLOWS, Strength::Supports),
            reached(metrics::ACCEPT_QUEUE, queue, Strength::Supports),
        ],
        symptom: Symptom { errors: vec![ErrorKind::ConnectTimeout, ErrorKind::Timeout], slow: true },
        remedy: Some(Remedy {
            setting: "ListenBacklog".to_owned(),
            unit: RemedyUnit::Count,
            step: 64.0,
            ceiling: Some(Ceiling {
                value: f64::from(facts.somaxconn),
                by: format!("net.core.somaxconn {}", facts.somaxconn),
            }),
            note: Some("a reload does not change a listener that is open: restart Apache for it to take effect".to_owned()),
        }),
    }
}

/// The processor time that the workers can use.
pub(super) fn cpu(facts: &Facts) -> Limit {
    let cores = facts.workers().min(u64::from(facts.cores));
    Limit {
        id: "apache.cpu".to_owned(),
        subject: "apache".to_owned(),
        setting: "cores".to_owned(),
        value: facts.cores.to_string(),
        origin: genkai_model::limit::Origin::Machine("sched_getaffinity(2), less the generator's cores".to_owned()),
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
