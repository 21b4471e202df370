//! Limits on how many clients can be served at once: workers, and descriptors of their processes.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Law, Limit, Remedy, RemedyUnit, Signature, Strength, Symptom};

use super::Facts;
use super::facts::most_servers;
use crate::apache::evidence::{metrics, signature};
use crate::apache::settings::{
    KEEP_ALIVE_TIMEOUT, MAX_REQUEST_WORKERS, Mpm, SERVER_LIMIT, START_SERVERS, THREADS_PER_CHILD,
};
use crate::limits::slots::Takes;
use crate::limits::{
    self, Descriptors, counted, errors, grew, grew_as_ended, log, logged_once, raised, reached, valued,
};

/// Share of the workers from which on all are as good as busy: the last ones are those that just finished.
const FULL: f64 = 0.98;

/// Workers: a request in flight holds one, a tunnel holds one for its whole life. Named after the setting that decides:
/// `ServerLimit` where that keeps `MaxRequestWorkers` from counting.
pub(super) fn max_request_workers(facts: &Facts) -> Limit {
    let clamped = facts.is_clamped();
    let (setting, held, per) = match clamped {
        true => (SERVER_LIMIT.name, &facts.server_limit, facts.threads() as f64),
        false => (MAX_REQUEST_WORKERS.name, &facts.max_request_workers, 1.0),
    };
    let value = if clamped { facts.servers() as f64 } else { facts.workers() as f64 };
    let mpm = facts.mpm.name();
    Limit {
        caps: "requests and tunnels served at once".to_owned(),
        law: facts.passes.workers().map_or(Law::Unknown, |workers| Law::Slots {
            value,
            reserved: 0.0,
            idle_cost: facts.idle_cost() / per,
            busy_cost: workers / per,
            pools: 1.0,
            soft: strands(facts),
        }),
        formula: formula(facts),
        source: format!(
            "httpd server/mpm/{mpm}/{mpm}.c: {mpm}_check_config (how the numbers are fitted to one another){}",
            if facts.mpm == Mpm::Event { ", connections_above_limit (idle connections)" } else { "" }
        ),
        signatures: signatures(facts),
        symptom: symptom(facts),
        remedy: Some(remedy(facts, setting, clamped)),
        ..valued(&format!("apache.{setting}"), "apache", setting, held)
    }
}

/// Part of the workers that requests and tunnels certainly get. A child of event may hold one back: reserved for a connection that another
/// child was faster to accept (event.c: get_worker; measured on 2.4.71: 393 tunnels of 400 workers with 16 children, 400 with one; 14
/// requests of 15 workers with 5). Where prefork passes requests to itself each process keeps a connection of its own there, which holds another process until
/// it is used again (measured: 16 processes serve 7 clients without a kept connection at once, the eighth waits).
fn strands(facts: &Facts) -> f64 {
    let (workers, children) = (facts.workers() as f64, facts.children() as f64);
    match facts.passes.workers() {
        _ if holds_back(facts) => (workers - children) / workers,
        Some(times) if facts.mpm == Mpm::Prefork && times > 1.0 => (workers - times).max(0.0) / workers,
        _ => 1.0,
    }
}

/// Whether children of event may hold a worker back.
fn holds_back(facts: &Facts) -> bool {
    facts.mpm == Mpm::Event && facts.children() > 1
}

fn signatures(facts: &Facts) -> Vec<Signature> {
    let mut all = vec![
        // mpm_event, worker and prefork: once for each generation of children (`maxclients_reported`, `reported`).
        logged_once(signature::MAX_REQUEST_WORKERS, Strength::Decisive),
        reached(metrics::BUSY, facts.workers() as f64 * FULL, Strength::Supports),
        grew(metrics::UNREACHABLE, Strength::Consistent),
    ];
    if closes_on_itself(facts) {
        all.push(log(signature::BACKEND_CLOSED, Strength::Supports));
    }
    if facts.is_clamped() {
        all.push(log(signature::SCOREBOARD_FULL, Strength::Decisive));
    }
    if facts.mpm == Mpm::Event && facts.children() == 1 {
        // Where there is one child only, it is full when the server is.
        all.push(log(signature::CHILD_FULL, Strength::Decisive));
    }
    all
}

