//! Limits on how many clients can be there at once: slots and descriptors of the workers.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Law, Limit, Remedy, RemedyUnit, Strength};

use super::{Facts, Serving};
use crate::limits::slots::{Slots, Takes};
use crate::limits::{self, Descriptors, counted, errors, grew, log, raised, valued};
use crate::nginx::evidence::{metrics, signature};
use crate::nginx::settings::{KEEPALIVE_TIMEOUT, WORKER_CONNECTIONS, WORKER_RLIMIT_NOFILE};

/// Idle connections are closed, and bursts lose clients, once at most 1/16 of the slots are free
/// (`ngx_drain_connections`).
const SOFT: f64 = 15.0 / 16.0;

/// What clients see. Where nginx stands behind itself, it is also the one that finds its connection closed.
const SYMPTOMS: [ErrorKind; 6] = [
    ErrorKind::EofNew,
    ErrorKind::EofReused,
    ErrorKind::Reset,
    ErrorKind::ResetReused,
    ErrorKind::Status500,
    ErrorKind::Status502,
];

/// Slots of the workers.
pub(super) fn worker_connections(facts: &Facts) -> Limit {
    let busy = facts.busy_slots();
    Limit {
        caps: "connections a worker may hold, clients and upstreams together".to_owned(),
        law: match facts.lost {
            Some(_) => Law::Unknown,
            // Where some are answered from a cache, the law counts these.
            None => Slots {
                value: facts.worker_connections.value as f64,
                reserved: facts.base_slots() as f64,
                takes: Takes { fewest: busy, most: facts.most_slots() },
                pools: f64::from(facts.workers.value),
                uneven: facts.uneven,
                free: SOFT,
                kept: facts.kept(),
            }
            .law(),
        },
        formula: format!(
            "{} x floor(({} - {}{} - 1 channel) / {}){}{}",
            counted(facts.workers.value.into(), "worker"),
            facts.worker_connections.value,
            counted(facts.listeners.into(), "listener"),
            if facts.own_listeners > 0 { " - 1 for genkai's status page" } else { "" },
            divisor(facts, busy, "connections"),
            costs(facts),
            stay_open(facts) + &spread(facts),
        ),
        source: "nginx src/core/ngx_connection.c: ngx_get_connection (none free: alert, the new client is closed or \
                 gets 500), ngx_drain_connections (idle ones are closed when free <= 1/16)"
            .to_owned(),
        signatures: vec![
            log(signature::WORKER_CONNECTIONS, Strength::Decisive),
            log(signature::WORKER_CONNECTIONS_UPSTREAM, Strength::Decisive),
            log(signature::WORKER_CONNECTIONS_REUSING, Strength::Decisive),
            grew(metrics::STUB_DROPPED, Strength::Supports),
        ],
        symptom: errors(if is_behind_itself(facts) { &SYMPTOMS } else { &SYMPTOMS[..5] }),
        remedy: Some(Remedy {
            ceiling: Some(slots_ceiling(facts)),
            note: Some(format!(
                "every connection needs a descriptor: above {} a higher worker_rlimit_nofile is needed too",
                slots_for(facts, facts.nofile.value)
            )),
            ..raised(WORKER_CONNECTIONS.name, RemedyUnit::Count, 64.0)
        }),
        ..valued("nginx.worker_connections", "nginx", WORKER_CONNECTIONS.name, &facts.worker_connections)
    }
}

/// What stays open to the upstream, for the formula.
fn stay_open(facts: &Facts) -> String {
    facts.kept().map_or_else(String::new, |kept| {
        format!(
            "; up to {} to the other servers of the group stay open besides (keepalive)",
            counted(kept.most, "connection")
        )
    })
}

/// How clients come to the workers, for the formula.
fn spread(facts: &Facts) -> String {
    match facts.workers.value {
        1 => String::new(),
        _ if facts.uneven => {
            "; they are not spread evenly over the workers (accept_mutex, multi_accept): from one worker's share on some are refused"
                .to_owned()
        }
        workers => format!("; that is with clients spread evenly over {workers} workers: one that gets more is full earlier"),
    }
}

/// Whether nginx passes requests to itself, as far as that is known.
fn is_behind_itself(facts: &Facts) -> bool {
    !facts.again.is_empty() || facts.lost.is_some()
}

/// What a client costs: a number, or what it is that is not known.
fn divisor(facts: &Facts, busy: u64, what: &str) -> String {
    match facts.lost {
        Some(_) => format!("{what} of a client"),
        None => busy.to_string(),
    }
}

/// What clients cost, for the formula.
fn costs(facts: &Facts) -> String {
    let besides: Vec<&str> = facts.meanwhile().map(|one| &*one.by).collect();
    let all = facts.most_slots() - besides.len() as u64;
    let besides = match besides.len() {
        0 => String::new(),
        many => format!("; {} takes up to {many} more meanwhile", besides.join(" and ")),
    };
    itself(facts, all) + &besides
}

