//! Limits on clients: how many connections at once, how many a second.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Law, Limit, Remedy, RemedyUnit, Signature, Strength, Symptom};

use super::Facts;
use super::again::Passes;
use crate::haproxy::evidence::{metrics, signature};
use crate::haproxy::settings::{
    FRONTEND_MAXCONN, MAXCONN, MAXSESSRATE, MAXSSLCONN, MAXSSLRATE, RATE_LIMIT_SESSIONS, ULIMIT_N,
};
use crate::limits::{self, Descriptors, connections, errors, log, raised, reached_of, slots, valued};

/// Clients beyond a full process or frontend are not accepted: they wait in the kernel's queue, and hang.
fn waits() -> Symptom {
    Symptom { errors: vec![ErrorKind::Timeout, ErrorKind::ConnectTimeout], slow: true }
}

/// As many as may be: further ones are not accepted.
fn full(metric: &str, of: &str) -> Signature {
    reached_of(metric, of, 1.0, Strength::Decisive)
}

fn remedy(setting: &str, facts: &Facts, most: u64, by: String) -> Remedy {
    Remedy {
        ceiling: Some(Ceiling { value: most as f64, by }),
        note: Some(format!("each connection takes two descriptors; {} are HAProxy's own", facts.own)),
        ..raised(setting, RemedyUnit::Count, 1.0)
    }
}

/// A law of the whole process's connections, of which a client in flight takes one each time its request comes in.
fn passing(facts: &Facts, law: Law) -> Law {
    match (facts.passes.connections(), law) {
        (Some(times), Law::Slots { value, reserved, idle_cost, busy_cost, pools, soft }) => {
            Law::Slots { value, reserved, idle_cost, busy_cost: busy_cost * times, pools, soft }
        }
        _ => Law::Unknown,
    }
}

/// What is always so of `maxconn` of `global`: its signs and what clients see.
pub(crate) fn holding() -> Limit {
    Limit {
        source: "HAProxy src/listener.c: listener_accept (a full process stops accepting); src/haproxy.c: \
                 compute_ideal_maxconn"
            .to_owned(),
        signatures: vec![full(metrics::CONNECTIONS, metrics::MAXCONN)],
        symptom: waits(),
        ..Limit::named("haproxy.maxconn", "haproxy", MAXCONN.name)
    }
}

/// `maxconn` of `global`.
pub(super) fn maxconn(facts: &Facts) -> Limit {
    let value = facts.maxconn.value;
    let most = (facts.nofile_ceiling.value as u64).saturating_sub(facts.own) / 2;
    Limit {
        caps: "connections of clients at once, of all frontends".to_owned(),
        law: passing(facts, connections(value as f64, 1.0)),
        formula: if facts.maxconn_written {
            let one = if facts.passes == Passes::Times(1) { ": a client is one connection, idle or busy" } else { "" };
            format!("maxconn {value}{one}{}", facts.passes.said())
        } else {
            let own = facts.own;
            format!("({} descriptors - {own} of its own) / 2, at least 100{}", facts.available, facts.passes.said())
        },
        value: facts.maxconn.written.clone(),
        origin: facts.maxconn.origin.clone(),
        remedy: Some(remedy(
            MAXCONN.name,
            facts,
            most,
            format!("two descriptors a connection, {}", facts.nofile_ceiling.by),
        )),
        ..holding()
    }
}

/// Sockets that `maxconn` provides for: two for each of its connections, and HAProxy's own, of which not all are open. That is enough where a
/// client is a connection with one to a server; requests that share a connection (HTTP/2) have one to a server each.
pub(super) fn sockets(facts: &Facts) -> Option<Limit> {
    let maxconn = facts.maxconn.value as f64;
    // Its standard streams are open at least.
    let slack = facts.own.saturating_sub(3) as f64;
    (facts.shares && facts.servers > 0).then(|| Limit {
        caps: "sockets of clients and servers together".to_owned(),
        law: Law::Slots {
            value: maxconn,
            reserved: -slack / 2.0,
            idle_cost: 0.5,
            busy_cost: 1.0,
            pools: 1.0,
            soft: 1.0 - slack / 2.0 / maxconn,
        },
        formula: format!("2 x maxconn {maxconn} sockets, and up to {slack} that are set aside for HAProxy itself"),
        source:
            "HAProxy src/haproxy.c: global.maxsock; src/proto_tcp.c: tcp_connect_server, src/sock.c: sock_accept_conn"
                .to_owned(),
        signatures: vec![log(signature::SOCKETS, Strength::Decisive)],
        symptom: Symptom {
            errors: vec![super::answer::answer(facts, ErrorKind::Status503), ErrorKind::EofNew, ErrorKind::TlsClosed],
            slow: false,
        },
        value: facts.maxconn.written.clone(),
        origin: facts.maxconn.origin.clone(),
        remedy: Some(remedy(
            MAXCONN.name,
            facts,
            (facts.nofile_ceiling.value as u64).saturating_sub(facts.own) / 2,
            format!("two descriptors a connection, {}", facts.nofile_ceiling.by),
        )),
        ..Limit::named("haproxy.maxsock", "haproxy", MAXCONN.name)
    })
}

