//! Limits that show in HAProxy but lie behind it, or between the two.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Origin, Remedy, RemedyUnit, Strength, Symptom};

use super::Facts;
use crate::haproxy::evidence::{metrics, signature};
use crate::haproxy::settings::{SERVER_MAXCONN, TIMEOUT_SERVER, TIMEOUT_TUNNEL};
use crate::limits::{backend, counted, errors, log, raised, reached, reached_of};
use crate::settings::SourcedValue;

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
    Limit {
        source: "HAProxy configuration manual 5.2, `maxconn`; 4.2, `timeout queue`; src/queue.c".to_owned(),
        signatures: vec![
            log(timeout, Strength::Decisive),
            reached(metrics::QUEUED, 1.0, Strength::Supports),
            reached_of(metrics::SERVER_SESSIONS_MAX, metrics::SERVER_SESSIONS_LIMIT, 1.0, Strength::Supports),
        ],
        symptom: Symptom { errors: vec![ErrorKind::Status503], slow: true },
        remedy: Some(Remedy { note: Some(instead.to_owned()), ..raised(SERVER_MAXCONN.name, RemedyUnit::Count, 1.0) }),
        ..Limit::named("haproxy.server.maxconn", "haproxy", SERVER_MAXCONN.name)
    }
}

/// No server takes connections: nothing in HAProxy lifts that.
fn refusing(facts: &Facts) -> Limit {
    let written = facts.back.clone().unwrap_or_default();
    let back = SourcedValue { value: (), written, origin: Origin::Given };
    Limit {
        formula: format!(
            "the servers of `{}` refuse (503 after the retries), or close before they answer (502)",
            back.written
        ),
        source: "HAProxy configuration manual 8.5: termination states SC, SH, PH".to_owned(),
        signatures: vec![
            log(signature::SERVER_REFUSED, Strength::Decisive),
            log(signature::SERVER_CLOSED, Strength::Decisive),
            log(signature::SERVER_DOWN, Strength::Supports),
        ],
        symptom: errors(&[ErrorKind::Status502, ErrorKind::Status503]),
        ..backend::refusing("haproxy.backend", "(backend)", &back)
    }
}

/// The servers are slower than HAProxy is told to wait. The timeout ends the request; the slowness is the backend's.
fn silent(facts: &Facts) -> Option<Limit> {
    let held = facts.server_timeout.as_ref()?;
    Some(Limit {
        formula: format!("a server is never silent for {}: else HAProxy answers 504", held.value),
        source: "HAProxy configuration manual 4.2, `timeout server`; 8.5: termination state sH".to_owned(),
        signatures: vec![log(signature::SERVER_SILENT, Strength::Consistent)],
        ..backend::silent("haproxy.timeout.server", TIMEOUT_SERVER.directive, held)
    })
}

/// A tunnel on which nothing is said.
fn idle(facts: &Facts) -> Option<Limit> {
    let (setting, held) = facts.tunnel_timeout.as_ref()?;
    let (name, own) = (TIMEOUT_TUNNEL.directive, *setting == TIMEOUT_TUNNEL.directive);
    let limit = backend::idle(("haproxy", "a tunnel"), (TIMEOUT_TUNNEL.name, name), held, RemedyUnit::Time);
    Some(Limit {
        value: if own { limit.value } else { format!("not set: as {setting} {}", held.written) },
        formula: match own {
            true => limit.formula,
            false => format!(
                "a tunnel ends after {} without a byte: without timeout tunnel it is the shorter of timeout client and timeout \
                 server",
                held.value
            ),
        },
        source: "HAProxy configuration manual 4.2, `timeout tunnel`; 8.5: termination states cD, sD".to_owned(),
        signatures: vec![log(signature::TUNNEL_SILENT, Strength::Decisive)],
        ..limit
    })
}

/// Local ports towards the servers.
fn ports(facts: &Facts) -> Option<Limit> {
    let ports = backend::Ports {
        id: "haproxy.server.ports",
        way: "HAProxy to its servers",
        addresses: if facts.inet { facts.servers } else { 0 },
        noun: "server",
        range: facts.ports,
        signature: signature::PORTS,
        answer: ErrorKind::Status503,
    };
    ports.limit()
}
