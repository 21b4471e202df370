//! Limits that show in HAProxy but lie behind it, or between the two.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Origin, Remedy, RemedyUnit, Sign, Signature, Strength, Symptom};

use super::Facts;
use crate::haproxy::evidence::{metrics, signature};
use crate::limits::{counted, errors, log, reached};

/// Every limit of the servers' side, but for their `maxconn`.
pub(super) fn all(facts: &Facts) -> Vec<Limit> {
    if facts.back.is_none() {
        return Vec::new();
    }
    let mut all = vec![refusing(facts)];
    all.extend(silent(facts));
    all.extend(idle(facts));
    all.extend(ports(facts));
    all
}

/// `maxconn` of each `server`. Requests beyond it wait in the queue, those that wait too long are answered 503.
pub(super) fn server(facts: &Facts) -> Option<Limit> {
    let held = facts.server_maxconn.as_ref().filter(|_| facts.servers > 0)?;
    let (each, servers) = (held.value, facts.servers);
    let queue = (facts.server_maxqueue > 0).then_some(facts.server_maxqueue as f64 * servers as f64);
    let wait = facts.queue_timeout.as_ref();
    let until = wait.map_or_else(
        || "further requests wait for ever (no timeout queue, no timeout connect)".to_owned(),
        |(setting, held)| format!("further requests wait at most {} ({setting}), then 503", held.value),
    );
    Some(Limit {
        value: held.written.clone(),
        origin: held.origin.clone(),
        caps: "requests that each server gets at once; further ones wait in HAProxy's queue".to_owned(),
        law: Law::Workers {
            workers: each as f64 * servers as f64,
            queue,
            service: None,
            wait: wait.map(|(_, held)| held.value.as_secs_f64()),
        },
        formula: format!(
            "{} x maxconn {each} = {} requests at once; {until}",
            counted(servers, "server"),
            each.saturating_mul(servers)
        ),
        ..queueing(
            signature::QUEUE_TIMEOUT,
            "or add servers: each brings as many; the backend must be able to take them",
        )
    })
}

/// What is always so of `maxconn` of a `server`: the signs (of which `timeout` is the log's, of requests that waited too long), the symptom
/// and the remedy, whose alternative is `instead`.
pub(crate) fn queueing(timeout: &str, instead: &str) -> Limit {
    let full = Sign::ReachedMetric {
        metric: metrics::SERVER_SESSIONS_MAX.to_owned(),
        of: metrics::SERVER_SESSIONS_LIMIT.to_owned(),
        fraction: 1.0,
    };
    Limit {
        source: "HAProxy configuration manual 5.2, `maxconn`; 4.2, `timeout queue`; src/queue.c".to_owned(),
        signatures: vec![
            log(timeout, Strength::Decisive),
            reached(metrics::QUEUED, 1.0, Strength::Supports),
            Signature { sign: full, strength: Strength::Supports },
        ],
        symptom: Symptom { errors: vec![ErrorKind::Status503], slow: true },
        remedy: Some(Remedy {
            setting: "server.maxconn".to_owned(),
            unit: RemedyUnit::Count,
            step: 1.0,
            ceiling: None,
            note: Some(instead.to_owned()),
        }),
        ..Limit::named("haproxy.server.maxconn", "haproxy", "server.maxconn")
    }
}

/// No server takes connections: nothing in HAProxy lifts that.
fn refusing(facts: &Facts) -> Limit {
    let back = facts.back.clone().unwrap_or_default();
    Limit {
        value: back.clone(),
        origin: Origin::Given,
        caps: "it refuses connections, or closes them unanswered".to_owned(),
        formula: format!("the servers of `{back}` refuse (503 after the retries), or close before they answer (502)"),
        source: "HAProxy configuration manual 8.5: termination states SC, SH, PH".to_owned(),
        signatures: vec![
            log(signature::SERVER_REFUSED, Strength::Decisive),
            log(signature::SERVER_CLOSED, Strength::Decisive),
            log(signature::SERVER_DOWN, Strength::Supports),
        ],
        symptom: errors(&[ErrorKind::Status502, ErrorKind::Status503]),
        ..Limit::named("haproxy.backend", "backend", "(backend)")
    }
}

/// The servers are slower than HAProxy is told to wait. The timeout ends the request; the slowness is the backend's.
fn silent(facts: &Facts) -> Option<Limit> {
    let held = facts.server_timeout.as_ref()?;
    Some(Limit {
        value: held.written.clone(),
        origin: held.origin.clone(),
        caps: format!(
            "it is slower than timeout server = {} allows (a longer one makes clients wait instead of fail)",
            held.written
        ),
        law: Law::Unknown,
        formula: format!("a server is never silent for {}: else HAProxy answers 504", held.value),
        source: "HAProxy configuration manual 4.2, `timeout server`; 8.5: termination state sH".to_owned(),
        signatures: vec![log(signature::SERVER_SILENT, Strength::Consistent)],
        symptom: Symptom { errors: vec![ErrorKind::Status504], slow: true },
        ..Limit::named("haproxy.timeout.server", "backend", "slower than timeout server")
    })
}

/// A tunnel on which nothing is said.
fn idle(facts: &Facts) -> Option<Limit> {
    let (setting, held) = facts.tunnel_timeout.as_ref()?;
    let own = *setting == "timeout tunnel";
    Some(Limit {
        value: if own { held.written.clone() } else { format!("not set: as {setting} {}", held.written) },
        origin: held.origin.clone(),
        caps: "how long a tunnel may be silent in both directions".to_owned(),
        law: Law::Idle { after: held.value.as_secs_f64() },
        formula: match own {
            true => format!("a tunnel ends after {} (timeout tunnel) without a byte", held.value),
            false => format!(
                "a tunnel ends after {} without a byte: without timeout tunnel it is the shorter of timeout client and timeout \
                 server",
                held.value
            ),
        },
        source: "HAProxy configuration manual 4.2, `timeout tunnel`; 8.5: termination states cD, sD".to_owned(),
        signatures: vec![log(signature::TUNNEL_SILENT, Strength::Decisive)],
        symptom: errors(&[ErrorKind::ClosedAbnormally]),
        remedy: Some(Remedy {
            setting: "timeout.tunnel".to_owned(),
            unit: RemedyUnit::Time,
            step: 1.0,
            ceiling: None,
            note: Some("pings of either side, more often than it, do without the change".to_owned()),
        }),
        ..Limit::named("haproxy.idle", "haproxy", "timeout.tunnel")
    })
}

/// Local ports towards the servers.
fn ports(facts: &Facts) -> Option<Limit> {
    if !facts.inet || facts.servers == 0 {
        return None;
    }
    let (first, last) = facts.ports;
    let ports = u64::from(last.saturating_sub(first)) + 1;
    Some(Limit {
        value: format!("{first} {last}"),
        origin: Origin::Machine("/proc/sys/net/ipv4/ip_local_port_range".to_owned()),
        caps: "connections from HAProxy to its servers at once, those in TIME_WAIT included".to_owned(),
        law: Law::Slots {
            value: ports as f64 * facts.servers as f64,
            reserved: 0.0,
            idle_cost: 0.0,
            busy_cost: 1.0,
            pools: 1.0,
            soft: 1.0,
        },
        formula: format!("{ports} local ports x {}", counted(facts.servers, "server")),
        source: "ip(7) ip_local_port_range: one port for each (source, destination address, destination port)"
            .to_owned(),
        signatures: vec![log(signature::PORTS, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status503]),
        ..Limit::named("haproxy.server.ports", "kernel", "net.ipv4.ip_local_port_range")
    })
}
