//! Limits that show in Caddy but lie behind it, or between the two.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Answers, Law, Limit, Remedy, RemedyUnit, Strength, Symptom};
use genkai_model::units::Span;

use super::Facts;
use crate::caddy::evidence::{metrics, of_upstream, signature};
use crate::caddy::settings::{DIAL_TIMEOUT, FAIL_DURATION, MAX_FAILS, READ_TIMEOUT, RESPONSE_HEADER_TIMEOUT, Setting};
use crate::limits::backend::Place;
use crate::limits::{backend, errors, log, logged_unserved, raised, valued};
use crate::settings::SourcedValue;

/// Every limit of the upstreams' side, but for how many requests they get.
pub(super) fn all(facts: &Facts) -> Vec<Limit> {
    if facts.upstreams.written.is_empty() {
        return Vec::new();
    }
    // Of signs that both have, the first one's say counts.
    let mut all: Vec<Limit> = facts.lone.iter().map(unreachable).collect();
    all.extend(facts.lone.iter().filter(|_| facts.encrypted).map(unsecured));
    all.extend([refusing(facts), slow_to_accept(facts)]);
    all.extend(facts.response_header_timeout.as_ref().map(|held| silent(&RESPONSE_HEADER_TIMEOUT, held)));
    all.extend(facts.read_timeout.as_ref().map(|held| silent(&READ_TIMEOUT, held)));
    all.extend(facts.read_timeout.as_ref().filter(|_| facts.websocket).map(idle));
    all.extend(ports(facts));
    all.extend(facts.no_fails_allowed.as_ref().map(|(setting, held)| none_allowed(facts, setting, held)));
    all.extend(facts.fail_duration.as_ref().map(|held| held_down(facts, held)));
    all.extend(facts.health_checks.as_ref().map(|(setting, held)| checked(facts, setting, held)));
    all.extend(answering(facts));
    all
}

/// Several upstreams, of which some answer with errors.
fn answering(facts: &Facts) -> Vec<Limit> {
    let own = |address: &str| Answers { failed: of_upstream(address), all: None, failed_of_all: None };
    let each: Vec<_> = facts.each.iter().map(|(name, held)| (name.clone(), held.clone(), own(name))).collect();
    let source = "Caddy modules/caddyhttp/reverseproxy/reverseproxy.go: http.reverse_proxy.upstream.hostport and latency, in a log of genkai's own";
    backend::answering("caddy", &each, (metrics::FAILED_ANSWERS, source), facts.in_turn)
}

/// No upstream takes connections: nothing in Caddy lifts that.
fn refusing(facts: &Facts) -> Limit {
    Limit {
        // Nothing counts failures without a fail_duration (healthchecks.go: countFailure).
        formula: facts.unless(&match facts.fail_duration {
            Some(_) => format!(
                "{} refuses or closes before it answers (502); after max_fails failures in fail_duration nothing is sent to it (503)",
                facts.upstreams.written
            ),
            None => format!("{} refuses or closes before it answers (502)", facts.upstreams.written),
        }),
        source: "Caddy modules/caddyhttp/reverseproxy/reverseproxy.go: statusError; healthchecks.go: countFailure"
            .to_owned(),
        signatures: vec![
            log(signature::UPSTREAM_REFUSED, Strength::Decisive),
            log(signature::UPSTREAM_CLOSED, Strength::Decisive),
        ],
        symptom: errors(&[ErrorKind::Status502, ErrorKind::Status503]),
        ..backend::refusing("caddy.backend", "(backend)", &facts.upstreams)
    }
}

/// The one upstream cannot be connected to at all.
fn unreachable(place: &Place) -> Limit {
    Limit {
        formula: "a connect that fails at once is answered with 502".to_owned(),
        source: "Caddy modules/caddyhttp/reverseproxy/reverseproxy.go: statusError (DialError)".to_owned(),
        signatures: vec![logged_unserved(signature::UPSTREAM_REFUSED, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status502, ErrorKind::Status503]),
        ..backend::unreachable("caddy.upstream.address", "caddy", "upstream", place)
    }
}