/// `maxconn` of the section that takes the connections, where it is below the process's.
pub(super) fn frontend(facts: &Facts) -> Option<Limit> {
    let held = facts.front_maxconn.as_ref().filter(|held| held.value < facts.maxconn.value)?;
    Some(Limit {
        caps: format!("connections of clients at once to `{}`", facts.front),
        law: connections(held.value as f64, 1.0),
        formula: format!("maxconn {} of `{}`", held.value, facts.front),
        source: "HAProxy src/listener.c: listener_accept (a full frontend stops accepting)".to_owned(),
        signatures: vec![full(metrics::SESSIONS, metrics::SESSIONS_LIMIT)],
        symptom: waits(),
        remedy: Some(remedy(
            FRONTEND_MAXCONN.name,
            facts,
            facts.maxconn.value,
            format!("maxconn {} of global", facts.maxconn.value),
        )),
        ..valued("haproxy.frontend.maxconn", "haproxy", FRONTEND_MAXCONN.name, held)
    })
}

/// `maxsslconn` of `global`, which counts connections to servers over TLS, too.
pub(super) fn secured(facts: &Facts) -> Option<Limit> {
    let held = facts.maxsslconn.as_ref()?;
    let onward = facts.encrypted || facts.partly_encrypted;
    let most = facts.maxconn.value;
    let (most, by) = match onward {
        true => (most.saturating_mul(2), format!("2 x maxconn {most} of global: each side of a connection may be TLS")),
        false => (most, format!("maxconn {most} of global")),
    };
    let (onward, then) = match onward {
        true => (
            ", and one more of each that is passed on to a server over TLS",
            if facts.http { "; one to a server fails: 500" } else { "; one to a server fails" },
        ),
        false => ("", ""),
    };
    let law = Law::Slots {
        value: held.value as f64,
        reserved: 0.0,
        idle_cost: 1.0,
        busy_cost: if facts.encrypted { 2.0 } else { 1.0 },
        pools: 1.0,
        soft: 1.0,
    };
    let mut symptom = waits();
    symptom.errors.push(ErrorKind::TlsTimeout);
    symptom.errors.extend((!then.is_empty()).then(|| super::answer::answer(facts, ErrorKind::Status500)));
    Some(Limit {
        // Measured on 2.6.12: its descriptor stays open, too, when the client has gone.
        caps: format!(
            "TLS connections at once; HAProxy 2.6 accepts a further one and neither answers nor closes it: its client hangs{then}"
        ),
        // Which server a client is passed on to is not known.
        law: if facts.partly_encrypted { Law::Unknown } else { passing(facts, law) },
        formula: format!("maxsslconn {}: one of each client{onward}{}", held.value, facts.passes.said()),
        source: "HAProxy src/ssl_sock.c: ssl_sock_init (CO_ER_SSL_TOO_MANY)".to_owned(),
        signatures: vec![full(metrics::TLS_CONNECTIONS, metrics::TLS_CONNECTIONS_LIMIT)],
        symptom,
        remedy: Some(remedy(MAXSSLCONN.name, facts, most, by)),
        ..valued("haproxy.maxsslconn", "haproxy", MAXSSLCONN.name, held)
    })
}

/// `maxconn` of the listener's line.
pub(super) fn bind(facts: &Facts) -> Option<Limit> {
    let held = facts.bind_maxconn.as_ref().filter(|held| held.value < facts.maxconn.value)?;
    Some(Limit {
        caps: "connections of clients at once to this address".to_owned(),
        law: connections(held.value as f64, 1.0),
        formula: format!("maxconn {} of the bind line; each of its addresses has as many", held.value),
        source: "HAProxy src/listener.c: listener_accept (a full listener stops accepting)".to_owned(),
        signatures: Vec::new(),
        symptom: waits(),
        ..valued("haproxy.bind.maxconn", "haproxy", "bind.maxconn", held)
    })
}

