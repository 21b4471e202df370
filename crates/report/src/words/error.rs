//! Words for failures.

use genkai_model::error::{ErrorCount, ErrorKind, Side};

use crate::figure;

/// What a kind of failure is called.
pub fn error(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ConnectRefused => "connection refused",
        ErrorKind::ConnectTimeout => "connecting timed out",
        ErrorKind::ConnectOther => "connecting failed",
        ErrorKind::PortsExhausted => "no free local port on the generator",
        ErrorKind::DescriptorsExhausted => "no free descriptor on the generator",
        ErrorKind::Reset => "connection reset before a response",
        ErrorKind::EofNew => "new connection closed without a response",
        ErrorKind::EofReused => "kept connection closed without a response",
        ErrorKind::ResetReused => "kept connection reset before the next response",
        ErrorKind::Truncated => "response cut short",
        ErrorKind::Timeout => "no complete response in time",
        ErrorKind::Protocol => "not a valid HTTP response",
        ErrorKind::Status4xx => "status 4xx (the request is refused)",
        ErrorKind::Status413 => "status 413 (Content Too Large)",
        ErrorKind::Status429 => "status 429 (Too Many Requests)",
        ErrorKind::Status500 => "status 500 (Internal Server Error)",
        ErrorKind::Status502 => "status 502 (Bad Gateway)",
        ErrorKind::Status503 => "status 503 (Service Unavailable)",
        ErrorKind::Status504 => "status 504 (Gateway Timeout)",
        ErrorKind::Status5xx => "status 5xx (server error; one above 599 counts as such)",
        ErrorKind::WriteOther => "sending failed",
        ErrorKind::Dropped => "no connection was free to send on",
        ErrorKind::TlsExpired => "certificate expired or not yet valid (-k accepts it)",
        ErrorKind::TlsUntrusted => {
            "certificate of an issuer that is not trusted (trust it with --cacert FILE, or accept any with -k)"
        }
        ErrorKind::TlsSelfSigned => "self-signed certificate (trust it with --cacert FILE, or accept any with -k)",
        ErrorKind::TlsWrongName => {
            "certificate for another name than the one asked for (ask for its name, or accept any with -k)"
        }
        ErrorKind::TlsCertificate => {
            "certificate not acceptable: not for servers, of an authority, revoked, or malformed (-k accepts any)"
        }
        ErrorKind::TlsRefused => "TLS refused by the server, by an alert",
        ErrorKind::TlsUnknownName => {
            "TLS refused by the server: it serves nothing under the name asked for (alert unrecognized_name)"
        }
        ErrorKind::TlsVersion => "TLS refused by the server: no common version (alert protocol_version)",
        ErrorKind::TlsHandshakeFailure => {
            "TLS refused by the server: nothing both accept, or with TLS 1.2 a client certificate is wanted (alert handshake_failure)"
        }
        ErrorKind::TlsClientWanted => "the server wants a client certificate (show one with --cert FILE --key FILE)",
        ErrorKind::TlsClientRefused => "the server does not accept the client certificate shown with --cert",
        ErrorKind::TlsFailed => "TLS handshake failed: what came is not TLS",
        ErrorKind::TlsClosed => "new connection closed in the TLS handshake",
        ErrorKind::TlsTimeout => "TLS handshake timed out",
        ErrorKind::Unasked => "101 (Switching Protocols) to a request that asked for no other protocol",
        ErrorKind::UpgradeRefused => "WebSocket not opened: another answer than 101",
        ErrorKind::UpgradeInvalid => "WebSocket not opened: 101 with wrong fields",
        ErrorKind::Closed => "WebSocket closed before the echo",
        ErrorKind::Frame => "not valid WebSocket frames",
        ErrorKind::ClosedAbnormally => "WebSocket connection lost without a close frame",
        ErrorKind::Http2NotOffered => "HTTP/2 not offered by the server",
        ErrorKind::StreamRefused => "stream refused (RST_STREAM, REFUSED_STREAM)",
        ErrorKind::StreamReset => "stream reset before the response was complete (RST_STREAM)",
        ErrorKind::GoAway => "connection ended by GOAWAY with the request unanswered",
        ErrorKind::Check => "not what a check of the scenario expects",
        ErrorKind::Capture => "without a value that the scenario takes from it",
        ErrorKind::Unsendable => "not sent: what a template of the scenario gave cannot be",
        ErrorKind::TooLarge => {
            "response with a larger head (256 KiB) or chunk line (4 KiB) than genkai takes: not the server's failure"
        }
        ErrorKind::EchoChanged => "WebSocket message that came back as something else",
        ErrorKind::Eof => "connection closed without a response",
        ErrorKind::Unnamed => "failed by Locust's count, for another reason",
        ErrorKind::WrongBody => "whole, but with a body that is not that of the object asked for",
    }
}