/// The handshake with the one upstream, which takes TLS, fails each time.
fn unsecured(place: &Place) -> Limit {
    Limit {
        formula: "a handshake that fails is answered with 502".to_owned(),
        source: "Caddy modules/caddyhttp/reverseproxy/reverseproxy.go: statusError; Go crypto/tls, crypto/x509"
            .to_owned(),
        signatures: vec![logged_unserved(signature::UPSTREAM_TLS, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status502, ErrorKind::Status503]),
        ..backend::unsecured("caddy.upstream.tls", "caddy", "upstream", place)
    }
}

/// Upstreams that get no requests because of their failures: while all are held for down, Caddy answers 503 without asking any. A few
/// failures become those of all requests. Where the upstreams fail anyhow, it changes nothing: that only a test can tell.
fn held_down(facts: &Facts, held: &SourcedValue<Span>) -> Limit {
    let others = facts.max_requests.is_some() || facts.health_checks.is_some();
    Limit {
        caps: "how long an upstream that failed (max_fails, unhealthy_status, unhealthy_latency) gets no requests"
            .to_owned(),
        formula: facts.unless("while all upstreams are held for down, Caddy asks none of them"),
        source: "Caddy modules/caddyhttp/reverseproxy/healthchecks.go: countFailure; hosts.go: Healthy".to_owned(),
        signatures: vec![log(signature::NO_UPSTREAM, if others { Strength::Supports } else { Strength::Decisive })],
        symptom: Symptom { errors: vec![ErrorKind::Status503], slow: !facts.try_duration.value.is_zero() },
        remedy: Some(raised(FAIL_DURATION.name, RemedyUnit::Zero, 1.0)),
        ..valued("caddy.fail_duration", "caddy", FAIL_DURATION.name, held)
    }
}

/// Upstreams that get no requests because they fail Caddy's own checks: what these ask may be well while the checks are not. Where the upstreams fail
/// anyhow, it changes nothing.
fn checked(facts: &Facts, setting: &str, held: &SourcedValue<()>) -> Limit {
    Limit {
        caps: format!("an upstream that fails Caddy's own check ({setting}) gets no requests until it passes one"),
        formula: facts.unless("while all upstreams fail it, Caddy asks none of them"),
        source: "Caddy modules/caddyhttp/reverseproxy/healthchecks.go: doActiveHealthCheck; hosts.go: Healthy"
            .to_owned(),
        // That one of several is down while everything holds is told of that one.
        signatures: vec![log(signature::CHECK_FAILED, Strength::Consistent)],
        symptom: Symptom { errors: vec![ErrorKind::Status503], slow: !facts.try_duration.value.is_zero() },
        ..valued(&format!("caddy.{setting}"), "caddy", setting, held)
    }
}

/// Upstreams that are judged, and of which no failure is allowed: each is down before it was asked at all.
fn none_allowed(facts: &Facts, setting: &str, held: &SourcedValue<()>) -> Limit {
    Limit {
        caps: format!(
            "{} {} judges upstreams of which no failure is allowed, so that each counts as down and all requests are answered 503: add \
             max_fails 1, or fail_duration 10s",
            setting, held.written
        ),
        law: Law::Tried { value: 0.0, word: Some("1".to_owned()) },
        formula: facts.unless(
            "an upstream is up while its failures are fewer than max_fails, which is 0 where upstreams are judged and it is not written (up to \
             Caddy 2.7.4; 1 since)",
        ),
        source: "Caddy 2.6.2 modules/caddyhttp/reverseproxy/hosts.go: Healthy; reverseproxy.go: Provision".to_owned(),
        signatures: vec![logged_unserved(signature::NO_UPSTREAM, Strength::Decisive)],
        symptom: Symptom { errors: vec![ErrorKind::Status503], slow: !facts.try_duration.value.is_zero() },
        remedy: Some(Remedy {
            note: Some(format!(
                "without it none is allowed once {setting} judges upstreams, and each counts as down (Caddy up to 2.7.4)"
            )),
            ..raised(MAX_FAILS.name, RemedyUnit::Count, 1.0)
        }),
        fault: true,
        origin: held.origin.clone(),
        value: facts.max_fails.clone(),
        ..Limit::named("caddy.max_fails", "caddy", MAX_FAILS.name)
    }
}

