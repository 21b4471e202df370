//! The error log: a line becomes a level and, where it is a message that proves something, a signature.
//!
//! Every pattern is anchored at the start of nginx's own message. What a client sent (paths, headers) appears later in the
//! line or inside quotes, so no request can forge evidence.

use std::borrow::Cow;
use std::sync::LazyLock;

use genkai_model::evidence::LogLine;
use regex::{Regex, RegexSet};

use genkai_place::log_lines::{self, ParsedLine};

use crate::limits::php;

/// Names of the messages that prove something.
pub mod signature {
    /// A worker had no free slot for a new client: it accepted and closed.
    pub const WORKER_CONNECTIONS: &str = "nginx.worker_connections.alert";
    /// A worker had no free slot for the upstream half of a request: the client got 500.
    pub const WORKER_CONNECTIONS_UPSTREAM: &str = "nginx.worker_connections.upstream";
    /// A worker had at most 1/16 of its slots left and closed idle connections (a `warn`, once a second).
    pub const WORKER_CONNECTIONS_REUSING: &str = "nginx.worker_connections.reusing";
    /// `accept4() failed (24: Too many open files)`: new clients stay in the accept queue.
    pub const DESCRIPTORS_ACCEPT: &str = "nginx.descriptors.accept";
    /// `socket() failed (24: ...)`: no descriptor for the upstream half, the client got 500.
    pub const DESCRIPTORS_SOCKET: &str = "nginx.descriptors.socket";
    /// Another call failed with error 24.
    pub const DESCRIPTORS_OTHER: &str = "nginx.descriptors.other";
    /// Error 23: the whole machine is out of descriptors.
    pub const DESCRIPTORS_MACHINE: &str = "nginx.descriptors.machine";
    /// The upstream refused the connection (error 111).
    pub const UPSTREAM_REFUSED: &str = "nginx.upstream.refused";
    /// The upstream cannot be connected to: no such socket, no permission, no route (errors 2, 13, 101, 113).
    pub const UPSTREAM_UNREACHABLE: &str = "nginx.upstream.unreachable";
    /// Every upstream server is marked down, or at its `max_conns`.
    pub const UPSTREAM_NONE_LIVE: &str = "nginx.upstream.none_live";
    /// No local port left towards the upstream (error 99).
    pub const UPSTREAM_PORTS: &str = "nginx.upstream.ports";
    /// The upstream's Unix socket has a full accept queue (error 11); of one socket: [`in_zone`].
    pub const UPSTREAM_QUEUE_FULL: &str = crate::limits::backend::QUEUE_FULL;
    /// Connecting to the upstream took longer than `proxy_connect_timeout`.
    pub const UPSTREAM_CONNECT_TIMEOUT: &str = "nginx.upstream.connect_timeout";
    /// The upstream was silent longer than `proxy_read_timeout` (or `proxy_send_timeout`).
    pub const UPSTREAM_TIMEOUT: &str = "nginx.upstream.timeout";
    /// The upstream closed or reset the connection before it had answered.
    pub const UPSTREAM_CLOSED: &str = crate::limits::closed::NGINX;
    /// The handshake of TLS with the upstream failed.
    pub const UPSTREAM_TLS: &str = "nginx.upstream.tls";
    /// The response head does not fit `proxy_buffer_size`.
    pub const UPSTREAM_HEADER: &str = "nginx.upstream.header_too_big";
    /// A request body above `client_max_body_size`.
    pub const BODY_TOO_LARGE: &str = "nginx.client_max_body_size";
    /// `limit_conn` refused a request; of one zone: [`in_zone`].
    pub const LIMIT_CONN: &str = "nginx.limit_conn";
    /// `limit_req` refused a request; of one zone: [`in_zone`].
    pub const LIMIT_REQ: &str = "nginx.limit_req";
    /// `limit_req` held a request back; of one zone: [`in_zone`].
    pub const LIMIT_REQ_DELAY: &str = "nginx.limit_req_delay";
    /// The cache's key zone is full.
    pub const CACHE_ZONE: &str = "nginx.cache.zone_full";
    /// The disk under a temporary or cache file is full.
    pub const DISK_FULL: &str = "nginx.disk_full";
    /// Memory could not be had.
    pub const MEMORY: &str = "nginx.memory";
    /// `allow` and `deny` refused a client: 403.
    pub const FORBIDDEN: &str = "nginx.forbidden";
    /// A file that nginx serves itself is not there: 404.
    pub const FILE_MISSING: &str = "nginx.file.missing";
    /// It may not be read: 403.
    pub const FILE_UNREADABLE: &str = "nginx.file.unreadable";
    /// A folder without a page, which may not be listed: 403.
    pub const FOLDER: &str = "nginx.folder";
    /// A worker process died of a signal.
    pub const WORKER_DIED: &str = "nginx.worker_died";

