//! Limits that show in HAProxy but lie behind it, or between the two.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Origin, Remedy, RemedyUnit, ServerPlaces, Sign, Signature, Strength, Symptom};

use super::Facts;
use super::answer::answer;
use super::check::Check;
use super::{elsewhere, observe, several};
use crate::haproxy::evidence::{metrics, of_server, signature};
use crate::haproxy::settings::{
    SERVER_MAXCONN, SERVER_MAXQUEUE, SERVER_MINCONN, TIMEOUT_CONNECT, TIMEOUT_SERVER, TIMEOUT_TUNNEL,
};
use crate::limits::{at_once, backend, errors, grew, log, logged_unserved, raised_onward, reached, reached_of, valued};
use crate::settings::SourcedValue;

/// Every limit of the servers' side, but for their `maxconn`.
pub(super) fn all(facts: &Facts) -> Vec<Limit> {
    if facts.back.is_none() {
        return Vec::new();
    }
    // Of signs that both have, the first one's say counts.
    let mut all: Vec<Limit> = unreachable(facts).into_iter().chain(unsecured(facts)).collect();
    all.push(refusing(facts));
    all.extend(failed_check(facts));
    all.extend(checked_after_answers(facts));
    all.extend(facts.observed.as_ref().map(|observed| observe::limit(observed, answer(facts, ErrorKind::Status503))));
    all.extend(several::one(facts));
    all.extend(several::answering(facts));
    all.extend(unfit(facts));
    all.extend(slow_to_accept(facts));
    all.extend(silent(facts));
    all.extend(idle(facts));
    all.extend(ports(facts));
    all
}

/// `maxconn`, or `minconn`, of the servers. Requests beyond them wait in the queue, those that wait too long are answered 503.
pub(super) fn server(facts: &Facts) -> Option<Limit> {
    let held = facts.capacity.as_ref()?;
    let known = facts.doubt.is_none();
    let wait = facts.queue_timeout.as_ref();
    let refused = if facts.http { "then 503" } else { "then they are closed" };
    let until = match wait {
        // It is asked where the others are full: whoever it refuses does not wait.
        _ if facts.absent.asked => format!("a further one is sent to the server that is not there, {refused}"),
        None => "further ones wait for ever (no timeout queue, no timeout connect)".to_owned(),
        Some((setting, held)) => format!("further ones wait at most {} ({setting}), {refused}", held.value),
    };
    let what = if facts.http { "requests" } else { "connections" };
    let instead = match facts.absent.asked {
        true => format!(
            "or start the server at {}, take its line out, or give it `check`: only what it refuses fails; without it requests wait for the others",
            facts.absent.at.join(", ")
        ),
        false => elsewhere::more_servers(facts.spread),
    };
    let limit = queueing(signature::QUEUE_TIMEOUT, &instead);
    // Where the share grows with the load, it is what a server gets at least that is short.
    let (id, setting) = match held.full {
        Some(_) => ("haproxy.server.minconn", SERVER_MINCONN.name),
        None => ("haproxy.server.maxconn", SERVER_MAXCONN.name),
    };
    Some(Limit {
        id: id.to_owned(),
        setting: setting.to_owned(),
        value: held.written.clone(),
        origin: held.origin.clone(),
        caps: match facts.absent.asked {
            true => format!("{what} that the servers that are there get at once"),
            false => format!("{what} that the servers get at once; further ones wait in HAProxy's queue"),
        },
        law: match known {
            true if facts.absent.asked => held.at_once(facts.http),
            true => held.law(facts.http, wait.map(|(_, held)| held.value.as_secs_f64())),
            false => Law::Unknown,
        },
        formula: format!("{}; {until}{}{}", held.formula.replace("requests", what), absent(facts), unsure(facts)),
        symptom: Symptom { errors: vec![answer(facts, ErrorKind::Status503)], slow: !facts.absent.asked },
        signatures: limit.signatures.into_iter().chain(refused_by_absent(facts)).collect(),
        servers: held.each.iter().filter(|_| facts.http && !facts.absent.asked).map(places).collect(),
        remedy: limit.remedy.filter(|_| known).map(|remedy| Remedy {
            setting: setting.to_owned(),
            parts: held.parts as f64,
            ..remedy
        }),
        ..limit
    })
}

