//! Response heads.

use super::field::{Coding, Control, version};
use super::line::Lines;
use super::{Error, Framing, Version};

/// Head of a response (RFC 9112 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// Version in the status line.
    pub version: Version,
    /// Status code, 100..=999. RFC 9110 section 15 knows 100..=599; what is above counts like 500 and is told as it came.
    pub status: u16,
    /// Bytes of the head, the empty line included: the body begins there.
    pub length: usize,
    /// How the body ends.
    pub framing: Framing,
    /// Whether the server keeps the connection open after this response (RFC 9112 section 9.3). Never so when the body
    /// lasts until close, or after 101.
    pub persistent: bool,
}

impl ResponseHead {
    /// Parses the response head at the start of `bytes`; `None` when it is not whole yet (ask again with more bytes).
    /// `to_head`: it answers a HEAD request, so no body follows.
    ///
    /// # Errors
    /// When no continuation of `bytes` can be a response; an error found in a prefix is found in every continuation.
    #[inline]
    pub fn parse(bytes: &[u8], to_head: bool) -> Result<Option<ResponseHead>, Error> {
        const START: &[u8] = b"HTTP/1.";
        let seen = bytes.len().min(START.len());
        if bytes[..seen] != START[..seen] {
            return Err(Error::NotHttp);
        }
        let mut lines = Lines::new(bytes);
        let Some(line) = lines.next()? else { return Ok(None) };
        let (version, status) = status_line(line)?;
        let Some(control) = Control::read_folded(&mut lines)? else { return Ok(None) };
        control.check_version(version)?;
        let framing = framing(status, to_head, &control);
        let persistent = control.persistent(version) && framing != Framing::UntilClose && status != 101;
        Ok(Some(ResponseHead { version, status, length: lines.at, framing, persistent }))
    }

    /// Whether it announces another response to the same request (1xx but 101, RFC 9110 section 15.2).
    pub fn interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }
}

/// `HTTP/1.x SP 3DIGIT [SP reason]`; a server that has no reason often leaves out the space too.
#[inline]
fn status_line(line: &[u8]) -> Result<(Version, u16), Error> {
    let version = version(line).ok_or(Error::StatusLine)?;
    match &line[8..] {
        [b' ', a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', rest @ ..]
            if rest.first().is_none_or(|c| *c == b' ') =>
        {
            let digit = |c: &u8| u16::from(*c - b'0');
            Ok((version, digit(a) * 100 + digit(b) * 10 + digit(c)))
        }
        _ => Err(Error::StatusLine),
    }
}

/// RFC 9112 section 6.3, in its order.
#[inline]
fn framing(status: u16, to_head: bool, control: &Control) -> Framing {
    if to_head || status < 200 || status == 204 || status == 304 {
        return Framing::Empty;
    }
    match (control.coding, control.content_length) {
        (Coding::Chunked, _) => Framing::Chunked,
        (Coding::Other, _) => Framing::UntilClose,
        (Coding::None, Some(n)) => Framing::Length(n),
        (Coding::None, None) => Framing::UntilClose,
    }
}
