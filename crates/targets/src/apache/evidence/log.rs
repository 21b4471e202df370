//! The error log: a line becomes a level and, where it is a message that proves something, a signature.
//!
//! Messages are known by their numbers (docs/log-message-tags in httpd's source), which httpd writes right after the fields
//! of its own. What a client sent appears later in the line, so no request can forge evidence.

use std::borrow::Cow;
use std::sync::LazyLock;

use genkai_model::evidence::LogLine;
use regex::Regex;

use genkai_place::log_lines::{self, ParsedLine};

use crate::limits::php;

/// Names of the messages that prove something.
pub mod signature {
    /// Every worker is busy and there may be no more (once a start).
    pub const MAX_REQUEST_WORKERS: &str = "apache.max_request_workers";
    /// The scoreboard is full though fewer workers than allowed live: children that end gracefully hold its slots.
    pub const SCOREBOARD_FULL: &str = "apache.scoreboard_full";
    /// No descriptor for a new client.
    pub const DESCRIPTORS_ACCEPT: &str = "apache.descriptors.accept";
    /// No descriptor for something else (error 24).
    pub const DESCRIPTORS_OTHER: &str = "apache.descriptors.other";
    /// No free connection in a child's pool towards the backend within `acquire`.
    pub const POOL_EXHAUSTED: &str = "apache.proxy.pool";
    /// The backend does not take connections.
    pub const BACKEND_REFUSED: &str = "apache.backend.refused";
    /// The backend cannot be connected to: refused, no such socket, no permission, no route (errors 111, 2, 13, 101, 113).
    pub const BACKEND_UNREACHABLE: &str = "apache.backend.unreachable";
    /// The handshake of TLS with the backend failed.
    pub const BACKEND_TLS: &str = "apache.backend.tls";
    /// The backend asks for a certificate, and there is none for it. It may do without.
    pub const BACKEND_CERTIFICATE: &str = "apache.backend.certificate";
    /// The backend ended the connection because it was shown no certificate (TLS 1.3, alert 116; at level info).
    pub const BACKEND_WANTS: &str = "apache.backend.certificate_required";
    /// The head or the body of a request did not come in time: 408.
    pub const REQUEST_SLOW: &str = "apache.request_slow";
    /// The backend was silent longer than it may.
    pub const BACKEND_SILENT: &str = "apache.backend.silent";
    /// The backend closed or reset the connection before it had answered.
    pub const BACKEND_CLOSED: &str = crate::limits::closed::APACHE;
    /// No local port left towards the backend (error 99).
    pub const BACKEND_PORTS: &str = "apache.backend.ports";
    /// A request body above `LimitRequestBody`.
    pub const BODY_TOO_LARGE: &str = "apache.LimitRequestBody";
    /// Every thread of one child is busy (event, at level debug): it accepts no more, and connections that its clients keep
    /// may be closed, although other children have room.
    pub const CHILD_FULL: &str = "apache.child_full";
    /// `Require` denied access: 403.
    pub const DENIED: &str = "apache.denied";
    /// `Deny` of mod_access_compat did.
    pub const DENIED_COMPAT: &str = "apache.denied.compat";
    /// A file, a `.htaccess` or a folder on the way to it may not be read: 403.
    pub const FILE_DENIED: &str = "apache.file.denied";
    /// A folder without a page, which may not be listed: 403.
    pub const FOLDER: &str = "apache.folder";
    /// A file of a folder (`.htaccess`) has a line that httpd does not take: 500.
    pub const OVERRIDE_REFUSED: &str = "apache.override.refused";
    /// Rules of a folder are forbidden by its `Options`: 403.
    pub const RULES_FORBIDDEN: &str = "apache.rewrite.options";
    /// A child process died of a signal.
    pub const CHILD_DIED: &str = "apache.child_died";
    /// A child process could not be forked.
    pub const FORK_FAILED: &str = "apache.fork_failed";
    /// No module that is loaded speaks the scheme of a backend.
    pub const NO_HANDLER: &str = "apache.proxy_handler";
    /// An https:// or wss:// backend without `SSLProxyEngine`.
    pub const NO_SSL_PROXY: &str = "apache.ssl_proxy_engine";
}