/// The sign that the others have no room: a server that is not there refuses what no other takes.
fn refused_by_absent(facts: &Facts) -> impl Iterator<Item = Signature> {
    let absent = facts.each.iter().filter(|(_, held)| facts.absent.asked && facts.absent.at.contains(&held.written));
    absent.map(|(name, _)| grew(&format!("haproxy.{}", of_server(name, "connect_errors_total")), Strength::Supports))
}

/// One server's places, and where its own time is told.
fn places((name, at_once): &(String, u64)) -> ServerPlaces {
    let metric = |what: &str| format!("haproxy.{}", of_server(name, what));
    ServerPlaces {
        at_once: *at_once as f64,
        time: metric("response_time"),
        answers: metric(metrics::ANSWERS),
        failures: ["connect_errors_total", "response_errors_total"].map(metric).to_vec(),
    }
}

/// Requests that may wait for the one server that they can go to: those beyond are refused at once.
pub(super) fn queue(facts: &Facts) -> Option<Limit> {
    let (held, at_once) = facts.queue.as_ref().filter(|_| facts.http)?;
    let doubt = facts.doubt.is_some();
    let value = held.value as f64;
    let law = at_once.filter(|_| !doubt).map(|maxconn| Law::Slots {
        value,
        reserved: -(maxconn as f64),
        idle_cost: 0.0,
        busy_cost: 1.0,
        pools: 1.0,
        soft: 1.0,
    });
    Some(Limit {
        caps: "requests that may wait for one server, where they can go to no other; further ones are answered 503"
            .to_owned(),
        formula: match (&law, at_once) {
            (Some(_), Some(maxconn)) => {
                format!("maxconn {maxconn} in service + maxqueue {value} that wait{}", absent(facts))
            }
            _ => {
                format!("maxqueue {value} for each server; cannot tell how many requests go to which{}", unsure(facts))
            }
        },
        source:
            "HAProxy configuration manual 5.2, `maxqueue`; src/backend.c: assign_server_and_queue (SRV_STATUS_FULL)"
                .to_owned(),
        signatures: vec![log(signature::QUEUE_FULL, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status503]),
        remedy: law.is_some().then(|| Remedy {
            note: Some("they wait then; how many are served at once is maxconn of the server".to_owned()),
            ..raised_onward(SERVER_MAXQUEUE.name)
        }),
        law: law.unwrap_or(Law::Unknown),
        ..valued("haproxy.server.maxqueue", "haproxy", SERVER_MAXQUEUE.name, held)
    })
}

/// The same of other backends that requests may go to: no number says how many do.
pub(super) fn others(facts: &Facts) -> impl Iterator<Item = Limit> {
    let what = if facts.http { "requests" } else { "connections" };
    facts.others.iter().map(move |(name, held)| Limit {
        value: held.written.clone(),
        origin: held.origin.clone(),
        caps: format!("{what} that the servers of `{name}` get at once; further ones wait in HAProxy's queue"),
        formula: format!("{}{}", held.formula.replace("requests", what), unsure(facts)),
        symptom: Symptom { errors: vec![answer(facts, ErrorKind::Status503)], slow: true },
        signatures: elsewhere::queued(name),
        source: "HAProxy configuration manual 5.2, `maxconn`; 4.2, `use_backend`".to_owned(),
        ..Limit::named(&format!("haproxy.server.maxconn.{name}"), "haproxy", SERVER_MAXCONN.name)
    })
}

/// What is said of servers that are not counted.
fn absent(facts: &Facts) -> String {
    backend::nobody_at(&facts.absent.at)
}

