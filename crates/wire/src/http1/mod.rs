//! HTTP/1.1 message syntax and framing (RFC 9112), and as much of RFC 9110 as framing needs.
//!
//! * [`ResponseHead::parse`], [`RequestHead::parse`]: a head in a slice. Stateless: when it is not whole yet, ask again
//!   with more. They allocate nothing and look at each byte about once.
//! * [`BodyDecoder`]: which bytes of a slice belong to the body, and where it ends.
//! * [`ResponseReader`]: both joined, for a client that only wants to know how the exchange went.
//! * [`write_request`], [`write_response`]: the other direction.
//!
//! **Strict on purpose.** A measuring client gains nothing from guessing what a broken server meant. Everything two
//! recipients could read in two ways (the stuff of request smuggling, RFC 9112 section 11.2) is an [`Error`]: both
//! framings at once, differing or unreadable lengths, bare CR, NUL, folded lines, space before the colon. What RFC 9112
//! lets a recipient tolerate and servers do send is tolerated: a lone LF ending a line of the head (section 2.2), a
//! repeated but equal Content-Length (section 6.3), a missing reason phrase, unknown transfer codings.
//!
//! **Bounded on purpose.** [`MAX_HEAD`], [`MAX_CHUNK_LINE`], [`MAX_INTERIM`]: beyond them is an error,
//! never a longer wait.
//!
//! **Splits do not matter.** However a message is cut into slices, the outcome is the same: tested at every byte.

mod body;
mod chunked;
mod error;
mod field;
mod line;
mod memo;
mod reader;
mod request;
mod response;
mod write;

pub use body::{BodyDecoder, Part};
pub use error::{Error, WriteError};
pub use field::{Fields, fields};
pub use memo::Memo;
pub use reader::{Ending, Progress, Received, ResponseReader};
pub use request::RequestHead;
pub use response::ResponseHead;
pub use write::{Length, write_request, write_response};

/// Longest head (start line and fields, and, counted apart, the trailer section of a chunked body), bytes.
///
/// As much as browsers take (Chromium's `HttpStreamParser::kMaxHeaderBufSize`, 256 KiB), with as many fields as fit. Proxies stop
/// earlier: at 4 to 64 KiB of a response (nginx `proxy_buffer_size`, HAProxy `tune.bufsize`, Squid `reply_header_max_size`).
pub const MAX_HEAD: usize = 256 * 1024;

/// Longest chunk-size line with its extensions, bytes (RFC 9112 section 7.1.1 asks recipients to limit it).
pub const MAX_CHUNK_LINE: usize = 4 * 1024;

/// Most interim (1xx) responses before the final one; each of them is legal (RFC 9110 section 15.2), an endless row is
/// not a response.
pub const MAX_INTERIM: u8 = 32;

/// Protocol version of a message. HTTP/1.2 and later 1.x count as 1.1 (RFC 9110 section 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
}

/// How the end of a message's body is found (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is no body, whatever the fields say.
    Empty,
    /// So many bytes.
    Length(u64),
    /// Chunked transfer coding.
    Chunked,
    /// Everything until the connection is closed (responses only).
    UntilClose,
}
