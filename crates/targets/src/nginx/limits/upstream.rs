//! Limits that show in nginx but lie behind it, or between the two.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Origin, Remedy, RemedyUnit, Strength};

use super::{Facts, Upstream};
use crate::limits::{counted, errors, log};
use crate::nginx::evidence::signature;
use crate::settings::SourcedValue;

/// Every limit of the upstream side.
pub(super) fn all(facts: &Facts, upstream: &Upstream) -> Vec<Limit> {
    let mut all = vec![refusing(upstream), silent(facts)];
    all.extend(facts.upgrades.then(|| idle(facts)));
    all.extend(ports(facts, upstream));
    all.extend(upstream.max_conns.as_ref().map(|held| max_conns(facts, upstream, held)));
    all
}

/// The upstream does not take connections, or closes them unanswered: nothing in nginx lifts that.
fn refusing(upstream: &Upstream) -> Limit {
    Limit {
        id: "nginx.upstream".to_owned(),
        subject: "backend".to_owned(),
        setting: "(upstream)".to_owned(),
        value: upstream.name.written.clone(),
        origin: upstream.name.origin.clone(),
        caps: "it refuses connections, or closes them unanswered".to_owned(),
        law: Law::Unknown,
        formula: "the upstream refuses, closes, or has a full accept queue: nginx answers 502".to_owned(),
        source: "nginx src/http/ngx_http_upstream.c: ngx_http_upstream_next, ngx_http_upstream_connect".to_owned(),
        signatures: vec![
            log(signature::UPSTREAM_REFUSED, Strength::Decisive),
            log(signature::UPSTREAM_QUEUE_FULL, Strength::Decisive),
            log(signature::UPSTREAM_CLOSED, Strength::Decisive),
            log(signature::UPSTREAM_NONE_LIVE, Strength::Supports),
        ],
        symptom: errors(&[ErrorKind::Status502]),
        remedy: None,
    }
}

/// The upstream is slower than nginx is told to wait. The timeout ends the request; the slowness is the backend's.
fn silent(facts: &Facts) -> Limit {
    Limit {
        id: "nginx.proxy_timeouts".to_owned(),
        subject: "backend".to_owned(),
        setting: "slower than proxy_read_timeout".to_owned(),
        value: facts.read_timeout.written.clone(),
        origin: facts.read_timeout.origin.clone(),
        caps: format!(
            "it is slower than proxy_read_timeout = {} allows (a longer one makes clients wait instead of fail)",
            facts.read_timeout.written
        ),
        law: Law::Unknown,
        formula: format!(
            "the upstream accepts within {} (proxy_connect_timeout) and is never silent for {} (proxy_read_timeout)",
            facts.connect_timeout.value, facts.read_timeout.value
        ),
        source: "nginx src/http/ngx_http_upstream.c: ngx_http_upstream_process_header (504)".to_owned(),
        signatures: vec![
            log(signature::UPSTREAM_TIMEOUT, Strength::Consistent),
            log(signature::UPSTREAM_CONNECT_TIMEOUT, Strength::Consistent),
        ],
        symptom: genkai_model::limit::Symptom { errors: vec![ErrorKind::Status504], slow: true },
        remedy: None,
    }
}

/// A WebSocket on which nothing is said. At its usual level the log says nothing of it: the client knows how long it had been silent.
fn idle(facts: &Facts) -> Limit {
    let held = &facts.read_timeout;
    Limit {
        value: held.written.clone(),
        origin: held.origin.clone(),
        caps: "how long a WebSocket may be silent in both directions".to_owned(),
        law: Law::Idle { after: held.value.as_secs_f64() },
        formula: format!("a WebSocket ends after {} (proxy_read_timeout) without a byte", held.value),
        source: "nginx src/http/ngx_http_upstream.c: ngx_http_upstream_process_upgraded".to_owned(),
        symptom: errors(&[ErrorKind::ClosedAbnormally]),
        remedy: Some(Remedy {
            setting: "proxy_read_timeout".to_owned(),
            unit: RemedyUnit::Seconds,
            step: 1.0,
            ceiling: None,
            note: Some("pings of either side, more often than it, do without the change".to_owned()),
        }),
        ..Limit::named("nginx.idle", "nginx", "proxy_read_timeout")
    }
}

/// Local ports towards the upstream's addresses.
fn ports(facts: &Facts, upstream: &Upstream) -> Option<Limit> {
    let addresses = upstream.addresses.len() as u64;
    if addresses == 0 {
        return None;
    }
    let (first, last) = facts.ports;
    let ports = u64::from(last.saturating_sub(first)) + 1;
    Some(Limit {
        id: "nginx.upstream.ports".to_owned(),
        subject: "kernel".to_owned(),
        setting: "net.ipv4.ip_local_port_range".to_owned(),
        value: format!("{first} {last}"),
        origin: Origin::Machine("/proc/sys/net/ipv4/ip_local_port_range".to_owned()),
        caps: "connections from nginx to its upstream at once, those in TIME_WAIT included".to_owned(),
        law: Law::Slots {
            value: (ports * addresses) as f64,
            reserved: 0.0,
            idle_cost: 0.0,
            busy_cost: 1.0,
            pools: 1.0,
            soft: 1.0,
        },
        formula: format!("{ports} local ports x {}", counted(addresses, "upstream server")),
        source: "ip(7) ip_local_port_range: one port for each (source, destination address, destination port); nginx \
                 answers 502"
            .to_owned(),
        signatures: vec![log(signature::UPSTREAM_PORTS, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status502]),
        remedy: upstream.keepalive.is_none().then(|| Remedy {
            setting: "upstream.keepalive".to_owned(),
            unit: RemedyUnit::Count,
            step: 16.0,
            ceiling: None,
            note: Some("needs proxy_http_version 1.1 and an empty Connection header to the upstream".to_owned()),
        }),
    })
}

/// `max_conns` of the upstream's servers.
fn max_conns(facts: &Facts, upstream: &Upstream, held: &SourcedValue<f64>) -> Limit {
    let counts = if upstream.shared { 1 } else { u64::from(facts.workers.value) };
    let servers = u64::from(upstream.servers);
    Limit {
        id: "nginx.upstream.max_conns".to_owned(),
        subject: "nginx".to_owned(),
        setting: "upstream.max_conns".to_owned(),
        value: held.written.clone(),
        origin: held.origin.clone(),
        caps: "connections to the upstream's servers at once".to_owned(),
        law: Law::Slots {
            value: held.value,
            reserved: 0.0,
            idle_cost: 0.0,
            busy_cost: 1.0,
            pools: (counts * servers) as f64,
            soft: 1.0,
        },
        formula: if upstream.shared {
            format!("{} x {} (the group has a zone)", counted(servers, "server"), held.value)
        } else {
            let (servers, workers) = (counted(servers, "server"), counted(counts, "worker"));
            format!("{servers} x {} x {workers} (no zone: each worker counts alone)", held.value)
        },
        source: "nginx src/http/ngx_http_upstream_round_robin.c: ngx_http_upstream_get_round_robin_peer (busy: 502)"
            .to_owned(),
        signatures: vec![log(signature::UPSTREAM_NONE_LIVE, Strength::Supports)],
        symptom: errors(&[ErrorKind::Status502]),
        remedy: Some(Remedy {
            setting: "upstream.max_conns".to_owned(),
            unit: RemedyUnit::Count,
            step: 1.0,
            ceiling: None,
            note: None,
        }),
    }
}