/// Whether a request that httpd passes to itself may meet a kept connection that it closed for want of workers: event's (measured on 2.4.71, AH01102).
fn closes_on_itself(facts: &Facts) -> bool {
    facts.mpm == Mpm::Event && facts.passes.is_again()
}

/// Clients wait; those of event that kept a connection may find it closed.
fn symptom(facts: &Facts) -> Symptom {
    let mut errors = vec![ErrorKind::Timeout, ErrorKind::ConnectTimeout];
    if facts.mpm == Mpm::Event {
        errors.extend([ErrorKind::EofReused, ErrorKind::ResetReused, ErrorKind::Reset]);
    }
    if closes_on_itself(facts) {
        errors.push(ErrorKind::Status502);
    }
    Symptom { errors, slow: true }
}

/// Threads of one child, with event and several children: kept connections stay with the child that accepted them, and a
/// child whose threads are all busy closes some of them although others have room. None otherwise.
pub(super) fn threads_per_child(facts: &Facts) -> Option<Limit> {
    let children = facts.children();
    if facts.mpm != Mpm::Event || children < 2 || !facts.keep_alive || facts.websocket {
        return None;
    }
    let held = &facts.threads_per_child;
    let threads = facts.threads();
    Some(Limit {
        caps: "clients that one child can serve at once; a kept connection stays with its child".to_owned(),
        law: facts.passes.workers().map_or(Law::Unknown, |workers| Law::Slots {
            value: threads as f64,
            reserved: 0.0,
            idle_cost: facts.idle_cost() / children as f64,
            busy_cost: workers / children as f64,
            pools: 1.0,
            soft: 1.0 / children as f64,
        }),
        formula: format!(
            "from {threads} (all with one child) to {children} children x {threads} threads = {} (evenly spread){}",
            facts.workers(),
            facts.passes.said()
        ),
        source: "httpd server/mpm/event/event.c: listener_thread (all workers busy: keep-alive connections are closed)".to_owned(),
        signatures: vec![log(signature::CHILD_FULL, Strength::Decisive)],
        symptom: Symptom { errors: vec![ErrorKind::EofReused, ErrorKind::ResetReused, ErrorKind::Reset], slow: false },
        remedy: Some(Remedy {
            ceiling: Some(Ceiling {
                value: facts.workers() as f64,
                by: format!("MaxRequestWorkers {}: one child for all", facts.max_request_workers.value),
            }),
            note: Some(
                "fewer, larger children; ThreadLimit is raised along. The worker MPM never closes a kept connection for want \
                 of a thread: each has one"
                    .to_owned(),
            ),
            // One child for all: of the values between, httpd takes those only of which MaxRequestWorkers is a multiple (AH00513).
            ..raised(THREADS_PER_CHILD.name, RemedyUnit::Count, facts.workers() as f64)
        }),
        ..valued("apache.ThreadsPerChild", "apache", THREADS_PER_CHILD.name, held)
    })
}

fn formula(facts: &Facts) -> String {
    let (asked, threads, servers) = (facts.max_request_workers.value, facts.threads(), facts.servers());
    let sum = match facts.mpm {
        Mpm::Prefork => {
            format!("min(MaxRequestWorkers {asked}, ServerLimit {servers}) = {} processes", facts.workers())
        }
        _ if asked < threads => {
            format!(
                "1 child (MaxRequestWorkers {asked} is less than its threads) x {threads} threads = {} workers",
                facts.workers()
            )
        }
        _ => format!(
            "min(floor(MaxRequestWorkers {asked} / {threads}), ServerLimit {servers}) x {threads} threads = {} workers",
            facts.workers()
        ),
    };
    let idle = match facts.mpm {
        _ if facts.websocket => "; a tunnel holds one worker".to_owned(),
        Mpm::Event if facts.keep_alive => {
            format!("; a request in flight holds 1, an idle client 1/{}", 1 + facts.async_factor.value as u64)
        }
        _ if facts.keep_alive => "; a connection holds 1, an idle one too".to_owned(),
        _ => "; a request in flight holds 1".to_owned(),
    };
    let back = if holds_back(facts) { "; each of several children may hold one back" } else { "" };
    sum + &idle + back + &facts.passes.said()
}