    /// The signature of a message that names a shared zone, or a socket, e.g. `nginx.limit_conn.perip`.
    pub fn in_zone(signature: &str, zone: &str) -> String {
        format!("{signature}.{zone}")
    }
}

/// Signatures with the pattern of the message, first match wins. Texts: nginx 1.22.1 and 1.31.5, the file named.
const KNOWN: &[(&str, &str)] = &[
    // src/core/ngx_connection.c, ngx_drain_connections
    (signature::WORKER_CONNECTIONS_REUSING, r"^\d+ worker_connections are not enough, reusing connections"),
    // src/core/ngx_connection.c, ngx_get_connection, called from src/event/ngx_event_connect.c
    (
        signature::WORKER_CONNECTIONS_UPSTREAM,
        r"^\d+ worker_connections are not enough while (?:connecting to|resolving|sending|reading)",
    ),
    (signature::WORKER_CONNECTIONS, r"^\d+ worker_connections are not enough(?:$|,| )"),
    // src/event/ngx_event_accept.c
    (signature::DESCRIPTORS_ACCEPT, r"^accept4?\(\) failed \(24: "),
    // src/event/ngx_event_connect.c
    (signature::DESCRIPTORS_SOCKET, r"^socket\(\) failed \(24: "),
    (signature::DESCRIPTORS_OTHER, r#"^[a-z_0-9]+\((?:"[^"]*")?\)(?: "[^"]*")? failed \(24: "#),
    (signature::DESCRIPTORS_MACHINE, r#"^[a-z_0-9]+\((?:"[^"]*")?\)(?: "[^"]*")? failed \(23: "#),
    // src/event/ngx_event_connect.c and src/http/ngx_http_upstream.c, ngx_http_upstream_test_connect
    (signature::UPSTREAM_REFUSED, r"^connect\(\)(?: to \S+)? failed \(111: "),
    // EACCES, ENOENT (Unix sockets), ENETUNREACH, EHOSTUNREACH
    (signature::UPSTREAM_UNREACHABLE, r"^connect\(\)(?: to \S+)? failed \((?:13|2|101|113): "),
    (signature::UPSTREAM_PORTS, r"^(?:connect\(\)(?: to \S+)?|bind\(\S+\)) failed \((?:99|98): "),
    (signature::UPSTREAM_QUEUE_FULL, r"^connect\(\) to unix:(\S*) failed \(11: "),
    // src/http/ngx_http_upstream.c, ngx_http_upstream_connect
    (signature::UPSTREAM_NONE_LIVE, r"^no live upstreams"),
    // src/http/ngx_http_upstream.c, ngx_http_upstream_next; src/core/ngx_connection.c, ngx_connection_error
    (
        signature::UPSTREAM_CONNECT_TIMEOUT,
        r"^(?:upstream timed out|connect\(\)(?: to \S+)? failed) \(110: [^)]*\) while connecting",
    ),
    (signature::UPSTREAM_TIMEOUT, r"^upstream timed out \(110: "),
    (signature::UPSTREAM_CLOSED, r"^upstream prematurely closed connection"),
    (
        signature::UPSTREAM_CLOSED,
        r"^(?:recv|readv|send|writev|sendfile|SSL_read|SSL_write)\(\) failed \((?:104|32): [^)]*\) while (?:reading|sending)[^,]* upstream",
    ),
    // src/event/ngx_event_openssl.c, ngx_ssl_handshake; src/http/ngx_http_upstream.c, ngx_http_upstream_ssl_handshake
    (signature::UPSTREAM_TLS, r"^SSL_do_handshake\(\) failed \((?:SSL: )?[^)]*\) while SSL handshaking to upstream"),
    (
        signature::UPSTREAM_TLS,
        r"^peer closed connection in SSL handshake(?: \(\d+: [^)]*\))? while SSL handshaking to upstream",
    ),
    (signature::UPSTREAM_TLS, r"^upstream SSL certificate (?:verify error: \(|does not match )"),
    (signature::UPSTREAM_HEADER, r"^upstream sent too big header"),
    // src/http/ngx_http_core_module.c, src/http/ngx_http_request_body.c
    (signature::BODY_TOO_LARGE, r"^client intended to send too large (?:chunked )?body"),
    // src/http/modules/ngx_http_access_module.c: ngx_http_access_found
    (signature::FORBIDDEN, r"^access forbidden by rule"),
    // src/http/modules/ngx_http_static_module.c: ENOENT, ENOTDIR, ENAMETOOLONG, then EACCES and ELOOP; ngx_http_index_module.c: ngx_http_index_error
    (signature::FILE_MISSING, r#"^(?:open|openat|l?stat)\(\) "[^"]*" failed \((?:2|20|36): "#),
    (signature::FILE_MISSING, r#"^"[^"]*" is not found \(\d+: "#),
    (signature::FILE_UNREADABLE, r#"^(?:open|openat|l?stat)\(\) "[^"]*" failed \((?:13|40): "#),
    (signature::FILE_UNREADABLE, r#"^"[^"]*" is forbidden \(\d+: "#),
    // src/http/ngx_http_core_module.c: ngx_http_core_content_phase
    (signature::FOLDER, r#"^directory index of "[^"]*" is forbidden"#),
    // src/http/modules/ngx_http_limit_conn_module.c; a dry run refuses nothing
    (signature::LIMIT_CONN, r#"^limiting connections by zone "([^"]*)""#),
    // src/http/modules/ngx_http_limit_req_module.c
    (signature::LIMIT_REQ, r#"^limiting requests, excess: [0-9.]+,? by zone "([^"]*)""#),
    (signature::LIMIT_REQ_DELAY, r#"^delaying request, excess: [0-9.]+,? by zone "([^"]*)""#),
    // src/http/ngx_http_file_cache.c
    (signature::CACHE_ZONE, r"^could not allocate node in cache keys zone"),
    (signature::DISK_FULL, r#"^[a-z_0-9]+\((?:"[^"]*")?\)(?: "[^"]*")? failed \(28: "#),
    (signature::MEMORY, r"^(?:malloc|posix_memalign|memalign|mmap)\([^)]*\) failed"),
    // src/os/unix/ngx_process.c, ngx_process_get_status
    (signature::WORKER_DIED, r"^worker process \d+ exited on signal \d+"),
];

static MESSAGES: LazyLock<RegexSet> =
    LazyLock::new(|| RegexSet::new(KNOWN.iter().map(|(_, pattern)| pattern)).expect("patterns are constants"));

/// The same, one by one, for those that name a zone.
static PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| KNOWN.iter().map(|(_, pattern)| Regex::new(pattern).expect("patterns are constants")).collect());

/// `2026/11/21 11:00:00 [alert] 123#123: *45 message`, or on stderr before the log is open `nginx: [emerg] message`.
static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\d{4}/\d\d/\d\d \d\d:\d\d:\d\d|nginx:) \[([a-z]+)\] (?:\d+#\d+: (?:\*\d+ )?)?")
        .expect("pattern is a constant")
});

/// Every signature that a line can have, without its zone.
#[cfg(test)]
pub(in crate::nginx) fn known() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|(name, _)| *name)
}

/// One line of the error log, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// `debug` ... `emerg`; empty for a line that is not in nginx's format (a module's own output).
    pub level: &'a str,
    /// What nginx says, without time, process and connection numbers.
    pub message: &'a str,
    /// The known message it is, one of [`signature`] (with its zone where it names one).
    pub signature: Option<Cow<'static, str>>,
}

/// Reads one line of the error log. Any text is accepted.
pub fn classify(line: &str) -> Entry<'_> {
    let Some(head) = HEAD.captures(line) else {
        return Entry { level: "", message: line, signature: None };
    };
    let level = head.get(1).map_or("", |m| m.as_str());
    let message = &line[head.get(0).map_or(0, |m| m.end())..];
    Entry { level, message, signature: recognise(message) }
}

/// What whoever is reached by FastCGI told of a request (src/http/modules/ngx_http_fastcgi_module.c).
const TOLD: &str = "FastCGI sent in stderr: \"";

fn recognise(message: &str) -> Option<Cow<'static, str>> {
    if let Some(told) = message.strip_prefix(TOLD) {
        return php::ended(told).map(Into::into);
    }
    let first = MESSAGES.matches(message).iter().next()?;
    let (name, pattern) = (KNOWN[first].0, &PATTERNS[first]);
    if pattern.captures_len() == 1 {
        return Some(name.into());
    }
    let zone = pattern.captures(message).and_then(|found| found.get(1)).map_or("", |zone| zone.as_str());
    Some(signature::in_zone(name, zone).into())
}

/// Puts the lines of one interval together: one [`LogLine`] a signature (or, for unknown lines, a text without its
/// numbers and the client's particulars), in order of first appearance, with how many there were.
pub fn aggregate<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<LogLine> {
    log_lines::aggregate("nginx", lines, |line| {
        let Entry { level, message, signature } = classify(line);
        ParsedLine { level, gist: message.split(", client: ").next().unwrap_or(message), signature }
    })
}

#[cfg(test)]
mod tests;
