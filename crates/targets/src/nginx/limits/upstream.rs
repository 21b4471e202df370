//! Limits that show in nginx but lie behind it, or between the two.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Answers, Law, Limit, Remedy, RemedyUnit, Signature, Strength, Symptom};

use super::{Facts, Upstream, read};
use crate::limits::{backend, counted, errors, grew, log, logged_unserved, raised, raised_onward, reached_of, valued};
use crate::nginx::config::Refusal;
use crate::nginx::evidence::{metrics, of_server, signature, time_of, timed_failed_of, timed_of, unanswered_of};
use crate::nginx::settings::{
    PROXY_BUFFER_SIZE, PROXY_CONNECT_TIMEOUT, PROXY_READ_TIMEOUT, UPSTREAM_KEEPALIVE, UPSTREAM_MAX_CONNS,
    UPSTREAM_MAX_FAILS,
};
use crate::settings::SourcedValue;

/// Every limit of the upstream side.
pub(super) fn all(facts: &Facts, upstream: &Upstream) -> Vec<Limit> {
    let mut all: Vec<Limit> = unsecured(upstream).into_iter().collect();
    // Of signs that both have, the first one's say counts.
    all.extend(refuses(upstream));
    all.extend([unreachable(upstream), refusing(facts, upstream), silent(facts), head_buffer(facts)]);
    all.extend(queue(upstream));
    all.extend(facts.upgrades.then(|| idle(facts)));
    all.extend(ports(facts, upstream));
    all.extend(max_conns(facts, upstream));
    all.extend(max_fails(upstream));
    all.extend(answering(upstream));
    all.extend(slow(upstream));
    all
}

/// From how many times the time of the fastest server on one of several is called slow.
const SLOWER: f64 = 3.0;

/// One of several servers that is far slower than the others: which it is.
fn slow(upstream: &Upstream) -> Vec<Limit> {
    let one = |(name, held): &(String, SourcedValue<()>)| {
        Limit {
        caps: format!(
            "server {name}, one of {}, takes {SLOWER} times as long as the fastest, or longer",
            upstream.each.len()
        ),
        formula: "no number says when".to_owned(),
        source: "nginx src/http/ngx_http_upstream.c: $upstream_header_time, $upstream_addr, in a log of genkai's own of a fifth of all requests, and of the first ones"
            .to_owned(),
        signatures: vec![reached_of(&time_of(name), metrics::FASTEST, SLOWER, Strength::Supports)],
        symptom: Symptom { errors: vec![ErrorKind::Status504], slow: true },
        ..valued(&format!("nginx.server.slow.{name}"), "backend", &format!("server {name} (slow)"), held)
    }
    };
    upstream.each.iter().filter(|_| upstream.each.len() > 1).map(one).collect()
}

/// One of several servers that refuses: which it is, where it is asked all the same (`max_fails=0`, `proxy_next_upstream off`). One that is not there is
/// asked once the others have no room for more (`max_conns`), and is not why then.
fn refuses(upstream: &Upstream) -> Vec<Limit> {
    let spare =
        |name: &String| upstream.max_conns.is_some() && upstream.absent.iter().any(|(absent, _)| absent == name);
    let several = upstream.each.iter().filter(|(name, _)| upstream.each.len() > 1 && !spare(name));
    let one = |(name, held): &(String, SourcedValue<()>)| {
        Limit {
        caps: format!("server {name}, one of {}, refuses connections, or closes them unanswered", upstream.each.len()),
        formula: "no number says when".to_owned(),
        source: "nginx src/http/ngx_http_upstream.c: $upstream_status, $upstream_header_time, $upstream_addr, in a log of genkai's own".to_owned(),
        signatures: vec![grew(&unanswered_of(name), Strength::Decisive)],
        symptom: super::refusal(&upstream.refusal),
        ..valued(&format!("nginx.server.refuses.{name}"), "backend", &format!("server {name} (refusing)"), held)
    }
    };
    several.map(one).collect()
}

/// Several servers, of which some answer with errors.
fn answering(upstream: &Upstream) -> Vec<Limit> {
    // Where each gets as many requests, what failed tells all.
    let looked = |what: fn(&str) -> String, name: &str| (!upstream.even).then(|| what(name));
    let own = |name: &str| Answers {
        failed: of_server(name),
        all: looked(timed_of, name),
        failed_of_all: looked(timed_failed_of, name),
    };
    let each: Vec<_> = upstream.each.iter().map(|(name, held)| (name.clone(), held.clone(), own(name))).collect();
    let source = "nginx src/http/ngx_http_upstream.c: $upstream_status, $upstream_addr, in a log of genkai's own";
    backend::answering("nginx", &each, (metrics::FAILED_ANSWERS, source), true)
}

