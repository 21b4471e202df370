//! Redis's configuration: a name and its arguments a line, split as a shell would (src/config.c: `loadServerConfigFromString`,
//! src/sds.c: `sdssplitargs`), `include PATTERN`. The last value of a name counts.

use std::path::{Path, PathBuf};

use crate::files::ConfigError;
use crate::files::entry::{Entries, Entry, Line, Syntax};

/// The syntax.
pub(super) struct Lines;

impl Syntax for Lines {
    fn line(&self, line: &[u8]) -> Result<Line, &'static str> {
        let text = line.trim_ascii();
        if text.is_empty() || text.starts_with(b"#") {
            return Ok(Line::Nothing);
        }
        let mut words =
            split(text).ok_or("a quote is never closed, or is followed by something; close it")?.into_iter();
        let Some(name) = words.next() else { return Ok(Line::Nothing) };
        Ok(Line::Entry(name.to_ascii_lowercase(), words.collect()))
    }

    fn include(&self, entry: &Entry) -> Option<PathBuf> {
        (entry.name == "include").then(|| PathBuf::from(entry.value()))
    }
}

/// The words of a line; none for a quote that is never closed, or after which no space comes.
fn split(text: &[u8]) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = text.iter().copied().peekable();
    loop {
        while rest.next_if(u8::is_ascii_whitespace).is_some() {}
        if rest.peek().is_none() {
            return Some(words);
        }
        let mut word = Vec::new();
        while let Some(byte) = rest.next_if(|b| !b.is_ascii_whitespace()) {
            if byte != b'"' && byte != b'\'' {
                word.push(byte);
                continue;
            }
            quoted(byte, &mut rest, &mut word)?;
            if rest.peek().is_some_and(|b| !b.is_ascii_whitespace()) {
                return None;
            }
        }
        words.push(String::from_utf8_lossy(&word).into_owned());
    }
}

/// What stands between quotes: between `"` with escapes (`\n`, `\r`, `\t`, `\b`, `\a`, `\xHH`), between `'` with `\'` only.
fn quoted(
    quote: u8,
    rest: &mut std::iter::Peekable<impl Iterator<Item = u8> + Clone>,
    word: &mut Vec<u8>,
) -> Option<()> {
    loop {
        match rest.next()? {
            byte if byte == quote => return Some(()),
            b'\\' if quote == b'\'' => match rest.next_if_eq(&b'\'') {
                Some(escaped) => word.push(escaped),
                None => word.push(b'\\'),
            },
            b'\\' => {
                let hex: Vec<u8> = rest.clone().skip(1).take(2).collect();
                let hex = std::str::from_utf8(&hex).ok().filter(|h| h.len() == 2);
                let byte = rest.next()?;
                match hex.and_then(|h| u8::from_str_radix(h, 16).ok()).filter(|_| byte == b'x') {
                    Some(value) => {
                        rest.next();
                        rest.next();
                        word.push(value);
                    }
                    None => word.push(match byte {
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'b' => 8,
                        b'a' => 7,
                        other => other,
                    }),
                }
            }
            byte => word.push(byte),
        }
    }
}

/// Reads `main` and what it includes.
///
/// # Errors
/// A file that is missing, unreadable, too large, not Redis's syntax, or that includes itself.
pub fn read(main: &Path) -> Result<Entries, ConfigError> {
    Entries::read(main, &Lines)
}

/// A configuration of a text whose file need not exist.
///
/// # Errors
/// As [`read`].
pub(super) fn of_text(path: &Path, text: Vec<u8>) -> Result<Entries, ConfigError> {
    Entries::of_text(path, text, &Lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_as_redis_does() {
        let words = |text: &str| split(text.as_bytes());
        let owned = |all: &[&str]| Some(all.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(words("save 900 1"), owned(&["save", "900", "1"]));
        assert_eq!(words(r#"a "b \"c\"\x41\n" 'd\'e' """#), owned(&["a", "b \"c\"A\n", "d'e", ""]));
        assert_eq!((words(r#"a "b"#), words(r#"a "b"c"#)), (None, None));
        let config = of_text(Path::new("/x"), b"# c\nMaxClients 5\nmaxclients 7\n".to_vec()).unwrap();
        assert_eq!(config.last("maxclients").map(|e| (e.line, e.value())), Some((3, "7".to_owned())));
    }
}
