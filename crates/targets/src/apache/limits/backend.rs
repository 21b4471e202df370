//! Limits that show in Apache but lie behind it, or between the two.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Answers, Ceiling, Law, Limit, Origin, Remedy, RemedyUnit, Strength, Symptom};
use genkai_model::units::Span;

use super::{Absent, Facts, Upstream};
use crate::apache::evidence::{metrics, of_member, signature};
use crate::apache::settings::{BALANCER_MEMBER_MAX, PROXY_PASS_MAX, SSL_PROXY_ENGINE, TIMEOUT};
use crate::limits::backend::Place;
use crate::limits::{backend, errors, log, logged_unserved, raised_onward, valued};
use crate::settings::SourcedValue;

/// Every limit of the backend's side.
pub(super) fn all(facts: &Facts, upstream: &Upstream) -> Vec<Limit> {
    // Of signs that both have, the first one's say counts.
    let mut all: Vec<Limit> = upstream.lone.iter().map(unreachable).chain(unsecured(upstream)).collect();
    all.extend([refusing(facts, upstream), silent(facts)]);
    all.extend(unencrypted(upstream));
    all.extend(idle(facts));
    all.extend(ports(facts, upstream));
    all.extend(pool(facts, upstream));
    all.extend(answering(upstream));
    all
}

/// Several members of a balancer, of which some answer with errors.
fn answering(upstream: &Upstream) -> Vec<Limit> {
    let own = |name: &str| Answers { failed: of_member(name), all: None, failed_of_all: None };
    let each: Vec<_> = upstream.each.iter().map(|(name, held)| (name.clone(), held.clone(), own(name))).collect();
    let source = "httpd modules/proxy/mod_proxy_balancer.c: BALANCER_WORKER_NAME, in a log of genkai's own";
    backend::answering("apache", &each, (metrics::FAILED_ANSWERS, source), upstream.even)
}

/// The backend does not take connections, or closes them unanswered: nothing in Apache lifts that.
fn refusing(facts: &Facts, upstream: &Upstream) -> Limit {
    // Where httpd is behind itself, it may be its own doing.
    let own = facts.passes.is_again();
    // A member at whose address nobody listens is refused each time it is tried again, at any load, and the others get its requests.
    let absent = !upstream.absent.out.is_empty();
    let strength = |name| match name {
        signature::BACKEND_CLOSED if own => Strength::Consistent,
        signature::BACKEND_UNREACHABLE if absent => Strength::Consistent,
        _ => Strength::Decisive,
    };
    let shaken = upstream.encrypted.then(|| log(signature::BACKEND_TLS, Strength::Decisive));
    let unanswered = answers(&upstream.scheme).1;
    let closed = (upstream.encrypted || unanswered == 500).then_some(ErrorKind::Status500);
    Limit {
        formula: format!("the backend refuses (503), or closes before it answers ({unanswered})"),
        source: "httpd modules/proxy/proxy_util.c: ap_proxy_connect_backend; mod_proxy_http.c: proxy_http_handler"
            .to_owned(),
        signatures: [signature::BACKEND_REFUSED, signature::BACKEND_UNREACHABLE, signature::BACKEND_CLOSED]
            .into_iter()
            .map(|name| log(name, strength(name)))
            .chain(shaken)
            .collect(),
        symptom: errors(&[ErrorKind::Status502, ErrorKind::Status503].into_iter().chain(closed).collect::<Vec<_>>()),
        ..backend::refusing("apache.backend", "(backend)", &upstream.name)
    }
}

/// The one backend cannot be connected to at all.
fn unreachable(place: &Place) -> Limit {
    Limit {
        formula: "a connect that fails at once is answered with 503".to_owned(),
        source: "httpd modules/proxy/proxy_util.c: ap_proxy_connect_backend (AH00957, AH02454)".to_owned(),
        signatures: vec![
            logged_unserved(signature::BACKEND_UNREACHABLE, Strength::Decisive),
            logged_unserved(signature::BACKEND_REFUSED, Strength::Consistent),
        ],
        symptom: errors(&[ErrorKind::Status502, ErrorKind::Status503]),
        ..backend::unreachable("apache.backend.address", "apache", "backend", place)
    }
}

