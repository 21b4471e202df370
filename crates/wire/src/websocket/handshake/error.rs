//! How a handshake fails.

use crate::http1::{self, Length, write_response};

/// A response that does not open a WebSocket although it says so: the client must fail the connection (RFC 6455 section
/// 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// Not HTTP.
    #[error("{0}")]
    Http(#[from] http1::Error),
    /// 101 without `Upgrade: websocket` (item 2).
    #[error("101 without `Upgrade: websocket`")]
    Upgrade,
    /// 101 without `Connection: Upgrade` (item 3).
    #[error("101 without `Connection: Upgrade`")]
    Connection,
    /// Sec-WebSocket-Accept missing, repeated or wrong (item 4): an answer to another request, or from something that does
    /// not know WebSocket.
    #[error("missing or wrong Sec-WebSocket-Accept")]
    Accept,
    /// An extension that was not offered, twice, or with parameters that are no answer to the offer (item 5, RFC 7692
    /// section 7.1).
    #[error("extension or parameters that were not offered")]
    Extension,
    /// A subprotocol that was not asked for (item 6).
    #[error("subprotocol that was not asked for")]
    Protocol,
}

/// A handshake that cannot be written. Nothing was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// Not legal HTTP.
    #[error("{0}")]
    Http(#[from] http1::WriteError),
    /// A header that the handshake writes itself.
    #[error("Upgrade, Connection and Sec-WebSocket-* cannot be given as headers: they follow from the handshake")]
    Reserved,
    /// Client: a subprotocol that is not a token, or twice (RFC 6455 section 4.1, item 10). Server: one that was not asked
    /// for.
    #[error("subprotocols must be tokens, differ, and be among those asked for")]
    Protocol,
}

/// Why a server refuses a request to open a WebSocket (RFC 6455 section 4.2.1 and 4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// Not a GET.
    #[error("a WebSocket is opened by GET")]
    Method,
    /// HTTP/1.0.
    #[error("a WebSocket is opened by HTTP/1.1")]
    Version,
    /// No `Upgrade: websocket`: an ordinary request, or a proxy lost the field.
    #[error("this address speaks WebSocket: the request has no `Upgrade: websocket`")]
    Upgrade,
    /// No `Connection: Upgrade`: a proxy lost or replaced the field.
    #[error("the request has no `Connection: Upgrade`")]
    Connection,
    /// Sec-WebSocket-Key missing, repeated or not 16 bytes.
    #[error("missing or malformed Sec-WebSocket-Key")]
    Key,
    /// Sec-WebSocket-Version missing, repeated or not 13.
    #[error("Sec-WebSocket-Version must be 13")]
    WebSocketVersion,
    /// A subprotocol that is not a token.
    #[error("malformed Sec-WebSocket-Protocol")]
    Protocol,
    /// Extensions that do not follow the grammar.
    #[error("malformed Sec-WebSocket-Extensions")]
    Extensions,
    /// The request has a body.
    #[error("a request to open a WebSocket has no body")]
    Body,
}

impl Refusal {
    /// Its status and reason: 426 where another request would do (RFC 9110 section 15.5.22, RFC 6455 section 4.2.2 item 4),
    /// 405 for another method, else 400.
    pub fn status(self) -> (u16, &'static str) {
        match self {
            Refusal::Method => (405, "Method Not Allowed"),
            Refusal::Upgrade | Refusal::Connection | Refusal::WebSocketVersion => (426, "Upgrade Required"),
            _ => (400, "Bad Request"),
        }
    }

    /// Appends the response: a line of text that says why. The connection is to be closed after it.
    pub fn write(self, out: &mut Vec<u8>) {
        let text = format!("{self}\n");
        let (status, reason) = self.status();
        let own: &[(&str, &str)] = match status {
            405 => &[("Allow", "GET"), ("Connection", "close")],
            426 => &[("Upgrade", "websocket"), ("Connection", "Upgrade, close"), ("Sec-WebSocket-Version", "13")],
            _ => &[("Connection", "close")],
        };
        let fields = own.iter().copied().chain([("Content-Type", "text/plain")]);
        write_response(out, status, reason, fields, Length::Known(text.len() as u64)).expect("fields are legal");
        out.extend_from_slice(text.as_bytes());
    }
}
