//! A line to words, by HAProxy's rules (src/tools.c: `parse_line`; configuration manual 2.2).
//!
//! Words end at white space. `"` and `'` quote, `\` escapes, `#` begins a comment; variables of the environment are replaced
//! between double quotes only. There are no continued lines. Every word knows the bytes of the file it came from, so that
//! it can be replaced and nothing else is touched.

use std::borrow::Cow;
use std::ops::Range;

/// A keyword or an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its bytes in the file, quotes included.
    pub span: Range<usize>,
    /// What it stands for: no quotes, escapes and variables replaced.
    pub value: String,
}

/// A quote that is never closed, where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unclosed(pub usize);

/// White space in HAProxy's sense (isspace(3) in the C locale).
fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// The words of `line`, which begins at offset `start` of its file; variables are asked of `environment`. Never panics.
///
/// # Errors
/// A quote that is never closed.
pub fn words(line: &[u8], start: usize, environment: &dyn Fn(&str) -> Option<String>) -> Result<Vec<Word>, Unclosed> {
    let mut reader = Reader { line, at: 0, start, environment };
    let mut all = Vec::new();
    while let Some(word) = reader.word()? {
        all.push(word);
    }
    Ok(all)
}

struct Reader<'a> {
    line: &'a [u8],
    at: usize,
    /// Offset of the line in its file.
    start: usize,
    environment: &'a dyn Fn(&str) -> Option<String>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn word(&mut self) -> Result<Option<Word>, Unclosed> {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
        let from = self.at;
        let mut value = Vec::new();
        let mut quote: Option<(u8, usize)> = None;
        while let Some(b) = self.peek() {
            match (b, quote) {
                (b'#', None) | (_, None) if b == b'#' || is_space(b) => break,
                (b'"' | b'\'', None) => {
                    quote = Some((b, self.at));
                    self.at += 1;
                }
                (_, Some((q, _))) if q == b => {
                    quote = None;
                    self.at += 1;
                }
                (b'\\', None | Some((b'"', _))) => self.escape(quote.is_some(), &mut value),
                (b'$', Some((b'"', _))) => self.variable(&mut value),
                _ => {
                    value.push(b);
                    self.at += 1;
                }
            }
        }
        if let Some((_, at)) = quote {
            return Err(Unclosed(self.start + at));
        }
        let value = String::from_utf8_lossy(&value).into_owned();
        let span = self.start + from..self.start + self.at;
        Ok((self.at > from).then_some(Word { span, value }))
    }

    /// `\ `, `\\`, `\#`, `\"`, `\'`, `\r`, `\n`, `\t`, `\xHH`, and `\$` between double quotes; any other backslash stays.
    fn escape(&mut self, quoted: bool, value: &mut Vec<u8>) {
        let hex = |bytes: &[u8]| u8::from_str_radix(std::str::from_utf8(bytes).ok()?, 16).ok();
        let (byte, length) = match self.line.get(self.at + 1) {
            Some(b'r') => (b'\r', 2),
            Some(b'n') => (b'\n', 2),
            Some(b't') => (b'\t', 2),
            Some(b'x') => match self.line.get(self.at + 2..self.at + 4).and_then(hex) {
                Some(byte) => (byte, 4),
                None => (b'\\', 1),
            },
            Some(b @ (b' ' | b'\\' | b'#' | b'"' | b'\'')) => (*b, 2),
            Some(b'$') if quoted => (b'$', 2),
            _ => (b'\\', 1),
        };
        value.push(byte);
        self.at += length;
    }

    /// `$NAME`, `${NAME}`, `${NAME-default}`; nothing where it is not set. (`${NAME[*]}`, which makes several words, stays one.)
    fn variable(&mut self, value: &mut Vec<u8>) {
        let rest = &self.line[self.at + 1..];
        let braced = rest.first() == Some(&b'{');
        let name_at = usize::from(braced);
        let is_name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        let length = rest[name_at..].iter().take_while(|b| is_name(b)).count();
        let name = String::from_utf8_lossy(&rest[name_at..name_at + length]).into_owned();
        let mut end = name_at + length;
        let mut default = &rest[..0];
        if braced {
            let Some(close) = memchr::memchr(b'}', &rest[end..]) else {
                value.push(b'$');
                self.at += 1;
                return;
            };
            let between = &rest[end..end + close];
            default = between.strip_prefix(b"-").unwrap_or_default();
            end += close + 1;
        } else if length == 0 {
            value.push(b'$');
        }
        match (self.environment)(&name).filter(|_| !name.is_empty()) {
            Some(known) => value.extend_from_slice(known.as_bytes()),
            None => value.extend_from_slice(default),
        }
        self.at += 1 + end;
    }
}

/// A word as it must be written to be read back as `value`.
pub fn quote(value: &str) -> Cow<'_, str> {
    let plain = |b: u8| b > b' ' && b < 0x7f && !b"\"'\\#$".contains(&b);
    if !value.is_empty() && value.bytes().all(plain) {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' | '$' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            _ => out.push(c),
        }
    }
    out.push('"');
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Vec<String> {
        let environment = |name: &str| (name == "PORT").then(|| "80".to_owned());
        words(line.as_bytes(), 0, &environment).unwrap().into_iter().map(|w| w.value).collect()
    }

    #[test]
    fn quotes_escapes_comments_and_variables() {
        assert_eq!(read("  bind :80 # comment"), ["bind", ":80"]);
        assert_eq!(read(r#"a "b c"d 'e $PORT\' f\ g\#h"#), ["a", "b cd", r"e $PORT\", "f g#h"]);
        assert_eq!(
            read(r#""*:$PORT" "${PORT}x" "${NONE-7}" "${NONE}" $PORT "\$PORT""#),
            ["*:80", "80x", "7", "", "$PORT", "$PORT"]
        );
        assert_eq!(read(r"\x41\t\q \"), ["A\t\\q", "\\"]);
        assert_eq!(words(b"a 'b", 10, &|_| None), Err(Unclosed(12)));
        assert_eq!(words(b"ab cd", 10, &|_| None).unwrap()[1].span, 13..15);
    }

    #[test]
    fn what_is_quoted_reads_back() {
        for value in ["", "a", "a b", "#", "\"'\\$x\n", "ä", "${A}"] {
            assert_eq!(read(&quote(value)), [value]);
        }
    }
}