fn remedy(facts: &Facts, setting: &str, clamped: bool) -> Remedy {
    let threads = facts.threads() as f64;
    let most = most_servers(facts.mpm) as f64;
    let needed = "ServerLimit must be at least MaxRequestWorkers / ThreadsPerChild: it is raised along where it is not. Both take \
                  effect at a restart only, and each worker takes memory";
    Remedy {
        ceiling: Some(match clamped {
            true => Ceiling {
                value: (facts.max_request_workers.value as f64 / threads).floor(),
                by: format!("MaxRequestWorkers {}", facts.max_request_workers.value),
            },
            false => {
                Ceiling { value: most * threads, by: format!("MAX_SERVER_LIMIT {most} of {}.c", facts.mpm.name()) }
            }
        }),
        note: (!clamped).then(|| needed.to_owned()),
        processes: if clamped { 1.0 } else { 1.0 / threads },
        ..raised(setting, RemedyUnit::Count, if clamped { 1.0 } else { threads })
    }
}

/// Places for children in the scoreboard. One that ends gracefully keeps its place until its last connection is closed (a tunnel, a long
/// response), so that fewer workers than `MaxRequestWorkers` allows may have room.
pub(super) fn scoreboard(facts: &Facts) -> Option<Limit> {
    if facts.mpm == Mpm::Prefork || facts.is_clamped() {
        return None;
    }
    let (held, children) = (&facts.server_limit, facts.children());
    Some(Limit {
        caps:
            "places for children, of which those that end gracefully keep theirs until their last connection is closed"
                .to_owned(),
        formula: format!(
            "{}, {} at full load: {} to spare for children that end gracefully",
            counted(facts.servers(), "place"),
            counted(children, "child").replace("childs", "children"),
            facts.servers() - children
        ),
        source: "httpd server/mpm/event/event.c: perform_idle_server_maintenance (AH03490); worker.c (AH00288)"
            .to_owned(),
        signatures: vec![log(signature::SCOREBOARD_FULL, Strength::Decisive)],
        symptom: Symptom { errors: vec![ErrorKind::Timeout, ErrorKind::ConnectTimeout], slow: true },
        ..valued("apache.ServerLimit", "apache", SERVER_LIMIT.name, held)
    })
}

/// How fast prefork forks: who comes faster waits, however many children there may be. When that is too slow depends on how fast the load
/// rises, so no number is told. None where all of them are spare before anybody comes.
pub(super) fn forked(facts: &Facts) -> Option<Limit> {
    let (held, most) = (&facts.start_servers, facts.children());
    (facts.mpm == Mpm::Prefork && held.value.max(facts.spare_servers.0) < most).then(|| Limit {
        caps: "children at the start; further ones are forked while clients wait for them".to_owned(),
        formula: format!(
            "{} children at the start; in each second in which fewer than MinSpareServers {} are idle 1, 2, 4, ... 32 more, up to {most}",
            held.value, facts.spare_servers.0
        ),
        source: "httpd server/mpm/prefork/prefork.c: perform_idle_server_maintenance, MAX_SPAWN_RATE".to_owned(),
        signatures: vec![grew(metrics::SHORT, Strength::Supports)],
        symptom: Symptom { errors: vec![ErrorKind::Timeout, ErrorKind::ConnectTimeout], slow: true },
        remedy: Some(Remedy {
            ceiling: Some(Ceiling { value: most as f64, by: format!("{most} children at most") }),
            note: Some(stays(most, facts.spare_servers.1)),
            // All of them: how many of fewer would be there in time depends on how fast the load rises.
            ..raised(START_SERVERS.name, RemedyUnit::Count, most as f64)
        }),
        ..valued("apache.StartServers", "apache", START_SERVERS.name, held)
    })
}

