//! What can be wrong with what a peer sends, and with what we are asked to send.

use super::code;

/// A violation by the peer. The connection must be failed (RFC 6455 section 7.1.7): send a close frame with
/// [`close_code`](Error::close_code) and end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// RSV2 or RSV3 is set; or RSV1 without compression agreed, on a control frame or on a continuation (RFC 6455 section
    /// 5.2, RFC 7692 sections 6 and 6.1).
    #[error("reserved bit set")]
    ReservedBit,
    /// Opcode 3 to 7 or 11 to 15 (RFC 6455 section 5.2).
    #[error("unknown opcode")]
    Opcode,
    /// A control frame without FIN (RFC 6455 section 5.5).
    #[error("fragmented control frame")]
    FragmentedControl,
    /// A control frame of more than 125 bytes (RFC 6455 section 5.5).
    #[error("control frame longer than 125 bytes")]
    LongControl,
    /// A continuation frame outside a message (RFC 6455 section 5.4).
    #[error("continuation of no message")]
    Continuation,
    /// A text or binary frame inside a fragmented message (RFC 6455 section 5.4).
    #[error("new message before the end of the last one")]
    Interleaved,
    /// A client's frame without mask (RFC 6455 section 5.1).
    #[error("frame of a client not masked")]
    Unmasked,
    /// A server's frame with mask (RFC 6455 section 5.1).
    #[error("frame of a server masked")]
    Masked,
    /// A length not in its shortest form, or with its highest bit set (RFC 6455 section 5.2).
    #[error("malformed payload length")]
    Length,
    /// Text, or the reason of a close frame, that is not UTF-8 (RFC 6455 section 8.1).
    #[error("invalid UTF-8")]
    Utf8,
    /// A close frame of one byte (RFC 6455 section 5.5.1).
    #[error("close frame of one byte")]
    ClosePayload,
    /// A close code that must not be sent (RFC 6455 section 7.4).
    #[error("invalid close code {0}")]
    CloseCode(u16),
    /// A message longer than this side wants (RFC 6455 section 7.4.1, 1009).
    #[error("message too big")]
    TooBig,
    /// A compressed message that does not decompress (RFC 7692 section 7.2.2).
    #[error("invalid compressed data")]
    Deflate,
}

impl Error {
    /// The code to close the connection with: 1002 for a violation of the protocol, 1007 for data that is not what it
    /// claims to be, 1009 for too much of it (RFC 6455 section 7.4.1).
    pub fn close_code(self) -> u16 {
        match self {
            Error::Utf8 | Error::Deflate => code::INVALID_DATA,
            Error::TooBig => code::TOO_BIG,
            _ => code::PROTOCOL_ERROR,
        }
    }
}

/// A frame that cannot be sent because the peer would have to fail the connection. Nothing was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A close frame was sent before: nothing may follow it (RFC 6455 section 5.5.1).
    #[error("a close frame has been sent: nothing may follow it")]
    Closed,
    /// A new message, or one of another kind, before the last fragment of the current one (RFC 6455 section 5.4).
    #[error("the current message is not finished")]
    Unfinished,
    /// A ping or pong of more than 125 bytes, or a close reason of more than 123 (RFC 6455 section 5.5).
    #[error("control frames carry at most 125 bytes, close reasons 123")]
    LongControl,
    /// A close code that must not be sent (RFC 6455 section 7.4).
    #[error("close code {0} must not be sent")]
    CloseCode(u16),
}
