//! Limits that show in nginx but lie behind it, or between the two.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Limit, Remedy, RemedyUnit, Strength};

use super::{Facts, Upstream};
use crate::limits::{at_once, backend, counted, errors, log, raised, valued};
use crate::nginx::evidence::signature;
use crate::nginx::settings::{PROXY_READ_TIMEOUT, UPSTREAM_KEEPALIVE, UPSTREAM_MAX_CONNS};
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
        formula: "the upstream refuses, closes, or has a full accept queue: nginx answers 502".to_owned(),
        source: "nginx src/http/ngx_http_upstream.c: ngx_http_upstream_next, ngx_http_upstream_connect".to_owned(),
        signatures: vec![
            log(signature::UPSTREAM_REFUSED, Strength::Decisive),
            log(signature::UPSTREAM_QUEUE_FULL, Strength::Decisive),
            log(signature::UPSTREAM_CLOSED, Strength::Decisive),
            log(signature::UPSTREAM_NONE_LIVE, Strength::Supports),
        ],
        ..backend::refusing("nginx.upstream", "(upstream)", &upstream.name)
    }
}

/// The upstream is slower than nginx is told to wait. The timeout ends the request; the slowness is the backend's.
fn silent(facts: &Facts) -> Limit {
    Limit {
        formula: format!(
            "the upstream accepts within {} (proxy_connect_timeout) and is never silent for {} (proxy_read_timeout)",
            facts.connect_timeout.value, facts.read_timeout.value
        ),
        source: "nginx src/http/ngx_http_upstream.c: ngx_http_upstream_process_header (504)".to_owned(),
        signatures: vec![
            log(signature::UPSTREAM_TIMEOUT, Strength::Consistent),
            log(signature::UPSTREAM_CONNECT_TIMEOUT, Strength::Consistent),
        ],
        ..backend::silent("nginx.proxy_timeouts", PROXY_READ_TIMEOUT.name, &facts.read_timeout)
    }
}

/// A WebSocket on which nothing is said. At its usual level the log says nothing of it: the client knows how long it had been silent.
fn idle(facts: &Facts) -> Limit {
    let setting = PROXY_READ_TIMEOUT.name;
    Limit {
        source: "nginx src/http/ngx_http_upstream.c: ngx_http_upstream_process_upgraded".to_owned(),
        ..backend::idle(("nginx", "a WebSocket"), (setting, setting), &facts.read_timeout, RemedyUnit::Seconds)
    }
}

/// Local ports towards the upstream's addresses.
fn ports(facts: &Facts, upstream: &Upstream) -> Option<Limit> {
    let limit = backend::Ports {
        id: "nginx.upstream.ports",
        way: "nginx to its upstream",
        addresses: upstream.addresses.len() as u64,
        noun: "upstream server",
        range: facts.ports,
        signature: signature::UPSTREAM_PORTS,
        answer: ErrorKind::Status502,
    }
    .limit()?;
    let kept = Remedy {
        note: Some("needs proxy_http_version 1.1 and an empty Connection header to the upstream".to_owned()),
        ..raised(UPSTREAM_KEEPALIVE.name, RemedyUnit::Count, 16.0)
    };
    Some(Limit {
        source: limit.source + "; nginx answers 502",
        remedy: upstream.keepalive.is_none().then_some(kept),
        ..limit
    })
}

/// `max_conns` of the upstream's servers.
fn max_conns(facts: &Facts, upstream: &Upstream, held: &SourcedValue<f64>) -> Limit {
    let counts = if upstream.shared { 1 } else { u64::from(facts.workers.value) };
    let servers = u64::from(upstream.servers);
    Limit {
        caps: "connections to the upstream's servers at once".to_owned(),
        law: at_once(held.value, (counts * servers) as f64),
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
        remedy: Some(raised(UPSTREAM_MAX_CONNS.name, RemedyUnit::Count, 1.0)),
        ..valued("nginx.upstream.max_conns", "nginx", UPSTREAM_MAX_CONNS.name, held)
    }
}
