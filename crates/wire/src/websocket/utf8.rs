//! UTF-8 that arrives in parts (RFC 6455 section 8.1, RFC 3629).

use super::Error;

/// Validates text cut at any byte, and finds the first wrong byte as soon as it is there: a sequence that no continuation
/// can make valid is refused before it is complete.
#[derive(Clone, Copy, Debug, Default)]
pub struct Utf8 {
    /// The beginning of a sequence that was cut.
    cut: [u8; 3],
    len: u8,
}

impl Utf8 {
    /// Takes the next part.
    ///
    /// # Errors
    /// [`Error::Utf8`] when no continuation makes the text valid.
    #[inline]
    pub fn push(&mut self, mut part: &[u8]) -> Result<(), Error> {
        if self.len > 0 {
            part = self.complete(part)?;
        }
        match std::str::from_utf8(part) {
            Ok(_) => Ok(()),
            Err(error) => self.keep(&part[error.valid_up_to()..], error.error_len()),
        }
    }

    /// The text ends here.
    ///
    /// # Errors
    /// [`Error::Utf8`] when it ends inside a sequence.
    #[inline]
    pub fn finish(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.len) == 0 { Ok(()) } else { Err(Error::Utf8) }
    }

    /// Keeps the cut sequence at the end of a part. The standard library reports no length exactly when the bytes are
    /// the beginning of something valid.
    #[cold]
    fn keep(&mut self, rest: &[u8], wrong: Option<usize>) -> Result<(), Error> {
        if wrong.is_some() {
            return Err(Error::Utf8);
        }
        self.cut[..rest.len()].copy_from_slice(rest);
        self.len = rest.len() as u8;
        Ok(())
    }

    /// Adds bytes of `part` to the cut sequence until it is whole; returns what follows.
    #[cold]
    fn complete<'a>(&mut self, part: &'a [u8]) -> Result<&'a [u8], Error> {
        let mut sequence = [0; 4];
        let had = usize::from(self.len);
        sequence[..had].copy_from_slice(&self.cut[..had]);
        for (i, byte) in part.iter().enumerate() {
            let len = had + i + 1;
            sequence[len - 1] = *byte;
            match std::str::from_utf8(&sequence[..len]) {
                Ok(_) => {
                    self.len = 0;
                    return Ok(&part[i + 1..]);
                }
                // A sequence of four is valid or wrong, so `sequence` is never exceeded.
                Err(error) => self.keep(&sequence[..len], error.error_len())?,
            }
        }
        Ok(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Index of the first byte at which validation by single bytes fails; the length when only the end is wrong.
    fn fails_at(bytes: &[u8]) -> Option<usize> {
        let mut utf8 = Utf8::default();
        for (i, byte) in bytes.iter().enumerate() {
            if utf8.push(&[*byte]).is_err() {
                return Some(i);
            }
        }
        utf8.finish().err().map(|_| bytes.len())
    }

    #[test]
    fn fails_at_the_first_wrong_byte() {
        let cases: &[(&[u8], Option<usize>)] = &[
            ("κόσμε \u{10ffff}\u{ffff}\u{d7ff}\u{e000}\u{80}\u{800}\u{10000}\0".as_bytes(), None),
            (b"", None),
            (b"ok\x80", Some(2)),
            (b"\xc0\x80", Some(0)),
            (b"\xc1\xbf", Some(0)),
            (b"\xe0\x9f\xbf", Some(1)),
            (b"\xed\xa0\x80", Some(1)),
            (b"\xf0\x8f\xbf\xbf", Some(1)),
            (b"\xf4\x90\x80\x80", Some(1)),
            (b"\xf5\x80\x80\x80", Some(0)),
            (b"\xff", Some(0)),
            (b"\xc3x", Some(1)),
            (b"\xe2\x82x", Some(2)),
            (b"\xf0\x9f\x98", Some(3)),
            (b"a\xc3", Some(2)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(fails_at(bytes), *expected, "{bytes:x?}");
        }
    }

    #[test]
    fn any_two_cuts_agree_with_the_standard_library() {
        let texts: [&[u8]; 4] =
            ["aé€😀".as_bytes(), b"\xf0\x9f\x98\x80\xe2\x82", b"a\xed\xa0\x80b", "\u{7f}\u{7ff}\u{fffd}".as_bytes()];
        for text in texts {
            for a in 0..=text.len() {
                for b in a..=text.len() {
                    let mut utf8 = Utf8::default();
                    let parts = [&text[..a], &text[a..b], &text[b..]];
                    let valid = parts.iter().all(|part| utf8.push(part).is_ok()) && utf8.finish().is_ok();
                    assert_eq!(valid, std::str::from_utf8(text).is_ok(), "{text:x?} {a} {b}");
                }
            }
        }
    }
}
