//! Values that nginx refuses, and directives that it takes once: either keeps it from starting.

use std::collections::BTreeMap;

use genkai_model::explain::{Remark, RemarkKind};

use crate::explain::remark;
use crate::nginx::config::{Config, Found, sockets};
use crate::nginx::settings::{LIMIT_CONN, LIMIT_CONN_ZONE, LIMIT_REQ, LIMIT_REQ_ZONE, WORKER_CONNECTIONS, value};

/// What nginx reads a value as (src/core/ngx_conf_file.c: `ngx_conf_set_*_slot`).
#[derive(Clone, Copy)]
enum Form {
    /// A whole number (`ngx_atoi`) from here on.
    Number(u64),
    /// A whole number, or `auto`.
    Auto,
    /// `ngx_parse_size`.
    Size,
    /// A size that may have variables.
    Expression,
    /// `ngx_parse_offset`.
    Offset,
    /// `ngx_parse_time`.
    Time,
    /// One or two times, the second for the client.
    Times,
    /// `on` or `off`.
    Flag,
    /// A number, at least so many, and a size.
    Buffers(u64),
}

use Form::{Auto, Buffers, Expression, Flag, Number, Offset, Size, Time, Times};

/// Directives with one value, by the blocks that they count in; `http` is that with all within it.
const VALUES: &[(&str, &str, Form)] = &[
    ("", "worker_processes", Auto),
    ("", "worker_rlimit_nofile", Number(0)),
    ("", "worker_shutdown_timeout", Time),
    ("events", "worker_connections", Number(0)),
    ("events", "multi_accept", Flag),
    ("events", "accept_mutex", Flag),
    ("events", "accept_mutex_delay", Time),
    ("http", "client_body_timeout", Time),
    ("http", "client_header_timeout", Time),
    ("http", "client_max_body_size", Offset),
    ("http", "client_body_buffer_size", Size),
    ("http", "client_header_buffer_size", Size),
    ("http", "large_client_header_buffers", Buffers(1)),
    ("http", "keepalive_requests", Number(0)),
    ("http", "keepalive_timeout", Times),
    ("http", "keepalive_time", Time),
    ("http", "limit_rate", Expression),
    ("http", "limit_rate_after", Expression),
    ("http", "limit_conn_dry_run", Flag),
    ("http", "limit_req_dry_run", Flag),
    ("http", "reset_timedout_connection", Flag),
    ("http", "send_timeout", Time),
    ("http", "sendfile", Flag),
    ("http", "tcp_nodelay", Flag),
    ("http", "tcp_nopush", Flag),
    ("http", "proxy_buffer_size", Size),
    ("http", "proxy_buffering", Flag),
    ("http", "proxy_connect_timeout", Time),
    ("http", "proxy_read_timeout", Time),
    ("http", "proxy_send_timeout", Time),
    ("http", "proxy_request_buffering", Flag),
    ("http", "proxy_limit_rate", Expression),
    ("http", "proxy_next_upstream_tries", Number(0)),
    ("http", "proxy_next_upstream_timeout", Time),
    ("http", "fastcgi_connect_timeout", Time),
    ("http", "fastcgi_read_timeout", Time),
    ("http", "fastcgi_send_timeout", Time),
];

impl Form {
    /// Whether nginx takes these words; true where variables decide.
    fn takes(self, words: &[String]) -> bool {
        let one = || if let [one] = words { Some(one.as_str()) } else { None };
        let is = |takes: fn(&str) -> bool| one().is_some_and(takes);
        match self {
            Number(least) => one().and_then(value::count).is_some_and(|n| n >= least),
            Auto => is(|word| word == "auto" || value::count(word).is_some()),
            Size => is(|word| value::size(word).is_some()),
            Expression => is(|word| word.contains('$') || value::size(word).is_some()),
            Offset => is(|word| value::offset(word).is_some()),
            Time => is(|word| value::time(word).is_some()),
            Times => match words {
                [server] => value::time(server).is_some(),
                [server, client] => value::time(server).is_some() && value::seconds(client).is_some(),
                _ => false,
            },
            Flag => is(|word| word.eq_ignore_ascii_case("on") || word.eq_ignore_ascii_case("off")),
            Buffers(least) => match words {
                [number, size] => {
                    value::count(number).is_some_and(|n| n >= least) && value::size(size).is_some_and(|n| n > 0)
                }
                _ => false,
            },
        }
    }