/// Message numbers with their signatures (httpd 2.4.68; file named).
///
/// What comes of a failure is none of its signs: AH00940 and AH01114 are written, too, where another thread had put the member aside because
/// its pool was full (mod_proxy.c: proxy_handler does so for any 503), AH00959 where no socket could be made. A connect that failed has a line
/// of its own each time (AH00957, AH02454).
const KNOWN: &[(&str, &str)] = &[
    ("AH00484", signature::MAX_REQUEST_WORKERS), // server/mpm/event/event.c: perform_idle_server_maintenance
    ("AH00286", signature::MAX_REQUEST_WORKERS), // server/mpm/worker/worker.c
    ("AH00161", signature::MAX_REQUEST_WORKERS), // server/mpm/prefork/prefork.c
    ("AH03490", signature::SCOREBOARD_FULL),     // event.c
    ("AH00288", signature::SCOREBOARD_FULL),     // worker.c
    ("AH02179", signature::DESCRIPTORS_ACCEPT),  // os/unix/unixd.c: ap_unixd_accept
    ("AH00941", signature::POOL_EXHAUSTED),      // modules/proxy/proxy_util.c: ap_proxy_acquire_connection
    ("AH00957", signature::BACKEND_REFUSED),     // proxy_util.c: ap_proxy_connect_backend
    ("AH02454", signature::BACKEND_UNREACHABLE), // proxy_util.c: ap_proxy_connect_backend, a Unix socket
    ("AH00898", signature::BACKEND_TLS),         // proxy_util.c: ap_proxyerror, of one of its words
    ("AH02268", signature::BACKEND_CERTIFICATE), // modules/ssl/ssl_engine_kernel.c: ssl_callback_proxy_cert (warn)
    ("AH01102", signature::BACKEND_SILENT),      // mod_proxy_http.c: error reading status line
    ("AH01110", signature::BACKEND_SILENT),      // mod_proxy_http.c: error reading response
    ("AH01382", signature::REQUEST_SLOW),        // modules/filters/mod_reqtimeout.c: reqtimeout_filter (info)
    ("AH01588", signature::BODY_TOO_LARGE),      // modules/http/http_filters.c: ap_http_filter
    ("AH01591", signature::BODY_TOO_LARGE),      // http_filters.c: read past the limit
    ("AH01630", signature::DENIED),              // modules/aaa/mod_authz_core.c: authorize_user_core
    ("AH01797", signature::DENIED_COMPAT),       // modules/aaa/mod_access_compat.c: check_dir_access
    ("AH00132", signature::FILE_DENIED),         // server/core.c: default_handler
    ("AH00035", signature::FILE_DENIED),         // server/request.c: ap_directory_walk, search permissions
    ("AH00037", signature::FILE_DENIED),         // request.c: a symbolic link
    ("AH01276", signature::FOLDER),              // modules/generators/mod_autoindex.c: handle_autoindex
    ("AH00529", signature::FILE_DENIED),         // server/config.c: ap_parse_htaccess, of a folder, too
    ("AH00670", signature::RULES_FORBIDDEN),     // modules/mappers/mod_rewrite.c: hook_fixup
    ("AH00051", signature::CHILD_DIED),          // server/mpm_unix.c: ap_process_child_status
    ("AH00052", signature::CHILD_DIED),          // the same, without a core dump
    ("AH00159", signature::FORK_FAILED),         // prefork.c
    ("AH00481", signature::FORK_FAILED),         // event.c
    ("AH00283", signature::FORK_FAILED),         // worker.c
    ("AH01144", signature::NO_HANDLER),          // modules/proxy/mod_proxy.c: proxy_handler
    ("AH01961", signature::NO_SSL_PROXY),        // proxy_util.c: ap_proxy_connection_create_ex
];

/// Every signature that a line can have.
#[cfg(test)]
pub(in crate::apache) fn known() -> impl Iterator<Item = &'static str> {
    let unnumbered = [
        signature::BACKEND_CLOSED,
        signature::BACKEND_WANTS,
        signature::CHILD_FULL,
        signature::BACKEND_PORTS,
        signature::DESCRIPTORS_OTHER,
        signature::OVERRIDE_REFUSED,
    ];
    KNOWN.iter().map(|(_, name)| *name).chain(unnumbered)
}