/// The handshake with the one backend, which takes TLS, fails each time.
fn unsecured(upstream: &Upstream) -> Option<Limit> {
    let place = upstream.lone.as_ref().filter(|_| upstream.encrypted && upstream.unencrypted.is_none())?;
    Some(Limit {
        formula: "a handshake that fails is answered with 500 or 502".to_owned(),
        source: "httpd modules/ssl/ssl_engine_io.c: ssl_io_filter_handshake; modules/proxy/proxy_util.c: ap_proxyerror (AH00898); \
                 modules/ssl/ssl_engine_kernel.c: ssl_callback_proxy_cert (AH02268); ssl_engine_io.c: ssl_io_input_read (AH01992, at level info)"
            .to_owned(),
        // A certificate that is wanted is missed after the handshake with TLS 1.3: then the connection ends with an alert. That one was asked for
        // alone says little: a server may do without it.
        signatures: vec![
            logged_unserved(signature::BACKEND_TLS, Strength::Decisive),
            logged_unserved(signature::BACKEND_WANTS, Strength::Decisive),
            logged_unserved(signature::BACKEND_CERTIFICATE, Strength::Supports),
        ],
        symptom: errors(&[ErrorKind::Status500, ErrorKind::Status502]),
        ..backend::unsecured("apache.backend.tls", "apache", "backend", place)
    })
}

/// An encrypted backend, of which Apache is not told to speak TLS to it (`SSLProxyEngine`, off by default): every request is answered 500.
fn unencrypted(upstream: &Upstream) -> Option<Limit> {
    let held = upstream.unencrypted.as_ref()?;
    let place = match &held.origin {
        Origin::File { path, line } => format!(" ({}:{line})", path.display()),
        _ => String::new(),
    };
    let name = SSL_PROXY_ENGINE.name;
    Some(Limit {
        caps: format!("{name} is {} in this virtual host{place}, so that no TLS is spoken to it", held.written),
        fault: true,
        formula: "an https:// or wss:// backend takes SSLProxyEngine on (mod_ssl): else Apache answers 500".to_owned(),
        source: "httpd modules/proxy/proxy_util.c: ap_proxy_connection_create_ex (AH01961)".to_owned(),
        signatures: vec![log(signature::NO_SSL_PROXY, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status500]),
        ..valued("apache.SSLProxyEngine", "apache", "backend", &upstream.name)
    })
}

/// What Apache answers for a backend, asked by this scheme, that is silent for too long, and for one that closes before it answers: each module has its own
/// (httpd modules/proxy/mod_proxy_http.c, mod_proxy_fcgi.c, mod_proxy_scgi.c, mod_proxy_uwsgi.c, mod_proxy_ajp.c; measured with 2.4.71).
pub(in crate::apache) fn answers(scheme: &str) -> (u16, u16) {
    match scheme {
        "fcgi" => (504, 503),
        "scgi" => (504, 500),
        "uwsgi" => (500, 500),
        "ajp" => (503, 503),
        _ => (502, 502),
    }
}

/// The backend is slower than Apache is told to wait. The timeout ends the request; the slowness is the backend's.
fn silent(facts: &Facts) -> Limit {
    let (setting, held) = &facts.proxy_timeout;
    let answer = facts.upstream.as_ref().map_or(502, |upstream| answers(&upstream.scheme).0);
    let own = ErrorKind::of_status(answer).filter(|kind| ![ErrorKind::Status502, ErrorKind::Status504].contains(kind));
    Limit {
        formula: format!("the backend is never silent for {} ({setting}): else Apache answers {answer}", held.value),
        source: match facts.upstream.as_ref().map(|upstream| &*upstream.scheme) {
            Some(scheme @ ("fcgi" | "scgi" | "uwsgi" | "ajp")) => format!("httpd modules/proxy/mod_proxy_{scheme}.c"),
            _ => "httpd modules/proxy/mod_proxy_http.c: ap_proxy_http_process_response (AH01102)".to_owned(),
        },
        // Who waits for a worker of the backend's is as silent as one that is slow.
        signatures: vec![log(signature::BACKEND_SILENT, Strength::Supports)],
        symptom: Symptom {
            errors: [ErrorKind::Status502, ErrorKind::Status504].into_iter().chain(own).collect(),
            slow: true,
        },
        ..backend::silent("apache.ProxyTimeout", setting, held)
    }
}

