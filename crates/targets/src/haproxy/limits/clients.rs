//! Limits on clients: how many connections at once, how many a second.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Law, Limit, Remedy, RemedyUnit, Sign, Signature, Strength, Symptom};

use super::Facts;
use crate::haproxy::evidence::{metrics, signature};
use crate::limits::log;

/// Clients beyond a full process or frontend are not accepted: they wait in the kernel's queue, and hang.
fn waits() -> Symptom {
    Symptom { errors: vec![ErrorKind::Timeout, ErrorKind::ConnectTimeout], slow: true }
}

/// A client takes one slot for as long as its connection lasts.
fn slots(value: f64) -> Law {
    Law::Slots { value, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 }
}

fn full(metric: &str, of: &str) -> Signature {
    let sign = Sign::ReachedMetric { metric: metric.to_owned(), of: of.to_owned(), fraction: 1.0 };
    Signature { sign, strength: Strength::Decisive }
}

fn remedy(setting: &str, facts: &Facts, most: u64, by: String) -> Remedy {
    Remedy {
        setting: setting.to_owned(),
        unit: RemedyUnit::Count,
        step: 1.0,
        ceiling: Some(Ceiling { value: most as f64, by }),
        note: Some(format!("each connection takes two descriptors; {} are HAProxy's own", facts.own)),
    }
}

/// `maxconn` of `global`.
pub(super) fn maxconn(facts: &Facts) -> Limit {
    let value = facts.maxconn.value;
    let most = (facts.nofile_ceiling.value as u64).saturating_sub(facts.own) / 2;
    Limit {
        value: facts.maxconn.written.clone(),
        origin: facts.maxconn.origin.clone(),
        caps: "connections of clients at once, of all frontends".to_owned(),
        law: slots(value as f64),
        formula: if facts.maxconn_written {
            format!("maxconn {value}: a client is one connection, idle or busy")
        } else {
            format!("({} descriptors - {} of its own) / 2, at least 100", facts.available, facts.own)
        },
        source: "HAProxy src/listener.c: listener_accept (a full process stops accepting); src/haproxy.c: \
                 compute_ideal_maxconn"
            .to_owned(),
        signatures: vec![full(metrics::CONNECTIONS, metrics::MAXCONN)],
        symptom: waits(),
        remedy: Some(remedy(
            "maxconn",
            facts,
            most,
            format!("two descriptors a connection, {}", facts.nofile_ceiling.by),
        )),
        ..Limit::named("haproxy.maxconn", "haproxy", "maxconn")
    }
}

/// `maxconn` of the section that takes the connections, where it is below the process's.
pub(super) fn frontend(facts: &Facts) -> Option<Limit> {
    let held = facts.front_maxconn.as_ref().filter(|held| held.value < facts.maxconn.value)?;
    Some(Limit {
        value: held.written.clone(),
        origin: held.origin.clone(),
        caps: format!("connections of clients at once to `{}`", facts.front),
        law: slots(held.value as f64),
        formula: format!("maxconn {} of `{}`", held.value, facts.front),
        source: "HAProxy src/listener.c: listener_accept (a full frontend stops accepting)".to_owned(),
        signatures: vec![full(metrics::SESSIONS, metrics::SESSIONS_LIMIT)],
        symptom: waits(),
        remedy: Some(remedy(
            "frontend.maxconn",
            facts,
            facts.maxconn.value,
            format!("maxconn {} of global", facts.maxconn.value),
        )),
        ..Limit::named("haproxy.frontend.maxconn", "haproxy", "frontend.maxconn")
    })
}

/// Descriptors of the process, where `ulimit-n` or the machine gives it fewer than its `maxconn` needs; else what they are.
pub(super) fn nofile(facts: &Facts) -> Limit {
    let by_maxconn = facts.nofile.value >= facts.needed();
    Limit {
        value: facts.nofile.written.clone(),
        origin: facts.nofile.origin.clone(),
        caps: "descriptors of the process: clients, servers, listeners, threads".to_owned(),
        law: Law::Slots {
            value: facts.nofile.value as f64,
            reserved: facts.own as f64,
            idle_cost: 1.0,
            busy_cost: 2.0,
            pools: 1.0,
            soft: 1.0,
        },
        formula: format!(
            "({} descriptors - {} of its own) / 2{}",
            facts.nofile.value,
            facts.own,
            if by_maxconn { "; HAProxy asks for as many as maxconn needs, and never gives up any" } else { "" }
        ),
        source: "getrlimit(2) RLIMIT_NOFILE; HAProxy src/haproxy.c: init; src/sock.c: sock_accept_conn (EMFILE)"
            .to_owned(),
        signatures: vec![
            log(signature::DESCRIPTORS, Strength::Decisive),
            Signature {
                sign: Sign::ReachedMetric {
                    metric: metrics::FDS.to_owned(),
                    of: metrics::FD_LIMIT.to_owned(),
                    fraction: 0.98,
                },
                strength: Strength::Supports,
            },
        ],
        symptom: Symptom {
            errors: vec![ErrorKind::Timeout, ErrorKind::ConnectTimeout, ErrorKind::Status503],
            slow: true,
        },
        remedy: (!by_maxconn).then(|| Remedy {
            setting: "ulimit-n".to_owned(),
            unit: RemedyUnit::Count,
            step: 1.0,
            ceiling: Some(facts.nofile_ceiling.clone()),
            note: Some(format!("without ulimit-n HAProxy takes the {} that its maxconn needs", facts.needed())),
        }),
        ..Limit::named("haproxy.ulimit-n", "haproxy", "ulimit-n")
    }
}

/// New connections (or sessions) a second: beyond that HAProxy accepts later.
pub(super) fn rate(facts: &Facts) -> Option<Limit> {
    let (setting, held) = facts.rate.as_ref()?;
    Some(Limit {
        value: held.written.clone(),
        origin: held.origin.clone(),
        caps: "new connections a second; those beyond it wait to be accepted".to_owned(),
        law: Law::Unknown,
        formula: format!("{} new connections/s ({setting}); requests on kept connections do not count", held.value),
        source: "HAProxy src/listener.c: listener_accept; configuration manual 3.2 and 4.2".to_owned(),
        signatures: vec![full(metrics::CONNECTION_RATE, metrics::CONNECTION_RATE_LIMIT)],
        symptom: waits(),
        remedy: Some(Remedy {
            setting: (*setting).to_owned(),
            unit: RemedyUnit::Count,
            step: 100.0,
            ceiling: None,
            note: None,
        }),
        ..Limit::named(&format!("haproxy.{setting}"), "haproxy", setting)
    })
}