/// What mod_ssl says at level info of every connection, well or not (modules/ssl/ssl_engine_io.c, ssl_engine_kernel.c, ssl_engine_init.c): genkai's
/// private copy raises the level to hear why a backend ends one.
const ROUTINE: [&str; 8] = ["AH01876", "AH01883", "AH01887", "AH01914", "AH01964", "AH01998", "AH02001", "AH02568"];

/// Whether a line says only what is said of every connection.
fn is_routine(line: &str) -> bool {
    let head = LINE.captures(line);
    let number = head.as_ref().and_then(|head| head.get(3)).map_or("", |number| number.as_str());
    ROUTINE.contains(&number) && head.is_some_and(|head| &head[1] == "info")
}

/// `[time] [module:level] [pid 1:tid 2] (24)Too many open files: [client 1.2.3.4:5] AH02179: message`. The format is
/// httpd's own (server/log.c: do_errorlog_default); a private copy leaves no other.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^\[[^\]]*\] \[(?:[\w-]*:)?(\w+)\] \[pid \d+(?::tid \d+)?\] (?:\[remote [^\]]*\] )?(?:\((\d+)\)[^:]*: )?(?:\[(?:client|remote) [^\]]*\] )?(?:(AH\d{5}): )?",
    )
    .expect("pattern is a constant")
});

/// server/mpm/event/event.c: listener_thread. These messages have no number.
static CHILD_FULL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:event\.c\(\d+\): )?(?:All workers (?:are )?busy|Too many open connections \(\d+\), not accepting)")
        .expect("pattern is a constant")
});

/// One line, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// `debug` ... `emerg`; empty for a line that is not in httpd's format.
    pub level: &'a str,
    /// The known message it is.
    pub signature: Option<Cow<'static, str>>,
    /// httpd's message without the fields before it.
    pub message: &'a str,
}

/// Reads one line.
pub fn classify(line: &str) -> Entry<'_> {
    let Some(head) = LINE.captures(line) else { return Entry { level: "", signature: None, message: line } };
    let level = head.get(1).map_or("", |m| m.as_str());
    let number = head.get(3).map(|m| m.as_str());
    let errno = head.get(2).map(|m| m.as_str());
    let known = number.and_then(|n| KNOWN.iter().find(|(known, _)| *known == n)).map(|(_, signature)| *signature);
    let message = &line[head.get(0).map_or(0, |m| m.end())..];
    // mod_proxy_fcgi.c: handle_headers, `Got error '%s'`.
    if let Some(told) = message.strip_prefix("Got error '").filter(|_| number == Some("AH01071")) {
        return Entry { level, signature: php::ended(told).map(Into::into), message };
    }
    let signature = match (known, errno) {
        (None, None) if CHILD_FULL.is_match(message) => Some(signature::CHILD_FULL),
        // server/config.c: ap_parse_htaccess. It begins with the file's name, and nothing else is told so.
        (None, None) if level == "alert" && number.is_none() && message.starts_with('/') => {
            Some(signature::OVERRIDE_REFUSED)
        }
        // Only servers send this alert (RFC 8446, 6.2). The words are OpenSSL's (ssl/ssl_stat.c), its number in parentheses.
        (None, None)
            if number.is_none() && message.starts_with("SSL Library Error: ") && wants_certificate(message) =>
        {
            Some(signature::BACKEND_WANTS)
        }
        (Some(signature::BACKEND_REFUSED), Some("99")) => Some(signature::BACKEND_PORTS),
        (Some(signature::BACKEND_REFUSED), Some("111" | "2" | "13" | "101" | "113")) if number == Some("AH00957") => {
            Some(signature::BACKEND_UNREACHABLE)
        }
        (Some(signature::BACKEND_UNREACHABLE), errno) if !matches!(errno, Some("111" | "2" | "13")) => {
            Some(signature::BACKEND_REFUSED)
        }
        // The same message for every reason: APR_TIMEUP (apr_errno.h), ETIMEDOUT and EAGAIN are time that has passed.
        (Some(signature::BACKEND_SILENT), errno) if !matches!(errno, Some("70007" | "110" | "11")) => {
            Some(signature::BACKEND_CLOSED)
        }
        // The same number for whatever went wrong.
        (Some(signature::BACKEND_TLS), _) if !message.starts_with("Error during SSL Handshake") => None,
        (Some(signature::DESCRIPTORS_ACCEPT), Some("24")) => known,
        (Some(signature::DESCRIPTORS_ACCEPT), _) => None,
        (_, Some("24")) => Some(signature::DESCRIPTORS_OTHER),
        _ => known,
    };
    Entry { level, signature: signature.map(Cow::from), message }
}

