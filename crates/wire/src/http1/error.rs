//! What can be wrong with a message.

/// Bytes that are not an HTTP/1.1 message, contradict themselves, or exceed a bound. The connection is of no further use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The first bytes cannot begin an HTTP/1.x message.
    #[error("not an HTTP/1.x message")]
    NotHttp,
    /// The status line is not `HTTP/1.x 3DIGIT [reason]` with a status of at least 100 (RFC 9112 section 4).
    #[error("malformed status line")]
    StatusLine,
    /// The request line is not `method SP target SP HTTP/1.x` (RFC 9112 section 3).
    #[error("malformed request line")]
    RequestLine,
    /// A CR that does not end a line (RFC 9112 section 2.2).
    #[error("bare CR in the head")]
    BareCr,
    /// A NUL in the head (RFC 9110 section 5.5).
    #[error("NUL in the head")]
    Nul,
    /// A folded field line (RFC 9112 section 5.2) in a request, or one before any field.
    #[error("folded header line (obs-fold)")]
    ObsFold,
    /// A field line without a colon, with an empty name, or with a character in its name that is not a token's: space
    /// before the colon is one (RFC 9112 section 5.1).
    #[error("malformed header field name")]
    FieldName,
    /// The head is longer than [`MAX_HEAD`](super::MAX_HEAD).
    #[error("head longer than 256 KiB")]
    HeadTooLong,
    /// Content-Length is not a number that fits, or several differ (RFC 9112 section 6.3, rule 5).
    #[error("invalid or contradictory Content-Length")]
    ContentLength,
    /// Transfer-Encoding is empty, not a list of tokens, names `chunked` twice or with parameters, comes from an HTTP/1.0
    /// peer, or (in a request) does not end in `chunked` (RFC 9112 sections 6.1 and 6.3, rule 4; section 7).
    #[error("invalid Transfer-Encoding")]
    TransferEncoding,
    /// Both Transfer-Encoding and Content-Length (RFC 9112 section 6.3, rule 3).
    #[error("both Transfer-Encoding and Content-Length")]
    TwoFramings,
    /// An HTTP/1.1 request without Host, or any request with several (RFC 9112 section 3.2).
    #[error("missing or repeated Host")]
    Host,
    /// A chunk size that is not hexadecimal or exceeds 2^63 - 1 (RFC 9112 section 7.1).
    #[error("invalid chunk size")]
    ChunkSize,
    /// A chunk-size line longer than [`MAX_CHUNK_LINE`](super::MAX_CHUNK_LINE).
    #[error("chunk-size line longer than 4 KiB")]
    ChunkLineTooLong,
    /// Chunk data, or the line before it, not ended by CRLF (RFC 9112 section 7.1).
    #[error("chunk not ended by CRLF")]
    ChunkEnd,
    /// More interim responses than [`MAX_INTERIM`](super::MAX_INTERIM).
    #[error("endless 1xx responses")]
    TooManyInterim,
    /// 101 to a request that asked for no upgrade (RFC 9110 section 15.2.2).
    #[error("101 Switching Protocols, which was not asked for")]
    Unasked,
    /// Bytes after the end of a response to which no request belongs.
    #[error("surplus bytes after the response")]
    Surplus,
}

impl Error {
    /// Whether the message is not wrong, but exceeds what is taken here: the limit is the recipient's.
    pub fn exceeds(self) -> bool {
        matches!(self, Error::HeadTooLong | Error::ChunkLineTooLong)
    }
}

/// A message that cannot be written because it would not be read back as meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The method is not a token.
    #[error("the method must be letters, digits or !#$%&'*+-.^_`|~")]
    Method,
    /// The request target is empty or has a space or a control character.
    #[error("the request target must not be empty or contain spaces or control characters")]
    Target,
    /// A status outside 100..=999.
    #[error("the status must be a number from 100 to 999")]
    Status,
    /// A reason phrase or field value with CR, LF or NUL.
    #[error("a header value must not contain CR, LF or NUL")]
    Value,
    /// A field name that is not a token.
    #[error("a header name must be letters, digits or !#$%&'*+-.^_`|~")]
    Name,
    /// Content-Length, Transfer-Encoding or (in a request) Host among the fields.
    #[error("Host, Content-Length and Transfer-Encoding cannot be given as headers: they follow from the request")]
    Reserved,
}