/// The upstream does not take connections, or closes them unanswered: nothing in nginx lifts that. A server that is not there is asked once the others
/// have no room for more (`max_conns`), so that it refuses says no more of it then than of them.
///
/// Where a `stream` server of this nginx stands between, it may be that which closes them (its `limit_conn`, a time of its own).
fn refusing(facts: &Facts, upstream: &Upstream) -> Limit {
    let closed = if facts.relayed { Strength::Consistent } else { Strength::Decisive };
    let beside = upstream.max_conns.is_some() && !upstream.absent.is_empty();
    let refused = if beside { Strength::Supports } else { Strength::Decisive };
    Limit {
        formula: format!(
            "the upstream refuses, or closes before it answers: nginx answers 502{}",
            upstream.refusal.in_place_of(502)
        ),
        source: "nginx src/http/ngx_http_upstream.c: ngx_http_upstream_next, ngx_http_upstream_connect".to_owned(),
        signatures: vec![
            log(signature::UPSTREAM_REFUSED, refused),
            log(signature::UPSTREAM_CLOSED, closed),
            log(signature::UPSTREAM_TLS, Strength::Decisive),
        ],
        symptom: super::refusal(&upstream.refusal),
        ..backend::refusing("nginx.upstream", "(upstream)", &upstream.name)
    }
}

/// The address is none that nginx can connect to. Whether that is wrong, or nobody listens there yet, is not seen from outside. A refused connection
/// says so only where there is one server with one address, and nobody got through: of several, another may be the one that matters.
fn unreachable(upstream: &Upstream) -> Limit {
    let named = || backend::Place { name: upstream.name.clone(), address: upstream.name.written.clone() };
    let refused = upstream.place.iter().map(|_| logged_unserved(signature::UPSTREAM_REFUSED, Strength::Decisive));
    let limit = backend::unreachable(
        "nginx.upstream.address",
        "nginx",
        "upstream",
        &upstream.place.clone().unwrap_or_else(named),
    );
    Limit {
        caps: match &upstream.place {
            Some(_) => limit.caps.clone(),
            None => "there is no such socket, nginx may not open it, or no route leads there".to_owned(),
        },
        formula: format!("a connect that fails at once is answered with 502{}", upstream.refusal.in_place_of(502)),
        source: "unix(7), connect(2): ECONNREFUSED, ENOENT, EACCES, ENETUNREACH, EHOSTUNREACH; nginx \
                 src/event/ngx_event_connect.c"
            .to_owned(),
        signatures: refused.chain([log(signature::UPSTREAM_UNREACHABLE, Strength::Decisive)]).collect(),
        symptom: super::refusal(&upstream.refusal),
        ..limit
    }
}

/// The handshake with an upstream that takes TLS fails, each time.
fn unsecured(upstream: &Upstream) -> Option<Limit> {
    let place = backend::Place { name: upstream.name.clone(), address: upstream.name.written.clone() };
    upstream.encrypted.then(|| Limit {
        formula: format!("a handshake that fails is answered with 502{}", upstream.refusal.in_place_of(502)),
        source: "nginx src/http/ngx_http_upstream.c: ngx_http_upstream_ssl_handshake".to_owned(),
        signatures: vec![logged_unserved(signature::UPSTREAM_TLS, Strength::Decisive)],
        symptom: super::refusal(&upstream.refusal),
        ..backend::unsecured("nginx.upstream.tls", "nginx", "upstream", &place)
    })
}

/// The accept queue of an upstream that listens on a Unix socket: a connect that finds it full fails at once. What is behind it does not
/// accept as fast as requests come; its backlog is in its own configuration.
fn queue(upstream: &Upstream) -> Option<Limit> {
    (!upstream.sockets.is_empty()).then(|| Limit {
        caps:
            "its accept queue is full: all its workers are busy, and as many requests wait as its listen backlog allows"
                .to_owned(),
        formula: "a connect to a Unix socket whose accept queue is full fails at once (EAGAIN): nginx answers 502"
            .to_owned(),
        source:
            "Linux net/unix/af_unix.c: unix_stream_connect (sk_max_ack_backlog); nginx src/event/ngx_event_connect.c"
                .to_owned(),
        // Where it is known who listens there, it is the backlog of theirs: see `backend::queue_full`.
        signatures: upstream.sockets.iter().map(|path| full(path)).collect(),
        symptom: super::refusal(&upstream.refusal),
        ..valued("nginx.upstream.backlog", "backend", "listen backlog of the upstream", &upstream.name)
    })
}

