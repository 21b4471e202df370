//! Lines of a head.

use super::{Error, MAX_HEAD};

/// Walks over the lines of a head, up to [`MAX_HEAD`] bytes.
#[derive(Clone)]
pub(super) struct Lines<'a> {
    bytes: &'a [u8],
    /// Offset of the next line.
    pub(super) at: usize,
    /// Whether `bytes` was cut at the bound.
    cut: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Lines<'a> {
        let cut = bytes.len() >= MAX_HEAD;
        Lines { bytes: if cut { &bytes[..MAX_HEAD] } else { bytes }, at: 0, cut }
    }

    /// The next line without its end, or `None` when it is not whole yet.
    ///
    /// A line ends with CRLF or a lone LF (RFC 9112 section 2.2: "a recipient MAY recognize a single LF"). One scan finds
    /// the end and everything that must not be before it.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<&'a [u8]>, Error> {
        let rest = &self.bytes[self.at..];
        let Some(end) = memchr::memchr3(b'\n', b'\r', 0, rest) else {
            return self.incomplete();
        };
        let next = match (rest[end], rest.get(end + 1)) {
            (b'\n', _) => end + 1,
            (b'\r', Some(b'\n')) => end + 2,
            (b'\r', None) => return self.incomplete(),
            (b'\r', Some(_)) => return Err(Error::BareCr),
            _ => return Err(Error::Nul),
        };
        self.at += next;
        Ok(Some(&rest[..end]))
    }

    /// The next line with the lines that go on with it (obs-fold, RFC 9112 section 5.2), their ends included, and whether there are such; `None`
    /// when it is not known yet where it ends. `whole`: nothing comes after what is there.
    #[inline]
    pub(super) fn folded(&mut self, whole: bool) -> Result<Option<(&'a [u8], bool)>, Error> {
        let (start, Some(line)) = (self.at, self.next()?) else { return Ok(None) };
        let mut end = start + line.len();
        let mut folds = false;
        while !line.is_empty() {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\t') => {}
                None if !whole => return self.incomplete(),
                _ => break,
            }
            let next = self.at;
            let Some(more) = self.next()? else { return Ok(None) };
            (end, folds) = (next + more.len(), true);
        }
        Ok(Some((&self.bytes[start..end], folds)))
    }

    fn incomplete<T>(&self) -> Result<Option<T>, Error> {
        if self.cut { Err(Error::HeadTooLong) } else { Ok(None) }
    }
}

/// Characters of a token (RFC 9110 section 5.6.2): names of methods, fields, codings.
static TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut c = 0;
    while c < 256 {
        table[c] = matches!(c as u8, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'!' | b'#' | b'$' | b'%' | b'&' | b'\''
            | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~');
        c += 1;
    }
    table
};

/// Whether `c` may be in a token.
#[inline]
pub(super) fn is_token_char(c: u8) -> bool {
    TOKEN[usize::from(c)]
}

/// Whether `text` is a token: not empty, token characters only.
pub(super) fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|c| is_token_char(*c))
}

/// `text` without optional white space around it (OWS, RFC 9110 section 5.6.3).
#[inline]
pub(super) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}