/// What keeps the children that were started, or takes them away.
fn stays(most: u64, spare: u64) -> String {
    let or = "or a larger MinSpareServers: as many are idle before anybody comes";
    match spare < most {
        true => format!(
            "MaxSpareServers is raised along from {spare} to {most}: more idle children than it are ended, one a second, so that after a \
             quiet while only {spare} would be left; {or}"
        ),
        false => or.to_owned(),
    }
}

/// Children that are ended while the server serves, because more is idle than may be spare, or because they have served their share. Their
/// clients' kept connections are closed with them: a request that is on its way then meets the end (RFC 9112, 9.3.1). A child of prefork has one
/// client and looks whether it is to end once that one has left (server/mpm/prefork/prefork.c: child_main).
pub(super) fn ended(facts: &Facts) -> Option<Limit> {
    let (setting, held) = &facts.ends;
    (facts.keep_alive && !facts.websocket && facts.mpm != Mpm::Prefork).then(|| Limit {
        caps: "children are ended while they serve, and the connections that their clients keep are closed".to_owned(),
        formula:
            "a request that is sent while its kept connection is closed gets no answer; it may be made again on another"
                .to_owned(),
        source: "httpd server/mpm/event/event.c, worker.c: perform_idle_server_maintenance; child_main".to_owned(),
        // Servers end idle children all the time, and mostly nobody meets it.
        signatures: vec![grew_as_ended(metrics::ENDED, Strength::Supports)],
        symptom: errors(&[ErrorKind::EofReused, ErrorKind::ResetReused]),
        ..valued(&format!("apache.{setting}"), "apache", setting, held)
    })
}

/// How long a connection is kept for a next request.
pub(super) fn kept(facts: &Facts) -> Option<Limit> {
    let held = &facts.keep_alive_timeout;
    let source =
        "httpd server/mpm/event/event.c: keepalive_q; modules/http/http_core.c: ap_process_http_sync_connection";
    (facts.keep_alive && !facts.websocket && !held.value.is_zero())
        .then(|| limits::kept("apache", KEEP_ALIVE_TIMEOUT.name, held, source))
}

/// The name of the limit that descriptors are.
pub(crate) const DESCRIPTORS: &str = "apache.nofile";

/// Descriptors of each child process.
pub(super) fn nofile(facts: &Facts) -> Limit {
    let (base, busy) = (facts.base_descriptors(), facts.busy_descriptors());
    let most = most_descriptors(facts);
    let descriptors = Descriptors {
        kept: None,
        value: &facts.nofile,
        reserved: base,
        takes: Takes::always(busy),
        pools: facts.children() as f64,
        uneven: false,
        logs: &[signature::DESCRIPTORS_ACCEPT, signature::DESCRIPTORS_OTHER],
        metrics: (metrics::WORKER_FDS_MAX, metrics::WORKER_FD_LIMIT),
        answer: ErrorKind::Status503,
    };
    let limit = descriptors.limit(DESCRIPTORS, "apache", "ulimit -n");
    Limit {
        caps: "descriptors a child process may open: clients, backends, logs, listeners".to_owned(),
        formula: match most {
            Some(most) => format!("a process takes at most {most} of its {}", facts.nofile.value),
            None => format!(
                "{} x floor(({} - {base} of its own) / {busy})",
                counted(facts.children(), "process").replace("processs", "processes"),
                facts.nofile.value
            ),
        },
        source: "getrlimit(2) RLIMIT_NOFILE; httpd os/unix/unixd.c: ap_unixd_accept (EMFILE: the child ends)"
            .to_owned(),
        law: if most.is_some() { Law::Unknown } else { limit.law },
        ..limit
    }
}

/// Descriptors of a child all of whose places are taken, where it has so many: then they are no limit. Worker and prefork have a place for
/// each thread; event holds idle clients beside those (event.c: connections_above_limit).
fn most_descriptors(facts: &Facts) -> Option<u64> {
    let idle = match facts.mpm {
        Mpm::Event => (facts.threads() as f64 * facts.async_factor.value.floor()) as u64,
        _ => 0,
    };
    let most = facts.base_descriptors() + facts.threads() * facts.busy_descriptors() + idle;
    (most <= facts.nofile.value).then_some(most)
}