/// Descriptors of the process, where `ulimit-n` or the machine gives it fewer than its `maxconn` needs; else what they are.
pub(super) fn nofile(facts: &Facts) -> Limit {
    let by_maxconn = facts.nofile.value >= facts.needed();
    let descriptors = Descriptors {
        kept: None,
        value: &facts.nofile,
        reserved: facts.own,
        takes: facts.takes,
        pools: 1.0,
        uneven: false,
        logs: &[signature::DESCRIPTORS],
        metrics: (metrics::FDS, metrics::FD_LIMIT),
        answer: super::answer::answer(facts, ErrorKind::Status503),
    };
    let limit = descriptors.limit("haproxy.ulimit-n", "haproxy", ULIMIT_N.name);
    Limit {
        caps: "descriptors of the process: clients, servers, listeners, threads".to_owned(),
        law: passing(facts, limit.law.clone()),
        formula: format!(
            "{}{}{}",
            slots::descriptors(&facts.nofile, facts.own, facts.takes),
            facts.passes.said(),
            if by_maxconn { "; HAProxy asks for as many as maxconn needs, and never gives up any" } else { "" }
        ),
        source: "getrlimit(2) RLIMIT_NOFILE; HAProxy src/haproxy.c: init; src/sock.c: sock_accept_conn (EMFILE)"
            .to_owned(),
        remedy: (!by_maxconn).then(|| Remedy {
            ceiling: Some(facts.nofile_ceiling.clone()),
            note: Some(format!("without ulimit-n HAProxy takes the {} that its maxconn needs", facts.needed())),
            ..raised(ULIMIT_N.name, RemedyUnit::Count, 1.0)
        }),
        ..limit
    }
}

/// New connections (or sessions) a second: beyond that HAProxy accepts later.
pub(super) fn rates(facts: &Facts) -> impl Iterator<Item = Limit> {
    facts.rates.iter().map(|(setting, held)| {
        let (rate, most) = match *setting {
            name if name == RATE_LIMIT_SESSIONS.name => (metrics::FRONTEND_RATE, metrics::FRONTEND_RATE_LIMIT),
            name if name == MAXSESSRATE.name => (metrics::SESSION_RATE, metrics::SESSION_RATE_LIMIT),
            name if name == MAXSSLRATE.name => (metrics::TLS_RATE, metrics::TLS_RATE_LIMIT),
            _ => (metrics::CONNECTION_RATE, metrics::CONNECTION_RATE_LIMIT),
        };
        let tls = if *setting == MAXSSLRATE.name { "TLS " } else { "" };
        Limit {
            caps: format!("new {tls}connections a second; those beyond it wait to be accepted"),
            law: Law::NewConnections { value: held.value as f64 },
            formula: format!(
                "{} new {tls}connections/s ({setting}); requests on kept connections do not count",
                held.value
            ),
            source: "HAProxy src/listener.c: listener_accept; configuration manual 3.2 and 4.2".to_owned(),
            signatures: vec![reached_of(rate, most, 0.95, Strength::Decisive)],
            symptom: waits(),
            remedy: Some(raised(setting, RemedyUnit::Count, 1.0)),
            ..valued(&format!("haproxy.{setting}"), "haproxy", setting, held)
        }
    })
}

/// A client that is slower with its request than it may be. Only HTTP has requests.
pub(super) fn silent(facts: &Facts) -> Option<Limit> {
    let (setting, held) = facts.request_timeout.as_ref().filter(|_| facts.http)?;
    Some(Limit {
        caps: format!("clients that take longer than {} = {} to send a request", setting.directive, held.written),
        formula: format!(
            "the head of a request comes within {} ({}), else HAProxy answers 408",
            held.value, setting.directive
        ),
        source: "HAProxy configuration manual 4.2, `timeout http-request`; 8.5: termination state cR".to_owned(),
        signatures: vec![log(signature::CLIENT_SILENT, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status4xx]),
        remedy: Some(raised(setting.name, RemedyUnit::Time, 1.0)),
        ..valued("haproxy.timeout.http-request", "haproxy", setting.name, held)
    })
}

/// How long a connection is kept for a next request (configuration manual 4.2: `timeout http-keep-alive`, without it the time for a
/// request).
pub(super) fn kept(facts: &Facts) -> Option<Limit> {
    let (setting, held) = facts.keep_alive.as_ref().filter(|_| facts.http)?;
    let limit =
        limits::kept("haproxy", setting.name, held, "HAProxy configuration manual 4.2, `timeout http-keep-alive`");
    Some(Limit { id: "haproxy.timeout.http-keep-alive".to_owned(), ..limit })
}