/// A tunnel on which nothing is said. Nothing in a log tells of it: the client knows how long it had been silent.
fn idle(facts: &Facts) -> Option<Limit> {
    let (setting, held) = facts.tunnel_timeout()?;
    let (name, other) = &facts.proxy_timeout;
    let limit = backend::idle(("apache", "a tunnel"), (setting, setting), held, RemedyUnit::Seconds);
    let note = "a longer time keeps the workers of clients that are gone for as long; ";
    Some(Limit {
        formula: match name == TIMEOUT.name {
            true => limit.formula,
            false => format!(
                "a tunnel ends after max(Timeout {}, {name} {}) = {} without a byte",
                facts.timeout.value, other.value, held.value
            ),
        },
        source: "httpd modules/proxy/mod_proxy_http.c: proxy_http_handler (the longer of the two); proxy_util.c: \
                 ap_proxy_tunnel_run. KeepAliveTimeout and RequestReadTimeout do not count for a tunnel"
            .to_owned(),
        remedy: limit.remedy.map(|r| Remedy { note: r.note.map(|pings| format!("{note}{pings}")), ..r }),
        ..limit
    })
}

/// Local ports towards the backend.
fn ports(facts: &Facts, upstream: &Upstream) -> Option<Limit> {
    let ports = backend::Ports {
        id: "apache.backend.ports",
        way: "Apache to its backend",
        addresses: backend::distinct(&upstream.addresses),
        noun: "backend",
        range: facts.ports,
        signature: signature::BACKEND_PORTS,
        answer: ErrorKind::Status503,
    };
    ports.limit()
}

/// `max=` of the pass, or of a balancer's members, where it is below the threads of a child: a request waits for a free connection, for
/// ever unless `acquire` ends it.
fn pool(facts: &Facts, upstream: &Upstream) -> Option<Limit> {
    let threads = facts.threads();
    let capped = upstream.max.iter().flatten().filter(|held| held.value < threads);
    let held = capped.min_by_key(|held| held.value)?;
    let further = upstream.further.iter().flatten();
    let size = |max: &Option<SourcedValue<u64>>| max.as_ref().map_or(threads, |held| held.value.min(threads));
    let sizes: Vec<u64> = upstream.max.iter().chain(further).map(size).collect();
    // Whoever finds the others full comes to the largest pool, too.
    let passed_on = upstream.balanced && upstream.further.is_some() && upstream.acquire.is_some();
    let least = if passed_on { sizes.iter().copied().max()? } else { held.value };
    if least >= threads {
        return None;
    }
    let children = facts.children();
    let setting = if upstream.balanced { BALANCER_MEMBER_MAX.name } else { PROXY_PASS_MAX.name };
    let mixed = mixed(upstream);
    let Absent { out, asked } = &upstream.absent;
    // How many come to whom cannot be told where a share of the requests fails.
    let known = asked.is_empty();
    let absent = match asked.is_empty() {
        true => backend::nobody_at(out),
        false => format!(
            "; nobody listens at {}, which is asked all the same (status=+I): cannot tell how many requests go where",
            asked.join(", ")
        ),
    };
    let at_once = match (upstream.balanced, children) {
        (true, _) if mixed.is_some() => all_with_one(&sizes, least, children),
        (true, _) => balanced(&sizes, least, children, passed_on),
        (false, 1) => format!("max {} of the one child", held.value),
        (false, _) => format!(
            "from {0} (all with one child) to {children} children x max {0} = {1} (evenly spread, all children running): each child \
             has a pool of its own",
            held.value,
            held.value * children
        ),
    };
    Some(Limit {
        caps: "connections of each child process to the backend at once".to_owned(),
        // Who comes goes to any child (and member), and children start as they are needed: certain is what the smallest pool has.
        law: match known {
            true => Law::Growing {
                least: least as f64,
                most: (sizes.iter().sum::<u64>() * children) as f64,
                full: None,
                wait: upstream.acquire.map(Span::as_secs_f64),
            },
            false => Law::Unknown,
        },
        formula: match upstream.acquire {
            Some(wait) => {
                format!("{at_once}; further requests wait for one, {wait} at most (acquire), then 503{absent}")
            }
            None => format!(
                "{at_once}; {}{absent}",
                mixed.unwrap_or_else(|| "further requests wait for one, for ever (no acquire)".to_owned())
            ),
        },
        source:
            "httpd modules/proxy/proxy_util.c: ap_proxy_initialize_worker, ap_proxy_acquire_connection (AH00941 after \
                 `acquire`, else it waits); mod_proxy.c: proxy_handler (the next member is tried)"
                .to_owned(),
        signatures: vec![log(signature::POOL_EXHAUSTED, Strength::Decisive)],
        symptom: match upstream.acquire {
            Some(_) => errors(&[ErrorKind::Status503]),
            // Where members with one give a request up, the others may be in error.
            None if is_mixed(upstream) => {
                Symptom { errors: vec![ErrorKind::Timeout, ErrorKind::Status503], slow: true }
            }
            None => Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        },
        // Settings are of the pass by which requests come in: where they come in again, another has this.
        remedy: (known && !facts.passes.is_again()).then(|| Remedy {
            ceiling: Some(Ceiling { value: threads as f64, by: format!("{threads} threads of a child") }),
            note: Some("without `max` each child may have as many connections as threads".to_owned()),
            ..raised_onward(setting)
        }),
        ..valued(&format!("apache.{setting}"), "apache", setting, held)
    })
}

