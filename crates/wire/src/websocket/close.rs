//! Close frames and their codes (RFC 6455 sections 5.5.1 and 7.4).

use super::{Error, code};

/// Whether `code` may be in a close frame: 1000 to 1003 and 1007 to 1014 (section 7.4.1 and the IANA registry, which adds
/// 1012 to 1014), 3000 to 4999 (section 7.4.2: libraries and applications). Not so 1004 (reserved), 1005, 1006 and 1015
/// (they only stand for what was not sent), nor any other.
pub fn is_sendable(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// A close frame of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close<'a> {
    /// Its code, if it has one; a close frame without one counts as 1005 (section 7.1.5).
    pub code: Option<u16>,
    /// Its reason; empty when there is none. Meant for people, not to be trusted.
    pub reason: &'a str,
}

impl<'a> Close<'a> {
    /// Reads the payload of a close frame.
    ///
    /// # Errors
    /// One byte ([`Error::ClosePayload`]), a code that must not be sent ([`Error::CloseCode`]), a reason that is not UTF-8
    /// ([`Error::Utf8`]).
    pub fn parse(payload: &'a [u8]) -> Result<Close<'a>, Error> {
        match payload {
            [] => Ok(Close { code: None, reason: "" }),
            [_] => Err(Error::ClosePayload),
            [high, low, reason @ ..] => {
                let code = u16::from_be_bytes([*high, *low]);
                if !is_sendable(code) {
                    return Err(Error::CloseCode(code));
                }
                let reason = std::str::from_utf8(reason).map_err(|_| Error::Utf8)?;
                Ok(Close { code: Some(code), reason })
            }
        }
    }

    /// The code for the record: 1005 when none was sent (section 7.1.5).
    pub fn code_or_none(&self) -> u16 {
        self.code.unwrap_or(code::NONE)
    }

    /// What to answer with [`Encoder::close`](super::Encoder::close): the same code without the reason, or nothing
    /// ("typically echos the status code it received", section 5.5.1).
    pub fn answer(&self) -> Option<(u16, &'static str)> {
        self.code.map(|code| (code, ""))
    }
}