/// What is said where it is not decided which requests come there.
fn unsure(facts: &Facts) -> String {
    let doubt = facts.doubt.as_ref();
    doubt.map_or_else(String::new, |rules| {
        format!(
            "; cannot tell which of these {} come here: {rules} decides",
            if facts.http { "requests" } else { "connections" }
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
        remedy: Some(Remedy { note: Some(instead.to_owned()), ..raised_onward(SERVER_MAXCONN.name) }),
        ..Limit::named("haproxy.server.maxconn", "haproxy", SERVER_MAXCONN.name)
    }
}

/// No server takes connections: nothing in HAProxy lifts that.
fn refusing(facts: &Facts) -> Limit {
    let written = facts.back.clone().unwrap_or_default();
    let back = SourcedValue { value: (), written, origin: Origin::Given };
    let formula = match facts.http {
        true => format!(
            "the servers of `{}` refuse (503 after the retries), or close before they answer (502)",
            back.written
        ),
        false => {
            format!("the servers of `{}` refuse, or close early: HAProxy closes the connection then", back.written)
        }
    };
    let kinds = if facts.http { &[ErrorKind::Status502, ErrorKind::Status503][..] } else { &[ErrorKind::EofNew] };
    // Of several servers it is said which one refuses: see `several::one`.
    let strength = if facts.each.len() > 1 { Strength::Supports } else { Strength::Decisive };
    let mut signatures = vec![log(signature::SERVER_REFUSED, strength), log(signature::SERVER_CLOSED, strength)];
    signatures.extend(facts.encrypted.then(|| log(signature::SERVER_TLS, strength)));
    // A check that goes elsewhere says nothing of how requests fare.
    if facts.check.as_ref().is_some_and(|check| !check.elsewhere) {
        signatures.extend(unconnected());
    }
    Limit {
        formula,
        source: "HAProxy configuration manual 8.5: termination states SC, SH".to_owned(),
        signatures,
        symptom: errors(kinds),
        ..backend::refusing("haproxy.backend", "(backend)", &back)
    }
}

/// Connections of health checks failed.
fn unconnected() -> [Signature; 4] {
    [
        log(signature::NO_SERVER_BY_CONNECT, Strength::Decisive),
        log(signature::NO_SERVER_BY_REFUSED, Strength::Decisive),
        log(signature::CHECK_UNCONNECTED, Strength::Supports),
        log(signature::CHECK_REFUSED, Strength::Supports),
    ]
}

/// The one server cannot be connected to at all.
fn unreachable(facts: &Facts) -> Option<Limit> {
    let place = facts.server.as_ref()?;
    let mut signatures = vec![logged_unserved(signature::SERVER_REFUSED, Strength::Decisive)];
    if let Some(check) = &facts.check {
        // A check that goes elsewhere says nothing of the server's address.
        if check.elsewhere {
            return None;
        }
        signatures.push(logged_unserved(signature::NO_SERVER_BY_REFUSED, Strength::Decisive));
        signatures.push(logged_unserved(signature::CHECK_REFUSED, Strength::Decisive));
        signatures.push(logged_unserved(signature::NO_SERVER_BY_CONNECT, Strength::Consistent));
        signatures.push(logged_unserved(signature::CHECK_UNCONNECTED, Strength::Consistent));
    }
    Some(Limit {
        formula: match facts.http {
            true => "a connect that fails is answered with 503 after the retries".to_owned(),
            false => "where a connect fails, HAProxy closes the client's connection after the retries".to_owned(),
        },
        source: "HAProxy configuration manual 8.5: termination state SC with a server".to_owned(),
        signatures,
        symptom: errors(&[answer(facts, ErrorKind::Status503)]),
        ..backend::unreachable("haproxy.server.address", "haproxy", "server", place)
    })
}

/// The handshake with the one server, to which TLS is spoken, fails each time.
fn unsecured(facts: &Facts) -> Option<Limit> {
    let place = facts.server.as_ref().filter(|_| facts.encrypted)?;
    Some(Limit {
        formula: "a handshake that fails is answered with 503 after the retries, one whose certificate is refused afterwards (TLS 1.3) with 502".to_owned(),
        source:
            "HAProxy configuration manual 8.5: termination states SC and SH with a server; src/connection.c: conn_err_code_str"
                .to_owned(),
        signatures: vec![logged_unserved(signature::SERVER_TLS, Strength::Decisive)],
        symptom: errors(&[answer(facts, ErrorKind::Status503), answer(facts, ErrorKind::Status502)]),
        ..backend::unsecured("haproxy.server.tls", "haproxy", "server", place)
    })
}

/// The check, which fails where requests need not.
fn failed_check(facts: &Facts) -> Option<Limit> {
    let Check { line, elsewhere } = facts.check.as_ref()?;
    let mut signatures = failed_checks(false).to_vec();
    signatures.push(log(signature::NO_SERVER, Strength::Consistent));
    if *elsewhere {
        signatures.extend(unconnected());
    }
    Some(Limit {
        caps: format!(
            "`{}` failed, and a server whose check fails gets no requests (HAProxy's log has the check's answer: the servers are not well, the \
             check asks for the wrong thing, or it waits behind the load's requests for longer than `timeout check` or `inter` lets it)",
            line.written
        ),
        formula: "no number says when".to_owned(),
        source: "HAProxy configuration manual 5.2, `check`; 8.5: termination state SC without a server; src/server.c: srv_update_status"
            .to_owned(),
        signatures,
        symptom: Symptom { errors: vec![answer(facts, ErrorKind::Status503)], slow: false },
        ..valued("haproxy.check", "the health check", "health check", line)
    })
}

/// A check that failed when the servers had answered requests with errors already, or in the same look at their counters: which came first is not
/// known then.
fn checked_after_answers(facts: &Facts) -> Option<Limit> {
    let Check { line, .. } = facts.check.as_ref().filter(|_| facts.http)?;
    Some(Limit {
        caps: format!(
            "its servers answered requests with errors themselves, and `{}` failed after that, or so shortly before that HAProxy's counters cannot tell \
             which came first; that takes servers out until they pass it again (while all are out, HAProxy answers 503)",
            line.written
        ),
        formula: "no number says when".to_owned(),
        source: "HAProxy management manual 9.1: hrsp_4xx, hrsp_5xx of a server; configuration manual 5.2, `check`; 8.5: termination state SC without a \
                 server"
            .to_owned(),
        signatures: failed_checks(true).to_vec(),
        symptom: errors(&backend::ERROR_STATUSES),
        ..Limit::named("haproxy.server.answers.checked", "backend", "(answers before a check failed)")
    })
}

/// Health checks failed by what was answered, when servers had answered requests with errors already, or had not.
fn failed_checks(answered: bool) -> [Signature; 2] {
    let one = |name: &str, strength| Signature {
        sign: Sign::LoggedGrown {
            name: name.to_owned(),
            since: signature::CHECK_FAILED.to_owned(),
            metric: metrics::ALL_FAILED_ANSWERS.to_owned(),
            grew: answered,
        },
        strength,
    };
    [one(signature::NO_SERVER_BY_CHECK, Strength::Decisive), one(signature::CHECK_FAILED, Strength::Supports)]
}

/// HAProxy does not pass on what a server answers, and answers 502: the response is none, its head is too large, or a rule denies it.
fn unfit(facts: &Facts) -> Option<Limit> {
    let written = facts.back.clone().unwrap_or_default();
    let back = SourcedValue { value: (), written, origin: Origin::Given };
    facts.http.then(|| Limit {
        caps: "it answers what HAProxy does not pass on (an invalid response, a head larger than tune.bufsize less tune.maxrewrite, or one that a \
               rule denies)"
            .to_owned(),
        formula: format!("the servers of `{}` answer valid responses whose heads fit: else HAProxy answers 502", back.written),
        source: "HAProxy configuration manual 8.5: termination state PH; 3.2, `tune.bufsize`".to_owned(),
        signatures: vec![log(signature::RESPONSE_REFUSED, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status502]),
        ..valued("haproxy.response", "backend", "(response)", &back)
    })
}

/// The servers are slower than HAProxy is told to wait. The timeout ends the request; the slowness is the backend's.
fn silent(facts: &Facts) -> Option<Limit> {
    let held = facts.server_timeout.as_ref()?;
    let then = if facts.http { "answers 504" } else { "closes the connection" };
    let said = if facts.http { signature::SERVER_SILENT } else { signature::TUNNEL_SILENT };
    Some(Limit {
        formula: format!("a server is never silent for {}: else HAProxy {then}", held.value),
        source: "HAProxy configuration manual 4.2, `timeout server`; 8.5: termination states sH, sD".to_owned(),
        signatures: vec![log(said, Strength::Consistent)],
        symptom: Symptom { errors: vec![answer(facts, ErrorKind::Status504)], slow: true },
        ..backend::silent("haproxy.timeout.server", TIMEOUT_SERVER.directive, held)
    })
}

/// A server that does not accept in time: its accept queue is full, or it is not there at all.
fn slow_to_accept(facts: &Facts) -> Option<Limit> {
    let held = facts.connect_timeout.as_ref()?;
    let then = if facts.http { "HAProxy answers 503" } else { "the connection is closed" };
    Some(Limit {
        caps: format!("it does not accept connections within {} = {}", TIMEOUT_CONNECT.directive, held.written),
        formula: format!("a connect to a server never lasts {}: else {then} once its retries are used up", held.value),
        source: "HAProxy configuration manual 4.2, `timeout connect`; 8.5: termination state sC".to_owned(),
        signatures: vec![log(signature::SERVER_SLOW_CONNECT, Strength::Decisive)],
        symptom: Symptom { errors: vec![answer(facts, ErrorKind::Status503)], slow: true },
        ..valued(
            "haproxy.timeout.connect",
            "backend",
            &format!("slower to accept than {}", TIMEOUT_CONNECT.directive),
            held,
        )
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
        addresses: facts.addresses,
        noun: "server",
        range: facts.ports,
        signature: signature::PORTS,
        answer: answer(facts, ErrorKind::Status503),
    };
    // Those of a `source` are counted for themselves.
    let mut limit = ports.limit().filter(|_| facts.source.is_none())?;
    limit.signatures.push(log(signature::RESOURCE, Strength::Supports));
    Some(limit)
}

/// A request that finds none free is answered 503 after the retries. Measured on 2.6: six ports, 14 requests at once: 6 x 200, 8 x 503.
pub(super) fn sources(facts: &Facts) -> Option<Limit> {
    let held = facts.source.as_ref()?;
    let law = match held.value[..] {
        [ports] if facts.doubt.is_none() => at_once(ports as f64, 1.0),
        _ => Law::Unknown,
    };
    let each: Vec<String> = held.value.iter().map(u64::to_string).collect();
    let shared = if held.value.len() > 1 { "; cannot tell how many go to which server" } else { "" };
    Some(Limit {
        caps: "connections to a server at once: each has one of these local ports; where none is free, 503 after the retries"
            .to_owned(),
        law,
        formula: format!("{} local ports of `source`{shared}", each.join(" + ")),
        source: "HAProxy configuration manual 5.2, `source`; src/proto_tcp.c: port_range_alloc_port".to_owned(),
        signatures: vec![log(signature::PORTS, Strength::Supports), log(signature::RESOURCE, Strength::Supports)],
        symptom: errors(&[answer(facts, ErrorKind::Status503)]),
        ..valued("haproxy.server.source", "haproxy", "server.source", held)
    })
}
