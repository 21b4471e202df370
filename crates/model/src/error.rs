//! Kinds of failed requests, counted by index on the hot path; words are made in the report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose side a failure is on, as far as the client can tell from the failure alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The generator or its host could not do its part (no ports, no descriptors).
    Client,
    /// The system under test answered wrongly, late, or not at all.
    Server,
    /// A connection failed between them; evidence must say which side it was.
    Unknown,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $side:ident),+ $(,)?) => {
        /// What went wrong with one request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[repr(u8)]
        pub enum ErrorKind { $($(#[$doc])* $name),+ }

        impl ErrorKind {
            /// Every kind, in index order.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$name),+];

            /// Whose side this kind is on.
            pub fn side(self) -> Side {
                match self { $(ErrorKind::$name => Side::$side),+ }
            }
        }
    };
}

kinds! {
    /// `connect` was answered by RST: nobody listens (ECONNREFUSED).
    ConnectRefused = Server,
    /// `connect` did not finish in time (SYN dropped: accept queue full; ETIMEDOUT or the client's own deadline).
    ConnectTimeout = Server,
    /// `connect` failed otherwise (unreachable, ...).
    ConnectOther = Unknown,
    /// The client has no free local port (EADDRNOTAVAIL).
    PortsExhausted = Client,
    /// The client has no free descriptor (EMFILE, ENFILE).
    DescriptorsExhausted = Client,
    /// RST before the first byte of a response.
    Reset = Unknown,
    /// EOF before the first byte of a response on a connection that had never carried one.
    EofNew = Server,
    /// EOF before the first byte of a response on a connection that had carried one (keep-alive race or forced close).
    EofReused = Server,
    /// RST on a connection that had carried a response, before the first byte of the next.
    ResetReused = Unknown,
    /// The connection ended inside a response.
    Truncated = Server,
    /// No complete response within the request's deadline.
    Timeout = Server,
    /// Bytes that are not HTTP, or contradict it (smuggling-style nonsense).
    Protocol = Server,
    /// Status 400..=499 other than those named below.
    Status4xx = Server,
    /// Status 413 (Content Too Large).
    Status413 = Server,
    /// Status 429 (Too Many Requests).
    Status429 = Server,
    /// Status 500.
    Status500 = Server,
    /// Status 502 (Bad Gateway).
    Status502 = Server,
    /// Status 503 (Service Unavailable).
    Status503 = Server,
    /// Status 504 (Gateway Timeout).
    Status504 = Server,
    /// Any other status 500..=599.
    Status5xx = Server,
    /// A write failed for a reason not listed (EPIPE is `Reset`).
    WriteOther = Unknown,
    /// The planned instant passed and no connection was free to send on (open model only).
    Dropped = Client,
    /// TLS: the server's certificate has expired, or is not valid yet.
    TlsExpired = Server,
    /// TLS: the server's certificate comes from an authority that is not trusted.
    TlsUntrusted = Unknown,
    /// TLS: the server's certificate is for another name.
    TlsWrongName = Server,
    /// TLS: the server's certificate is wrong otherwise (revoked, bad signature, not for servers, malformed).
    TlsCertificate = Server,
    /// TLS: the server ended the handshake or the connection by another alert. (Records made before there were kinds for them: by any.)
    TlsRefused = Server,
    /// TLS: the server wants a certificate of the client's, and none was shown (alert certificate_required, RFC 8446 section 6.2).
    TlsClientWanted = Server,
    /// TLS: the server does not take the client's certificate (alerts bad_certificate, unknown_ca, certificate_expired...).
    TlsClientRefused = Server,
    /// TLS: what came in the handshake is not TLS. (Records made before there was [`ErrorKind::TlsClosed`]: or the connection ended in it.)
    TlsFailed = Server,
    /// TLS: the connection ended in the handshake, without an alert.
    TlsClosed = Server,
    /// TLS: no complete handshake within the deadline.
    TlsTimeout = Server,
    /// WebSocket: the handshake was answered with a status below 400 other than 101.
    UpgradeRefused = Server,
    /// WebSocket: the handshake was answered by 101, but wrongly (RFC 6455 section 4.1).
    UpgradeInvalid = Server,
    /// WebSocket: the connection ended with a close frame while a message was unanswered.
    Closed = Server,
    /// WebSocket: bytes that are not frames, or violate RFC 6455.
    Frame = Server,
    /// WebSocket: the connection ended without a close frame.
    ClosedAbnormally = Server,
    /// HTTP/2: the server does not speak it (ALPN chose another protocol, or it answered in HTTP/1.1).
    Http2NotOffered = Server,
    /// HTTP/2: RST_STREAM with REFUSED_STREAM: the server has not looked at the request (RFC 9113 section 8.7).
    StreamRefused = Server,
    /// HTTP/2: RST_STREAM with another code.
    StreamReset = Server,
    /// HTTP/2: GOAWAY with an error, or a request that GOAWAY left out again and again.
    GoAway = Server,
    /// A response or message that a check of the scenario does not accept.
    Check = Server,
    /// A response or message that does not hold what the scenario is to take from it; its flow ends.
    Capture = Server,
    /// What a template of the scenario gave cannot be sent (a line break in a header, an unknown variable).
    Unsendable = Client,
    /// A whole response whose body is not that of the object asked for.
    WrongBody = Server,
    /// A response with more than genkai takes: a longer head, a longer line of chunked coding. The limit is genkai's own.
    TooLarge = Client,
    /// TLS: the server's certificate is signed by itself, and not among those trusted.
    TlsSelfSigned = Unknown,
    /// WebSocket: what came back for a message is not what was sent.
    EchoChanged = Server,
    /// TLS: the server has nothing under the name asked for (alert unrecognized_name, RFC 6066 section 3).
    TlsUnknownName = Server,
    /// TLS: no version that both speak (alert protocol_version, RFC 8446 section 6.2).
    TlsVersion = Server,
    /// TLS: no parameters that both accept (alert handshake_failure). With TLS 1.2 also: a client certificate is wanted.
    TlsHandshakeFailure = Server,
    /// EOF before the first byte of a response, on a connection of which is not known whether it had carried one: [`ErrorKind::EofNew`] or
    /// [`ErrorKind::EofReused`], as another load generator tells it.
    Eof = Server,
    /// Another load generator counts it as failed, and does not say how in words that stand for one of the other kinds.
    Unnamed = Unknown,
    /// 101 (Switching Protocols) to a request that asked for no other protocol (RFC 9110 section 15.2.2).
    Unasked = Server,
}

impl ErrorKind {
    /// Number of kinds: the length of a table of counters.
    pub const COUNT: usize = Self::ALL.len();

    /// Position in a table of counters.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The kind an HTTP status stands for, if the status is an error (>= 400).
    pub fn of_status(status: u16) -> Option<ErrorKind> {
        Some(match status {
            413 => Self::Status413,
            429 => Self::Status429,
            500 => Self::Status500,
            502 => Self::Status502,
            503 => Self::Status503,
            504 => Self::Status504,
            _ if (400..500).contains(&status) => Self::Status4xx,
            _ if (500..600).contains(&status) => Self::Status5xx,
            _ => return None,
        })
    }

    /// Whether not one byte of a response can have come where this was the failure: nothing was connected, or the connection ended before. (What
    /// took too long may have had a part of one.)
    pub fn is_silent(self) -> bool {
        use ErrorKind as K;
        matches!(
            self,
            K::ConnectRefused
                | K::ConnectTimeout
                | K::ConnectOther
                | K::PortsExhausted
                | K::DescriptorsExhausted
                | K::Reset
                | K::EofNew
                | K::EofReused
                | K::Eof
                | K::ResetReused
                | K::Dropped
                | K::Unsendable
                | K::TlsExpired
                | K::TlsUntrusted
                | K::TlsSelfSigned
                | K::TlsWrongName
                | K::TlsCertificate
                | K::TlsRefused
                | K::TlsClientWanted
                | K::TlsClientRefused
                | K::TlsUnknownName
                | K::TlsVersion
                | K::TlsHandshakeFailure
                | K::TlsFailed
                | K::TlsClosed
                | K::TlsTimeout
        )
    }

    /// Whether it is an answer of a server, by its status.
    pub fn is_status(self) -> bool {
        use ErrorKind::{Status4xx, Status5xx, Status413, Status429, Status500, Status502, Status503, Status504};
        matches!(self, Status4xx | Status413 | Status429 | Status500 | Status502 | Status503 | Status504 | Status5xx)
    }
}

/// How often one kind of error was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// The kind.
    pub kind: ErrorKind,
    /// Times seen in the interval.
    pub count: u64,
}