/// An upstream that does not accept in time: its accept queue is full.
fn slow_to_accept(facts: &Facts) -> Limit {
    let held = &facts.dial_timeout;
    Limit {
        caps: format!("it does not accept connections within dial_timeout = {}", held.written),
        formula: format!("a connect to an upstream never lasts {}: else Caddy answers 502", held.value),
        source: "Caddy modules/caddyhttp/reverseproxy/httptransport.go: NewTransport (net.Dialer)".to_owned(),
        signatures: vec![log(signature::UPSTREAM_SLOW_CONNECT, Strength::Decisive)],
        symptom: Symptom { errors: vec![ErrorKind::Status502], slow: true },
        ..valued("caddy.dial_timeout", "backend", &format!("slower to accept than {}", DIAL_TIMEOUT.name), held)
    }
}

/// The upstreams are slower than Caddy is told to wait.
fn silent(setting: &Setting, held: &SourcedValue<Span>) -> Limit {
    Limit {
        formula: format!("an upstream is never silent for {}: else Caddy answers 504", held.value),
        source: "Caddy modules/caddyhttp/reverseproxy/httptransport.go: NewTransport; reverseproxy.go: statusError"
            .to_owned(),
        signatures: vec![log(signature::UPSTREAM_SILENT, Strength::Consistent)],
        ..backend::silent(&format!("caddy.{}", setting.name), setting.name, held)
    }
}

/// A tunnel in which the upstream says nothing. Nothing in a log tells of it.
fn idle(held: &SourcedValue<Span>) -> Limit {
    Limit {
        caps: "how long an upstream may be silent in a tunnel".to_owned(),
        formula: format!("a tunnel ends after {} ({}) without a byte from the upstream", held.value, READ_TIMEOUT.name),
        source: "Caddy modules/caddyhttp/reverseproxy/httptransport.go: tcpRWTimeoutConn".to_owned(),
        ..backend::idle(("caddy", "a tunnel"), (READ_TIMEOUT.name, READ_TIMEOUT.name), held, RemedyUnit::Time)
    }
}

/// Local ports towards the upstreams.
fn ports(facts: &Facts) -> Option<Limit> {
    let ports = backend::Ports {
        id: "caddy.upstream.ports",
        way: "Caddy to its upstreams",
        addresses: facts.inet,
        noun: "upstream",
        range: facts.ports,
        signature: signature::PORTS,
        answer: ErrorKind::Status502,
    };
    ports.limit()
}

/// Connections to the servers that are asked before each request.
pub(super) fn authorities(facts: &Facts) -> Vec<Limit> {
    let limit = |(nth, (held, known)): (usize, &(SourcedValue<u64>, Option<u64>))| Limit {
        caps: "connections at once to the server that is asked before each request; further requests wait for one"
            .to_owned(),
        law: known.map_or(Law::Unknown, |most| Law::Workers {
            workers: most as f64,
            queue: None,
            service: None,
            wait: None,
        }),
        formula: format!(
            "{} connections to each upstream of `forward_auth`; a request has one until it is answered there, and further ones wait for ever",
            held.value
        ),
        source: "Caddy modules/caddyhttp/reverseproxy/forwardauth/caddyfile.go; Go net/http transport.go: queueForDial"
            .to_owned(),
        symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        ..valued(&format!("caddy.forward_auth.{nth}"), "caddy", "forward_auth.max_conns_per_host", held)
    };
    facts.authorities.iter().enumerate().map(limit).collect()
}