    /// What it wants.
    fn wants(self) -> &'static str {
        match self {
            Number(_) => "a whole number",
            Auto => "a whole number or auto",
            Size | Expression => "a size such as 512, 8k or 1m",
            Offset => "a size such as 512, 8k, 1m or 2g",
            Time => "a time such as 500ms, 30s or 1h",
            Times => "one time, or two, such as 75s",
            Flag => "on or off",
            Buffers(_) => "a number and a size, such as 4 8k",
        }
    }
}

pub(super) fn of(config: &Config) -> Vec<Remark> {
    let all: Vec<_> = config.walk().into_iter().filter(|f| !f.is_entry()).collect();
    let mut told: Vec<Remark> = all.iter().filter_map(refused).collect();
    told.extend(twice(&all));
    told.extend(zones(config, &all));
    told.extend(too_few(config));
    told
}

/// The form of a directive's value, where it is one of those known.
fn form(found: &Found<'_>) -> Option<Form> {
    let place =
        found.blocks.first().map_or(String::new(), |b| String::from_utf8_lossy(b.directive.name()).into_owned());
    VALUES.iter().find(|(at, name, _)| *at == place && found.directive.is(name)).map(|(_, _, form)| *form)
}

fn wrong(found: &Found<'_>, text: String, hint: Option<String>) -> Remark {
    let name = String::from_utf8_lossy(found.directive.name()).into_owned();
    remark(RemarkKind::Unknown, Some(found.place()), &name, format!("{text}: nginx does not start"), hint)
}

fn refused(found: &Found<'_>) -> Option<Remark> {
    let form = form(found)?;
    let words = found.args();
    (!form.takes(&words))
        .then(|| wrong(found, format!("cannot be `{}`", words.join(" ")), Some(form.wants().to_owned())))
}

/// Directives with one value that come twice in a block ("directive is duplicate").
fn twice(all: &[Found<'_>]) -> Vec<Remark> {
    let mut seen: BTreeMap<(Vec<(usize, usize)>, String), String> = BTreeMap::new();
    let mut told = Vec::new();
    for found in all.iter().filter(|f| form(f).is_some()) {
        let name = String::from_utf8_lossy(found.directive.name()).into_owned();
        if let Some(first) = seen.insert((path(found), name), found.place()) {
            told.push(wrong(found, format!("is written twice in one block, here and at {first}"), None));
        }
    }
    told
}

/// Which block a directive is in: where each on the way begins.
fn path(found: &Found<'_>) -> Vec<(usize, usize)> {
    found.blocks.iter().map(|b| (b.file.0, b.directive.span.start)).collect()
}

/// Zones that no declaration makes ("zero size shared memory zone").
fn zones(config: &Config, all: &[Found<'_>]) -> Vec<Remark> {
    let declared = |directive: &str| -> Vec<String> {
        let name =
            |f: &Found<'_>| f.args().iter().find_map(|a| Some(a.strip_prefix("zone=")?.split(':').next()?.to_owned()));
        config.find(&["http"], directive).iter().filter_map(name).collect()
    };
    let (conns, reqs) = (declared(LIMIT_CONN_ZONE.directive), declared(LIMIT_REQ_ZONE.directive));
    let missing = |f: &Found<'_>| {
        let (zone, declared, by) = if f.directive.is(LIMIT_CONN.directive) {
            (f.arg(0)?, &conns, LIMIT_CONN_ZONE.directive)
        } else if f.directive.is(LIMIT_REQ.directive) {
            (f.args().iter().find_map(|a| a.strip_prefix("zone=").map(str::to_owned))?, &reqs, LIMIT_REQ_ZONE.directive)
        } else {
            return None;
        };
        (!declared.contains(&zone)).then(|| wrong(f, format!("uses zone {zone}, which no {by} makes"), None))
    };
    all.iter().filter(|f| f.is_under("http")).filter_map(missing).collect()
}

/// Each listening socket takes a slot in every worker (src/event/ngx_event.c: `ngx_event_init_conf`).
fn too_few(config: &Config) -> Option<Remark> {
    let found = config.find(&["events"], WORKER_CONNECTIONS.directive).into_iter().next()?;
    let asked = value::count(&found.arg(0)?)?;
    let listeners = sockets(&config.listens()) as u64;
    (asked <= listeners).then(|| {
        let text = format!("{asked} are not enough for {listeners} listening sockets and the channel to the master");
        wrong(&found, text, Some(format!("at least {}", listeners + 1)))
    })
}