fn full(socket: &std::path::Path) -> Signature {
    log(&backend::queue_full(&socket.to_string_lossy()), Strength::Supports)
}

/// The upstream is slower than nginx is told to wait. The timeout ends the request; the slowness is the backend's.
fn silent(facts: &Facts) -> Limit {
    let read = read::named(&PROXY_READ_TIMEOUT, facts.protocol);
    Limit {
        formula: format!(
            "the upstream accepts within {} ({}) and is never silent for {} ({read})",
            facts.connect_timeout.value,
            read::named(&PROXY_CONNECT_TIMEOUT, facts.protocol),
            facts.read_timeout.value
        ),
        source: "nginx src/http/ngx_http_upstream.c: ngx_http_upstream_process_header (504)".to_owned(),
        signatures: vec![
            log(signature::UPSTREAM_TIMEOUT, Strength::Consistent),
            log(signature::UPSTREAM_CONNECT_TIMEOUT, Strength::Consistent),
        ],
        ..backend::silent("nginx.proxy_timeouts", &read, &facts.read_timeout)
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
        addresses: backend::distinct(&upstream.addresses),
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

/// `max_conns` of the upstream's servers. Without a zone each worker counts alone, and connections are not spread evenly over workers: from
/// all in one worker to as many in each.
pub(super) fn max_conns(facts: &Facts, upstream: &Upstream) -> Option<Limit> {
    let held = upstream.max_conns.as_ref()?;
    let counts = if upstream.shared { 1 } else { u64::from(facts.workers.value) };
    let (servers, sum) = (held.value.len() as f64, held.value.iter().sum::<u64>());
    // The law's value is what a server may have, so that it can be set; its part of the servers and workers is the cost.
    let law = Law::Slots {
        value: sum as f64 / servers,
        reserved: 0.0,
        idle_cost: 0.0,
        busy_cost: 1.0 / (servers * counts as f64),
        pools: 1.0,
        soft: 1.0 / counts as f64,
    };
    let behind_cache = facts.cached && facts.upstream.as_ref() == Some(upstream);
    let doubt = doubt(upstream, behind_cache);
    let known = upstream.resolved.is_none() && doubt.is_none();
    let setting = match &upstream.only {
        Some(_) => format!("{}.{}", UPSTREAM_MAX_CONNS.name, upstream.name.written),
        None => UPSTREAM_MAX_CONNS.name.to_owned(),
    };
    Some(Limit {
        caps: "connections to the upstream's servers at once".to_owned(),
        law: if known { law } else { Law::Unknown },
        formula: connections(upstream, held, sum, counts) + &each_address(upstream) + &doubt.unwrap_or_default(),
        source: "nginx src/http/ngx_http_upstream_round_robin.c: ngx_http_upstream_get_round_robin_peer (busy: 502)"
            .to_owned(),
        signatures: vec![log(signature::UPSTREAM_NONE_LIVE, Strength::Supports)],
        symptom: super::refusal(&upstream.refusal),
        remedy: known.then(|| Remedy { note: unequal(held), ..raised_onward(UPSTREAM_MAX_CONNS.name) }),
        ..valued(&format!("nginx.{setting}"), "nginx", &setting, held)
    })
}

/// What a change does to servers that may have unlike many connections.
fn unequal(held: &SourcedValue<Vec<u64>>) -> Option<String> {
    let unlike = held.value.iter().any(|one| *one != held.value[0]);
    unlike.then(|| {
        "it gives each server of the group the same number, where they had different ones: a smaller one may have protected a weaker server"
            .to_owned()
    })
}

/// The same of a group by which nginx passes requests to itself: it is told by its name, as the group behind is the one that settings change.
pub(super) fn max_conns_between(facts: &Facts, upstream: &Upstream) -> Option<Limit> {
    let setting = format!("{}.{}", UPSTREAM_MAX_CONNS.name, upstream.name.written);
    let limit = max_conns(facts, upstream)?;
    Some(Limit { id: format!("nginx.{setting}"), setting, remedy: None, ..limit })
}

/// `max_conns` of the groups that are asked before each request: where they take no more, clients get 500
/// (ngx_http_auth_request_module.c: ngx_http_auth_request_handler, "auth request unexpected status"). What becomes of a mirrored
/// request is of no concern to clients.
pub(super) fn max_conns_besides(facts: &Facts) -> Vec<Limit> {
    let asked = facts.asides.iter().filter(|one| !one.meanwhile).filter_map(|one| Some((one, one.upstream.as_ref()?)));
    asked
        .filter_map(|(one, upstream)| {
            let limit = max_conns_between(facts, upstream)?;
            // How long that takes beside the request itself, nothing tells.
            let formula = format!(
                "{}; asked before each request by {}: which part of its time a client is there is not known",
                limit.formula, one.by
            );
            Some(Limit { law: Law::Unknown, formula, symptom: errors(&[ErrorKind::Status500]), ..limit })
        })
        .collect()
}

/// Servers of a group that are left alone for their failures: while all are, nginx answers at once, without asking any. A few failures of the
/// servers become those of all requests. Where they fail anyhow, it changes nothing: that only a test can tell.
fn max_fails(upstream: &Upstream) -> Option<Limit> {
    let held = upstream.max_fails.as_ref()?;
    // Where each has a cap, who is in use may be full: what is left to tell is whether one was.
    let sign = match upstream.max_conns.is_some() {
        true if upstream.told => grew(metrics::REFUSED_ALL_OUT, Strength::Supports),
        true => log(signature::UPSTREAM_NONE_LIVE, Strength::Supports),
        false => log(signature::UPSTREAM_NONE_LIVE, Strength::Decisive),
    };
    Some(Limit {
        caps: "failures after which a server gets no requests for fail_timeout".to_owned(),
        formula: "while all servers of the group are left alone for their failures, nginx asks none of them".to_owned(),
        source: "nginx src/http/ngx_http_upstream_round_robin.c: ngx_http_upstream_free_round_robin_peer (fails), \
                 ngx_http_upstream_get_peer"
            .to_owned(),
        signatures: vec![sign],
        symptom: super::refusal(&upstream.refusal),
        remedy: Some(Remedy {
            note: Some(
                "while a server fails, requests go to it as to the others: what becomes of those is what proxy_next_upstream says"
                    .to_owned(),
            ),
            ..raised(UPSTREAM_MAX_FAILS.name, RemedyUnit::Zero, 1.0)
        }),
        ..valued("nginx.upstream.max_fails", "nginx", UPSTREAM_MAX_FAILS.name, held)
    })
}

/// Why its numbers say nothing of these requests.
fn doubt(upstream: &Upstream, behind_cache: bool) -> Option<String> {
    match (&upstream.only, &upstream.refusal) {
        (Some(why), _) => Some(format!("; cannot tell which requests go there: {why}")),
        (None, _) if behind_cache => {
            Some("; cannot tell how many requests go there: those that the cache answers do not".to_owned())
        }
        (None, Refusal::Elsewhere(to)) => Some(format!("; cannot tell what is refused: those beyond it go to {to}")),
        (None, Refusal::Status(_)) => None,
    }
}

/// How many connections there may be, in words.
fn connections(upstream: &Upstream, held: &SourcedValue<Vec<u64>>, sum: u64, counts: u64) -> String {
    let each: Vec<String> = held.value.iter().map(u64::to_string).collect();
    let regular = u64::from(upstream.servers) - upstream.absent.iter().filter(|(_, regular)| *regular).count() as u64;
    let servers = match each.len() as u64 - regular {
        0 => counted(each.len() as u64, "server"),
        backups => format!("{}, {backups} of them backup", counted(each.len() as u64, "server")),
    };
    let sum = if each.len() == 1 { sum.to_string() } else { format!("{} = {sum}", each.join(" + ")) };
    let absent: Vec<&str> = upstream.absent.iter().map(|(name, _)| name.as_str()).collect();
    let absent = backend::nobody_at(&absent);
    match counts {
        _ if upstream.shared => {
            format!("{servers}: {sum} connections (the group has a zone: all workers count together){absent}")
        }
        1 => format!("{servers}: {sum} connections (1 worker){absent}"),
        _ => format!("{servers}: {sum} connections in each of {counts} workers (no zone: each counts alone){absent}"),
    }
}

/// What is to be said of a server that is a name.
fn each_address(upstream: &Upstream) -> String {
    let name = upstream.resolved.as_ref();
    name.map_or_else(String::new, |name| format!(", or more: each address of {name} has its own max_conns"))
}

/// The head of a response does not fit its buffer.
fn head_buffer(facts: &Facts) -> Limit {
    Limit {
        caps: "bytes of the head of an upstream's response; a larger one is answered with 502".to_owned(),
        formula: format!("response head <= {} bytes", facts.head_buffer.value),
        source: "nginx src/http/ngx_http_upstream.c: ngx_http_upstream_process_header (\"too big header\")".to_owned(),
        signatures: vec![log(signature::UPSTREAM_HEADER, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status502]),
        ..valued(
            "nginx.proxy_buffer_size",
            "nginx",
            &read::named(&PROXY_BUFFER_SIZE, facts.protocol),
            &facts.head_buffer,
        )
    }
}