/// The members of a balancer, each with a pool in each child.
fn balanced(sizes: &[u64], least: u64, children: u64, passed_on: bool) -> String {
    let each: Vec<String> = sizes.iter().map(u64::to_string).collect();
    let sum: u64 = sizes.iter().sum();
    if passed_on {
        return format!(
            "from {least} (the largest pool of one child) to {} x ({}) = {}: a member that has none free within acquire gets no request for its \
             retry time, and the request goes to the next one, spares, further lbsets and hot standbys with them",
            counted_children(children),
            each.join(" + "),
            sum * children
        );
    }
    format!(
        "{}: a request waits for the member that was chosen, whether or not another one is free",
        all_with_one(sizes, least, children)
    )
}

/// From all requests with one member to all members full.
fn all_with_one(sizes: &[u64], least: u64, children: u64) -> String {
    let each: Vec<String> = sizes.iter().map(u64::to_string).collect();
    format!(
        "from {least} (all with one member in one child) to {} x ({}) = {}",
        counted_children(children),
        each.join(" + "),
        sizes.iter().sum::<u64>() * children
    )
}

/// Whether some members of a balancer give a request up after a time (`acquire`), and some never do.
fn is_mixed(upstream: &Upstream) -> bool {
    [true, false].iter().all(|ends| upstream.waits.iter().any(|(_, wait)| wait.is_some() == *ends))
}

/// How long a request waits at each member, where some have an `acquire` and some have none; none: it is the same of all.
fn mixed(upstream: &Upstream) -> Option<String> {
    let then = if upstream.passes_on {
        "then the request goes to the next member, and this one gets none for its retry time"
    } else {
        "then 503"
    };
    let said = |(name, wait): &(String, Option<Span>)| match wait {
        Some(wait) => format!("at {name} a further request waits for {wait} at most (acquire), {then}"),
        None => format!("at {name} it waits for ever (no acquire)"),
    };
    is_mixed(upstream).then(|| upstream.waits.iter().map(said).collect::<Vec<_>>().join("; "))
}

fn counted_children(children: u64) -> String {
    if children == 1 { "1 child".to_owned() } else { format!("{children} children") }
}