fn wants_certificate(message: &str) -> bool {
    message.contains(" alert certificate required (SSL alert number 116)")
}

/// Lines of one interval, alike ones as one, in the order of their first: known ones by signature, others by their text
/// without numbers.
pub fn aggregate<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<LogLine> {
    let lines = lines.into_iter().filter(|line| !is_routine(line));
    log_lines::aggregate("apache", lines, |line| {
        let Entry { level, signature, message } = classify(line);
        ParsedLine { level, gist: message, signature }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(line: &str) -> (&str, Option<Cow<'static, str>>) {
        let entry = classify(line);
        (entry.level, entry.signature)
    }

    #[test]
    fn real_lines_are_known_by_their_numbers() {
        let head = "[Sat Nov 21 14:40:14.905182 2026]";
        let line = |rest: &str| format!("{head} {rest}");
        for (rest, level, signature) in [
            (
                "[proxy_fcgi:error] [pid 7:tid 8] [client 127.0.0.1:9] AH01071: Got error 'PHP message: PHP Fatal error:  Allowed memory size of 16777216 bytes exhausted (tried to allocate 41947136 bytes) in /srv/mem.php on line 1'",
                "error",
                Some("php.memory_limit.16777216"),
            ),
            (
                "[proxy_fcgi:error] [pid 7:tid 8] [client 127.0.0.1:9] AH01071: Got error 'Primary script unknown'",
                "error",
                None,
            ),
            (
                "[mpm_event:error] [pid 9:tid 9] AH00484: server reached MaxRequestWorkers setting, consider raising the MaxRequestWorkers setting",
                "error",
                Some(signature::MAX_REQUEST_WORKERS),
            ),
            (
                "[core:warn] [pid 9:tid 8] (24)Too many open files: AH02179: apr_socket_accept: (client socket)",
                "warn",
                Some(signature::DESCRIPTORS_ACCEPT),
            ),
            (
                "[proxy:error] [pid 7:tid 8] (111)Connection refused: AH00957: http: attempt to connect to 127.0.0.1:1 (127.0.0.1:1) failed",
                "error",
                Some(signature::BACKEND_UNREACHABLE),
            ),
            (
                "[proxy:error] [pid 7:tid 8] (2)No such file or directory: AH02454: http: attempt to connect to Unix domain socket /s (localhost) failed",
                "error",
                Some(signature::BACKEND_UNREACHABLE),
            ),
            (
                "[proxy:error] [pid 7:tid 8] (110)Connection timed out: AH00957: http: attempt to connect to 127.0.0.1:1 failed",
                "error",
                Some(signature::BACKEND_REFUSED),
            ),
            (
                "[proxy:error] [pid 7:tid 8] (99)Cannot assign requested address: AH00957: http: attempt to connect to 127.0.0.1:1 failed",
                "error",
                Some(signature::BACKEND_PORTS),
            ),
            (
                "[proxy_http:error] [pid 7:tid 8] (70007)The timeout specified has expired: [client 127.0.0.1:9] AH01102: error reading status line from remote server 127.0.0.1:1",
                "error",
                Some(signature::BACKEND_SILENT),
            ),
            (
                "[proxy_http:error] [pid 7:tid 8] (104)Connection reset by peer: [client 127.0.0.1:9] AH01102: error reading status line from remote server 127.0.0.1:1",
                "error",
                Some(signature::BACKEND_CLOSED),
            ),
            (
                "[proxy_http:error] [pid 7:tid 8] [client 127.0.0.1:9] AH01102: error reading status line from remote server 127.0.0.1:1",
                "error",
                Some(signature::BACKEND_CLOSED),
            ),
            (
                "[ssl:warn] [pid 7:tid 8] AH02268: Proxy client certificate callback: (localhost:80) downstream server wanted client certificate but none are configured",
                "warn",
                Some(signature::BACKEND_CERTIFICATE),
            ),
            (
                "[ssl:info] [pid 7:tid 8] SSL Library Error: error:0A00045C:SSL routines::tlsv13 alert certificate required (SSL alert number 116)",
                "info",
                Some(signature::BACKEND_WANTS),
            ),
            (
                "[ssl:info] [pid 7:tid 8] SSL Library Error: error:0A000126:SSL routines::unexpected eof while reading",
                "info",
                None,
            ),
            (
                "[http:error] [pid 7] [client 127.0.0.1:9] AH01588: Requested content-length of 20480 is larger than the configured limit of 8192",
                "error",
                Some(signature::BODY_TOO_LARGE),
            ),
            (
                "[mpm_event:error] [pid 9:tid 9] AH10159: server is within MinSpareThreads of MaxRequestWorkers",
                "error",
                None,
            ),
        ] {
            assert_eq!(seen(&line(rest)), (level, signature.map(Cow::from)), "{rest}");
        }
    }

    #[test]
    fn what_a_full_pool_leads_to_is_no_refusal() {
        // Written by 2.4.71 while the backends took every connection.
        let full = "[Wed Nov 25 17:12:24.651578 2026] [proxy:error] [pid 7:tid 8] (70007)The timeout specified has expired: AH00941: http: \
                    failed to acquire connection for (127.0.0.1:17511)";
        assert_eq!(seen(full).1.as_deref(), Some(signature::POOL_EXHAUSTED));
        for said in [
            "[proxy_http:error] [pid 7:tid 8] [client 127.0.0.1:9] AH01114: HTTP: failed to make connection to backend: 127.0.0.1",
            "[proxy:error] [pid 7:tid 8] AH00940: http: disabled connection for (127.0.0.1:17511)",
        ] {
            assert_eq!(seen(&format!("[Wed Nov 25 17:12:24.651578 2026] {said}")), ("error", None), "{said}");
        }
    }

    #[test]
    fn a_full_child_is_told_at_level_debug() {
        let head = "[Sat Nov 21 15:13:10.040487 2026] [mpm_event:debug] [pid 19436:tid 19463] event.c(1961): ";
        for said in
            ["Too many open connections (25), not accepting new conns", "All workers busy, not accepting new conns"]
        {
            assert_eq!(seen(&format!("{head}{said}")), ("debug", Some(signature::CHILD_FULL.into())));
        }
        assert_eq!(seen(&format!("{head}Idle workers: 0")), ("debug", None));
    }

    #[test]
    fn a_client_cannot_forge_evidence() {
        let line = "[Sat Nov 21 14:40:14 2026] [core:error] [pid 7] [client 127.0.0.1:9] AH00126: Invalid URI in request GET AH00484: server reached HTTP/1.1";
        assert_eq!(seen(line).1, None);
        assert_eq!(seen("AH00484: server reached MaxRequestWorkers").1, None, "not in httpd's format");
    }

    #[test]
    fn alike_lines_are_counted() {
        let refused = "[x] [proxy:error] [pid 7:tid 8] (111)Connection refused: AH00957: http: attempt";
        let other = |n: u32| format!("[x] [core:notice] [pid 7:tid 8] AH00094: Command line {n}");
        let (a, b) = (other(1), other(22));
        let lines = aggregate([refused, &a, refused, &b, ""]);
        assert_eq!(lines.iter().map(|l| l.count).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn what_is_said_of_every_tls_connection_is_left_out() {
        let line = |rest: &str| format!("[Thu Nov 26 09:35:48.122686 2026] [ssl:info] [pid 9:tid 9] {rest}");
        let all = [
            line("[remote 127.0.0.1:43129] AH01964: Connection to child 0 established (server localhost:80)"),
            line("[remote 127.0.0.1:43129] AH01992: SSL library error 1 reading data"),
            line(
                "[remote 127.0.0.1:43129] AH01998: Connection closed to child 0 with standard shutdown (server localhost:80)",
            ),
        ];
        let kept: Vec<String> = aggregate(all.iter().map(String::as_str)).into_iter().map(|one| one.text).collect();
        assert_eq!(kept, all[1..2]);
    }
}