/// The same without requests that nginx makes besides.
fn itself(facts: &Facts, all: u64) -> String {
    match facts.busy_slots() {
        _ if is_behind_itself(facts) => through(facts, all),
        _ if facts.mixed => {
            "; a request that is proxied takes 2 connections, another one 1, and what decides that is not in the configuration"
                .to_owned()
        }
        _ if facts.cached => "; a response from the cache takes 1 connection, another one 2".to_owned(),
        2 => "; a proxied client holds 2 connections, an idle one 1".to_owned(),
        _ => String::new(),
    }
}

/// The same where nginx passes requests to itself.
fn through(facts: &Facts, all: u64) -> String {
    if let Some(why) = &facts.lost {
        return format!("; cannot tell how many a client takes, as nginx passes requests to itself: {why}");
    }
    let by: Vec<&str> = facts.again.iter().map(|again| &*again.by).collect();
    let last = facts.again.last().map(|again| again.serving);
    let onward = if last == Some(Serving::Upstream) { ", and the last one to its upstream" } else { "" };
    let fewest = match facts.busy_slots() {
        few if few < all => format!(", where it is answered early {few}"),
        _ => String::new(),
    };
    format!(
        "; nginx passes requests to itself (listen at {}): a client in flight holds {all} connections, its own, both ends of each to nginx \
         itself{onward}{fewest}; an idle one 1",
        by.join(" and "),
    )
}

/// Slots that `descriptors` are enough for: all but those that are open and hold no slot.
fn slots_for(facts: &Facts, descriptors: u64) -> u64 {
    (descriptors + facts.base_slots()).saturating_sub(facts.base_descriptors())
}

fn slots_ceiling(facts: &Facts) -> Ceiling {
    let by = facts.nofile_ceiling.by.clone();
    Ceiling { value: slots_for(facts, facts.nofile_ceiling.value as u64) as f64, by }
}

/// Descriptors of the workers.
pub(super) fn worker_rlimit_nofile(facts: &Facts) -> Limit {
    let (base, takes, setting) = (facts.base_descriptors(), facts.busy_descriptors(), WORKER_RLIMIT_NOFILE.name);
    let descriptors = Descriptors {
        value: &facts.nofile,
        reserved: base,
        takes,
        pools: f64::from(facts.workers.value),
        uneven: facts.uneven,
        kept: facts.kept(),
        logs: &[signature::DESCRIPTORS_ACCEPT, signature::DESCRIPTORS_SOCKET, signature::DESCRIPTORS_OTHER],
        metrics: (metrics::WORKER_FDS_MAX, metrics::WORKER_FD_LIMIT),
        answer: ErrorKind::Status500,
    };
    let limit = descriptors.limit("nginx.worker_rlimit_nofile", "nginx", setting);
    let law = if facts.lost.is_some() { Law::Unknown } else { limit.law.clone() };
    Limit {
        law,
        caps: "descriptors a worker may open: clients, upstreams, files, logs, listeners".to_owned(),
        formula: format!(
            "{} x floor(({} - {base} of its own) / {}){}; its own: 5 + {} + {} + {}{}{}",
            counted(facts.workers.value.into(), "worker"),
            facts.nofile.value,
            divisor(facts, takes.fewest, "descriptors"),
            if facts.lost.is_some() { String::new() } else { takes.said("descriptors") },
            counted((facts.workers.value + facts.helpers).into(), "channel"),
            counted((facts.sockets + facts.own_listeners).into(), "listening socket"),
            counted(facts.logs.into(), "log"),
            if is_behind_itself(facts) {
                "; nginx passes requests to itself, and each time takes descriptors"
            } else {
                ""
            },
            stay_open(facts) + &spread(facts),
        ),
        source:
            "getrlimit(2) RLIMIT_NOFILE; nginx src/event/ngx_event_accept.c: ngx_event_accept (EMFILE: no client is \
                 accepted for 500 ms), src/event/ngx_event_connect.c (EMFILE: 500)"
                .to_owned(),
        remedy: Some(Remedy {
            ceiling: Some(facts.nofile_ceiling.clone()),
            ..raised(setting, RemedyUnit::Count, 64.0)
        }),
        ..limit
    }
}

/// How long a connection is kept for a next request. (After `keepalive_requests`, and after `keepalive_time`, nginx says so in the last
/// response: no request meets that end.)
pub(super) fn kept(facts: &Facts) -> Option<Limit> {
    let held = &facts.keepalive_timeout;
    let source = "nginx src/http/ngx_http_request.c: ngx_http_keepalive_handler";
    (!held.value.is_zero()).then(|| limits::kept("nginx", KEEPALIVE_TIMEOUT.name, held, source))
}