/// What a server did to its clients, as a verb, going by a kind of failure: `nginx dropped clients`.
pub fn did(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ConnectRefused => "refused connections",
        ErrorKind::ConnectTimeout => "left new connections waiting until they timed out",
        ErrorKind::ConnectOther => "could not be connected to",
        ErrorKind::PortsExhausted | ErrorKind::DescriptorsExhausted => {
            "was not asked, because the generator could not send"
        }
        ErrorKind::Unsendable => "was not asked, because there was nothing that could be sent",
        ErrorKind::TooLarge => "answered with more than genkai takes",
        ErrorKind::WrongBody => "gave wrong bodies",
        ErrorKind::EchoChanged => "sent messages back changed",
        ErrorKind::Check | ErrorKind::Capture => "answered otherwise than the scenario expects",
        ErrorKind::Dropped => "kept all connections busy",
        ErrorKind::Reset | ErrorKind::ResetReused => "reset its clients' connections",
        ErrorKind::EofNew | ErrorKind::EofReused | ErrorKind::Eof => "dropped clients",
        ErrorKind::Unnamed => "failed its clients",
        ErrorKind::Truncated => "cut responses short",
        ErrorKind::Timeout => "left requests unanswered",
        ErrorKind::Protocol => "answered with something that is not HTTP",
        ErrorKind::Unasked => "switched protocols without being asked to (101)",
        ErrorKind::Status4xx => "answered with 4xx",
        ErrorKind::Status413 => "answered 413 (Content Too Large)",
        ErrorKind::Status429 => "answered 429 (Too Many Requests)",
        ErrorKind::Status500 => "answered 500 (Internal Server Error)",
        ErrorKind::Status502 => "answered 502 (Bad Gateway)",
        ErrorKind::Status503 => "answered 503 (Service Unavailable)",
        ErrorKind::Status504 => "answered 504 (Gateway Timeout)",
        ErrorKind::Status5xx => "answered with 5xx",
        ErrorKind::WriteOther => "stopped taking requests",
        ErrorKind::TlsExpired
        | ErrorKind::TlsUntrusted
        | ErrorKind::TlsSelfSigned
        | ErrorKind::TlsWrongName
        | ErrorKind::TlsCertificate => "showed a certificate that is not acceptable",
        ErrorKind::TlsRefused
        | ErrorKind::TlsUnknownName
        | ErrorKind::TlsVersion
        | ErrorKind::TlsHandshakeFailure
        | ErrorKind::TlsClientWanted
        | ErrorKind::TlsClientRefused
        | ErrorKind::TlsFailed => "refused TLS handshakes",
        ErrorKind::TlsClosed => "closed new connections in the TLS handshake",
        ErrorKind::TlsTimeout => "left TLS handshakes waiting until they timed out",
        ErrorKind::UpgradeRefused | ErrorKind::UpgradeInvalid => "did not open WebSockets",
        ErrorKind::Closed => "closed WebSockets with messages unanswered",
        ErrorKind::Frame => "sent what is not WebSocket",
        ErrorKind::ClosedAbnormally => "dropped WebSockets without a close frame",
        ErrorKind::Http2NotOffered => "did not speak HTTP/2",
        ErrorKind::StreamRefused => "refused streams",
        ErrorKind::StreamReset => "reset streams",
        ErrorKind::GoAway => "sent its clients away (GOAWAY)",
    }
}

/// Whose side a failure is on.
pub fn side(side: Side) -> &'static str {
    match side {
        Side::Client => "the generator",
        Side::Server => "the server",
        Side::Unknown => "either side",
    }
}

/// Counts of failures, most frequent first: `1,204 x new connection closed..., 3 x ...`.
pub fn errors(counts: &[ErrorCount]) -> String {
    let mut counts = counts.to_vec();
    counts.sort_by_key(|c| std::cmp::Reverse(c.count));
    let all: Vec<String> = counts.iter().map(|c| format!("{} x {}", figure::count(c.count), error(c.kind))).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}
