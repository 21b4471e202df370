//! The log: one JSON object a line, of errors, in the form that a private copy gives them.

use std::borrow::Cow;

use genkai_model::evidence::LogLine;
use serde_json::Value;

use super::{SUBJECT, checks};
use genkai_place::log_lines::{self, ParsedLine};

/// Names of the messages that prove something.
pub mod signature {
    /// No descriptor is left: for a client (it waits), or towards an upstream (502).
    pub const DESCRIPTORS: &str = "caddy.descriptors";
    /// No local port is left towards an upstream: 502.
    pub const PORTS: &str = "caddy.ports";
    /// An upstream does not take connections: 502.
    pub const UPSTREAM_REFUSED: &str = "caddy.upstream_refused";
    /// An upstream did not take a connection in time: 502.
    pub const UPSTREAM_SLOW_CONNECT: &str = "caddy.upstream_slow_connect";
    /// An upstream was silent longer than it may: 504.
    pub const UPSTREAM_SILENT: &str = "caddy.upstream_silent";
    /// An upstream closed before it had answered: 502.
    pub const UPSTREAM_CLOSED: &str = crate::limits::closed::CADDY;
    /// The handshake of TLS with an upstream failed: 502.
    pub const UPSTREAM_TLS: &str = "caddy.upstream_tls";
    /// Every upstream is full or held for down: 503.
    pub const NO_UPSTREAM: &str = "caddy.no_upstream";
    /// An upstream failed a check of Caddy's own.
    pub const CHECK_FAILED: &str = "caddy.check_failed";
    /// A request body was larger than it may.
    pub const BODY: &str = "caddy.body_too_large";
}

/// How messages begin and what they have in them. What a client sends is not in them: it is in other fields, which the private copy
/// leaves out. Go's words of the system's errors (syscall/zerrors_linux_amd64.go, net/net.go), those of its HTTP client
/// (net/http/transport.go), and Caddy's own (reverseproxy.go, requestbody.go).
const MESSAGES: &[(&str, &str, &str)] = &[
    ("", "too many open files", signature::DESCRIPTORS),
    ("dial ", "cannot assign requested address", signature::PORTS),
    ("dial ", "connection refused", signature::UPSTREAM_REFUSED),
    ("dial ", "no such file or directory", signature::UPSTREAM_REFUSED),
    ("dial ", "i/o timeout", signature::UPSTREAM_SLOW_CONNECT),
    // modules/caddyhttp/reverseproxy/fastcgi/fastcgi.go: RoundTrip
    ("dialing backend: ", "connection refused", signature::UPSTREAM_REFUSED),
    ("dialing backend: ", "no such file or directory", signature::UPSTREAM_REFUSED),
    ("dialing backend: ", "i/o timeout", signature::UPSTREAM_SLOW_CONNECT),
    ("", "timeout awaiting response headers", signature::UPSTREAM_SILENT),
    ("read ", "i/o timeout", signature::UPSTREAM_SILENT),
    ("read ", "connection reset by peer", signature::UPSTREAM_CLOSED),
    ("write ", "connection reset by peer", signature::UPSTREAM_CLOSED),
    ("write ", "broken pipe", signature::UPSTREAM_CLOSED),
    // crypto/tls, crypto/x509
    ("tls: ", "", signature::UPSTREAM_TLS),
    ("remote error: tls: ", "", signature::UPSTREAM_TLS),
    ("x509: ", "", signature::UPSTREAM_TLS),
    ("EOF", "", signature::UPSTREAM_CLOSED),
    ("unexpected EOF", "", signature::UPSTREAM_CLOSED),
    ("http: server closed idle connection", "", signature::UPSTREAM_CLOSED),
    ("health check of ", "", signature::CHECK_FAILED),
    ("no upstreams available", "", signature::NO_UPSTREAM),
    ("", "http: request body too large", signature::BODY),
];

/// Lines of one interval, alike ones as one.
pub(crate) fn aggregate<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<LogLine> {
    let read: Vec<String> = lines.into_iter().filter_map(read).collect();
    log_lines::aggregate(SUBJECT, read.iter().map(String::as_str), parsed)
}

/// `LEVEL MESSAGE` of a line, with the status that it caused; none for what Caddy says at every start.
fn read(line: &str) -> Option<String> {
    let Ok(Value::Object(fields)) = serde_json::from_str(line) else { return Some(format!("error {line}")) };
    if let Some(failed) = checks::failed(&fields) {
        return Some(format!("warn {failed}"));
    }
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let level = text("level");
    let debug = level == "debug" && text("logger") != "http.stdlib";
    let status = fields.get("status").and_then(Value::as_u64).map_or_else(String::new, |s| format!(" (status {s})"));
    (level != "info" && !debug).then(|| format!("{level} {}{status}", text("msg")))
}

fn parsed(line: &str) -> ParsedLine<'_> {
    let (level, message) = line.split_once(' ').unwrap_or(("error", line));
    let known = MESSAGES.iter().find(|(begin, part, _)| message.starts_with(begin) && message.contains(part));
    ParsedLine { level, gist: message, signature: known.map(|(_, _, signature)| Cow::from(*signature)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_by_their_message() {
        for (message, signature) in [
            ("dial tcp 127.0.0.1:1: socket: too many open files", Some(signature::DESCRIPTORS)),
            (
                "http: Accept error: accept tcp 127.0.0.1:7801: accept4: too many open files; retrying in 80ms",
                Some(signature::DESCRIPTORS),
            ),
            ("dial tcp 127.0.0.1:1: connect: cannot assign requested address", Some(signature::PORTS)),
            ("dial tcp 127.0.0.1:1: connect: connection refused", Some(signature::UPSTREAM_REFUSED)),
            ("dial tcp 127.0.0.1:1: i/o timeout", Some(signature::UPSTREAM_SLOW_CONNECT)),
            (
                "dialing backend: dial unix /run/x.sock: connect: no such file or directory",
                Some(signature::UPSTREAM_REFUSED),
            ),
            ("net/http: timeout awaiting response headers", Some(signature::UPSTREAM_SILENT)),
            ("read tcp 127.0.0.1:2->127.0.0.1:1: i/o timeout", Some(signature::UPSTREAM_SILENT)),
            ("read tcp 127.0.0.1:2->127.0.0.1:1: read: connection reset by peer", Some(signature::UPSTREAM_CLOSED)),
            ("EOF", Some(signature::UPSTREAM_CLOSED)),
            ("no upstreams available", Some(signature::NO_UPSTREAM)),
            (
                "readfrom tcp 127.0.0.1:5->127.0.0.1:1: {id=h} requestbody.errorWrapper.Read (requestbody.go:63): HTTP 413: \
                 http: request body too large",
                Some(signature::BODY),
            ),
            ("something else", None),
        ] {
            let line =
                format!("{{\"level\":\"error\",\"logger\":\"http.log.error\",\"msg\":\"{message}\",\"status\":502}}");
            let lines = aggregate([line.as_str()]);
            assert_eq!(lines[0].signature.as_deref(), signature, "{line}");
            assert_eq!(lines[0].text, format!("error {message} (status 502)"));
        }
        assert!(aggregate(["{\"level\":\"info\",\"msg\":\"too many open files\"}"]).is_empty());
    }
}
