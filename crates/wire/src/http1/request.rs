//! Request heads, for servers.

use super::field::{Coding, Control, version};
use super::line::{Lines, is_token, is_token_char};
use super::{Error, Framing, Version};

/// Head of a request (RFC 9112 section 3). Borrows from the slice it was parsed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// Method, e.g. `GET`. Case matters.
    pub method: &'a [u8],
    /// Request target as sent, e.g. `/shop?id=3`: no space or control character in it.
    pub target: &'a [u8],
    /// Version in the request line.
    pub version: Version,
    /// Bytes of the head, empty lines before and after included: the body begins there.
    pub length: usize,
    /// How the body ends; never [`Framing::UntilClose`].
    pub framing: Framing,
    /// Whether the client wants to use the connection again (RFC 9112 section 9.3).
    pub persistent: bool,
    /// Whether the client waits for `100 Continue` before it sends the body (RFC 9110 section 10.1.1).
    pub expects_continue: bool,
}

impl<'a> RequestHead<'a> {
    /// Parses the request head at the start of `bytes`; `None` when it is not whole yet (ask again with more bytes).
    ///
    /// # Errors
    /// When no continuation of `bytes` can be a request: answer 400 and close. An error found in a prefix is found in
    /// every continuation.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<RequestHead<'a>>, Error> {
        let mut lines = Lines::new(bytes);
        // RFC 9112 section 2.2: ignore empty lines before the request line.
        let line = loop {
            if !begins_well(&bytes[lines.at..]) {
                return Err(Error::NotHttp);
            }
            match lines.next()? {
                Some([]) => {}
                Some(line) => break line,
                None => return Ok(None),
            }
        };
        let (method, target, version) = request_line(line)?;
        let Some(control) = Control::read(&mut lines)? else { return Ok(None) };
        control.check_version(version)?;
        if control.hosts > 1 || (control.hosts == 0 && version == Version::Http11) {
            return Err(Error::Host);
        }
        let framing = match (control.coding, control.content_length) {
            (Coding::Chunked, _) => Framing::Chunked,
            (Coding::Other, _) => return Err(Error::TransferEncoding),
            (Coding::None, Some(n)) => Framing::Length(n),
            (Coding::None, None) => Framing::Empty,
        };
        Ok(Some(RequestHead {
            method,
            target,
            version,
            length: lines.at,
            framing,
            persistent: control.persistent(version),
            expects_continue: control.expects_continue && version == Version::Http11,
        }))
    }
}

/// Whether the first bytes can begin a request line: tells a TLS or binary client at once instead of after a timeout.
fn begins_well(bytes: &[u8]) -> bool {
    bytes.first().is_none_or(|c| is_token_char(*c) || matches!(c, b'\r' | b'\n'))
}

/// `method SP request-target SP HTTP-version`, single spaces.
fn request_line(line: &[u8]) -> Result<(&[u8], &[u8], Version), Error> {
    let mut words = line.split(|c| *c == b' ');
    let (Some(method), Some(target), Some(protocol), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Error::RequestLine);
    };
    let version = version(protocol).filter(|_| protocol.len() == 8).ok_or(Error::RequestLine)?;
    if !is_token(method) || !is_target(target) {
        return Err(Error::RequestLine);
    }
    Ok((method, target, version))
}

/// Whether `target` can stand in a request line: no white space, no control characters. Bytes above 127 are not legal but
/// common, and no recipient splits at them.
pub(super) fn is_target(target: &[u8]) -> bool {
    !target.is_empty() && target.iter().all(|c| *c > b' ' && *c != 0x7f)
}
