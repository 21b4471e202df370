//! Header fields: those that decide framing and persistence, and a way to look at all of them.

use super::line::{Lines, is_token, is_token_char, trim};
use super::{Error, Version};

/// Splits a field line into name and value (RFC 9112 section 5).
#[inline]
pub(super) fn split(line: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    if matches!(line.first(), Some(b' ' | b'\t')) {
        return Err(Error::ObsFold);
    }
    match line.iter().position(|c| !is_token_char(*c)) {
        Some(colon) if colon > 0 && line[colon] == b':' => Ok((&line[..colon], trim(&line[colon + 1..]))),
        _ => Err(Error::FieldName),
    }
}

/// The fields of a head that was parsed: `head` is the slice up to the head's length. Name and value, in order, values
/// without surrounding white space. A value that was folded over lines has their ends in it.
pub fn fields(head: &[u8]) -> Fields<'_> {
    let mut lines = Lines::new(head);
    // An empty line may precede a request line.
    while matches!(lines.next(), Ok(Some([]))) {}
    Fields { lines }
}

/// Iterator of [`fields`].
#[derive(Clone)]
pub struct Fields<'a> {
    lines: Lines<'a>,
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (line, _) = self.lines.folded(true).ok()??;
        split(line).ok()
    }
}

/// Final state of the Transfer-Encoding list.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Coding {
    /// No such field.
    #[default]
    None,
    /// `chunked` is the last coding.
    Chunked,
    /// Something else is the last coding.
    Other,
}

/// What the fields of a head say about framing and persistence.
#[derive(Default)]
pub(super) struct Control {
    pub(super) content_length: Option<u64>,
    pub(super) coding: Coding,
    pub(super) hosts: u8,
    pub(super) expects_continue: bool,
    chunked_seen: bool,
    close: bool,
    keep_alive: bool,
}

impl Control {
    /// Reads field lines of a request up to the empty line; `None` when the head is not whole yet.
    #[inline]
    pub(super) fn read(lines: &mut Lines<'_>) -> Result<Option<Control>, Error> {
        let mut control = Control::default();
        while let Some(line) = lines.next()? {
            if line.is_empty() {
                return control.checked().map(Some);
            }
            let (name, value) = split(line)?;
            control.take(name, value)?;
        }
        Ok(None)
    }

    /// The same of a response, whose lines may be folded: "a user agent that receives an obs-fold in a response message [...] MUST replace
    /// each received obs-fold with one or more SP octets" (RFC 9112 section 5.2).
    #[inline]
    pub(super) fn read_folded(lines: &mut Lines<'_>) -> Result<Option<Control>, Error> {
        let mut control = Control::default();
        while let Some((line, folds)) = lines.folded(false)? {
            if line.is_empty() {
                return control.checked().map(Some);
            }
            let (name, value) = split(line)?;
            if folds {
                control.take(name, trim(&unfolded(value)))?;
            } else {
                control.take(name, value)?;
            }
        }
        Ok(None)
    }

    /// Takes one field; by length first, because almost every field is of no interest here.
    #[inline]
    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), Error> {
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.hosts = self.hosts.saturating_add(1),
            6 if name.eq_ignore_ascii_case(b"expect") => {
                self.expects_continue |= value.eq_ignore_ascii_case(b"100-continue");
            }
            10 if name.eq_ignore_ascii_case(b"connection") => self.connection(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.length(value)?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.codings(value)?,
            _ => {}
        }
        Ok(())
    }

    /// Connection is a list of options (RFC 9110 section 7.6.1).
    fn connection(&mut self, value: &[u8]) {
        for option in value.split(|c| *c == b',').map(trim) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// Content-Length: digits; a list or repetition of the same number is tolerated (RFC 9112 section 6.3, rule 5).
    fn length(&mut self, value: &[u8]) -> Result<(), Error> {
        for one in value.split(|c| *c == b',') {
            let n = decimal(trim(one)).ok_or(Error::ContentLength)?;
            if self.content_length.is_some_and(|before| before != n) {
                return Err(Error::ContentLength);
            }
            self.content_length = Some(n);
        }
        Ok(())
    }

    /// Transfer-Encoding: a list of codings, in order, over all such fields (RFC 9112 section 6.1).
    fn codings(&mut self, value: &[u8]) -> Result<(), Error> {
        for one in value.split(|c| *c == b',').map(trim) {
            let name = trim(one.split(|c| *c == b';').next().unwrap_or(one));
            if !is_token(name) {
                return Err(Error::TransferEncoding);
            }
            let chunked = name.eq_ignore_ascii_case(b"chunked");
            if chunked && (self.chunked_seen || name.len() != one.len()) {
                return Err(Error::TransferEncoding);
            }
            self.chunked_seen |= chunked;
            self.coding = if chunked { Coding::Chunked } else { Coding::Other };
        }
        Ok(())
    }

    fn checked(self) -> Result<Control, Error> {
        if self.coding != Coding::None && self.content_length.is_some() {
            return Err(Error::TwoFramings);
        }
        Ok(self)
    }

    /// Transfer-Encoding does not exist in HTTP/1.0: framing by it is faulty (RFC 9112 section 6.1).
    pub(super) fn check_version(&self, version: Version) -> Result<(), Error> {
        match (version, self.coding) {
            (Version::Http10, Coding::Chunked | Coding::Other) => Err(Error::TransferEncoding),
            _ => Ok(()),
        }
    }

    /// Whether the connection stays open after this message (RFC 9112 section 9.3).
    pub(super) fn persistent(&self, version: Version) -> bool {
        !self.close && (version == Version::Http11 || self.keep_alive)
    }
}

/// A value with spaces instead of the ends of its lines.
#[cold]
fn unfolded(value: &[u8]) -> Vec<u8> {
    value.iter().map(|c| if matches!(c, b'\r' | b'\n') { b' ' } else { *c }).collect()
}

/// A number of digits only, at most 2^63 - 1, so that sums of a few cannot overflow.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut n: u64 = 0;
    for c in digits {
        let digit = c.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        n = n.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    (n <= i64::MAX as u64).then_some(n)
}

/// The version at the start of `text`: `HTTP/1.` and a digit.
#[inline]
pub(super) fn version(text: &[u8]) -> Option<Version> {
    match text {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ b'0'..=b'9', ..] => {
            Some(if *minor == b'0' { Version::Http10 } else { Version::Http11 })
        }
        _ => None,
    }
}
