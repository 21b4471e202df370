//! Limits that show in Apache but lie behind it, or between the two.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Origin, Remedy, RemedyUnit, Strength, Symptom};

use super::{Facts, Upstream};
use crate::apache::evidence::signature;
use crate::limits::{counted, errors, log};

/// Every limit of the backend's side.
pub(super) fn all(facts: &Facts, upstream: &Upstream) -> Vec<Limit> {
    let mut all = vec![refusing(upstream), silent(facts)];
    all.extend(idle(facts));
    all.extend(ports(facts, upstream));
    all.extend(pool(facts, upstream));
    all
}

/// The backend does not take connections: nothing in Apache lifts that.
fn refusing(upstream: &Upstream) -> Limit {
    Limit {
        value: upstream.name.written.clone(),
        origin: upstream.name.origin.clone(),
        caps: "whether the backend takes connections".to_owned(),
        formula: "the backend refuses: Apache answers 503".to_owned(),
        source: "httpd modules/proxy/proxy_util.c: ap_proxy_connect_backend; mod_proxy_http.c: proxy_http_handler"
            .to_owned(),
        signatures: vec![log(signature::BACKEND_REFUSED, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status503]),
        ..Limit::named("apache.backend", "backend", "(backend)")
    }
}

/// The backend is slower than Apache is told to wait. The timeout ends the request; the slowness is the backend's.
fn silent(facts: &Facts) -> Limit {
    let (setting, held) = &facts.proxy_timeout;
    Limit {
        value: held.written.clone(),
        origin: held.origin.clone(),
        caps: "how long the backend may be silent".to_owned(),
        formula: format!("the backend is never silent for {} ({setting}): else Apache answers 502", held.value),
        source: "httpd modules/proxy/mod_proxy_http.c: ap_proxy_http_process_response (AH01102)".to_owned(),
        signatures: vec![log(signature::BACKEND_SILENT, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status502, ErrorKind::Status504]),
        ..Limit::named("apache.ProxyTimeout", "backend", setting)
    }
}

/// A tunnel on which nothing is said. Nothing in a log tells of it: the client knows how long it had been silent.
fn idle(facts: &Facts) -> Option<Limit> {
    let (setting, held) = facts.tunnel_timeout()?;
    let (name, other) = &facts.proxy_timeout;
    Some(Limit {
        value: held.written.clone(),
        origin: held.origin.clone(),
        caps: "how long a tunnel may be silent in both directions".to_owned(),
        law: Law::Idle { after: held.value.as_secs_f64() },
        formula: match name.as_str() {
            "Timeout" => format!("a tunnel ends after {} (Timeout) without a byte", held.value),
            _ => format!(
                "a tunnel ends after max(Timeout {}, {name} {}) = {} without a byte",
                facts.timeout.value, other.value, held.value
            ),
        },
        source: "httpd modules/proxy/mod_proxy_http.c: proxy_http_handler (the longer of the two); proxy_util.c: \
                 ap_proxy_tunnel_run. KeepAliveTimeout and RequestReadTimeout do not count for a tunnel"
            .to_owned(),
        symptom: errors(&[ErrorKind::ClosedAbnormally]),
        remedy: Some(Remedy {
            setting: setting.to_owned(),
            unit: RemedyUnit::Seconds,
            step: 1.0,
            ceiling: None,
            note: Some(
                "a longer time keeps the workers of clients that are gone for as long; pings of either side, more often than \
                 it, do without the change"
                    .to_owned(),
            ),
        }),
        ..Limit::named("apache.idle", "apache", setting)
    })
}

/// Local ports towards the backend.
fn ports(facts: &Facts, upstream: &Upstream) -> Option<Limit> {
    upstream.address?;
    let (first, last) = facts.ports;
    let ports = u64::from(last.saturating_sub(first)) + 1;
    Some(Limit {
        value: format!("{first} {last}"),
        origin: Origin::Machine("/proc/sys/net/ipv4/ip_local_port_range".to_owned()),
        caps: "connections from Apache to its backend at once, those in TIME_WAIT included".to_owned(),
        law: Law::Slots { value: ports as f64, reserved: 0.0, idle_cost: 0.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 },
        formula: format!("{ports} local ports x 1 backend"),
        source: "ip(7) ip_local_port_range: one port for each (source, destination address, destination port)"
            .to_owned(),
        signatures: vec![log(signature::BACKEND_PORTS, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status503]),
        ..Limit::named("apache.backend.ports", "kernel", "net.ipv4.ip_local_port_range")
    })
}

/// `max=` of the pass, where it is below the threads of a child: a request waits for a free connection, for ever unless
/// `acquire` ends it.
fn pool(facts: &Facts, upstream: &Upstream) -> Option<Limit> {
    let held = upstream.max.as_ref().filter(|held| held.value < facts.threads())?;
    let children = facts.children();
    Some(Limit {
        value: held.written.clone(),
        origin: held.origin.clone(),
        caps: "connections of each child process to the backend at once".to_owned(),
        law: Law::Slots {
            value: held.value as f64,
            reserved: 0.0,
            idle_cost: 0.0,
            busy_cost: 1.0,
            pools: children as f64,
            soft: 1.0,
        },
        formula: format!("max {} x {} (each child has a pool of its own)", held.value, counted(children, "child")),
        source:
            "httpd modules/proxy/proxy_util.c: ap_proxy_initialize_worker, ap_proxy_acquire_connection (AH00941 after \
                 `acquire`, else it waits)"
                .to_owned(),
        signatures: vec![log(signature::POOL_EXHAUSTED, Strength::Decisive)],
        symptom: match upstream.acquire {
            true => errors(&[ErrorKind::Status503]),
            false => Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        },
        remedy: Some(Remedy {
            setting: "ProxyPass.max".to_owned(),
            unit: RemedyUnit::Count,
            step: 1.0,
            ceiling: None,
            note: Some("without `max` each child may have as many connections as threads".to_owned()),
        }),
        ..Limit::named("apache.ProxyPass.max", "apache", "ProxyPass.max")
    })
}
