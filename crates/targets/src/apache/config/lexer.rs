//! Bytes to logical lines to words, by httpd's rules (server/util.c: `ap_cfg_getline`, `ap_getword_conf`, `substring_conf`).
//!
//! A backslash at a line's end joins the next line to it, in comments too. Every word knows the bytes of the file it came
//! from, so that it can be replaced and nothing else is touched.

use std::borrow::Cow;
use std::ops::Range;

/// A name or an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its bytes in the file, quotes included.
    pub span: Range<usize>,
    /// What it stands for: no quotes, escapes replaced, variables not.
    pub value: String,
}

/// One logical line: the bytes that count, each with its place in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    bytes: Vec<u8>,
    places: Vec<usize>,
}

/// White space in httpd's sense (apr_isspace in the C locale).
pub fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// The logical lines of a text, those without content left out.
pub fn lines(text: &[u8]) -> Vec<Line> {
    let mut all = Vec::new();
    let mut line = Line::default();
    let mut at = if text.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    while at < text.len() {
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |n| at + n);
        let stop = if end > at && text[end - 1] == b'\r' { end - 1 } else { end };
        let joined = stop > at && text[stop - 1] == b'\\' && end < text.len();
        let kept = if joined { stop - 1 } else { stop };
        line.bytes.extend_from_slice(&text[at..kept]);
        line.places.extend(at..kept);
        if !joined {
            line.finish(&mut all);
        }
        at = end + 1;
    }
    line.finish(&mut all);
    all
}

impl Line {
    /// Moves the line to the others, without the space around it, unless nothing is left.
    fn finish(&mut self, all: &mut Vec<Line>) {
        let mut line = std::mem::take(self);
        let end = line.bytes.iter().rposition(|b| !is_space(*b)).map_or(0, |i| i + 1);
        line.bytes.truncate(end);
        line.places.truncate(end);
        let start = line.bytes.iter().position(|b| !is_space(*b)).unwrap_or(end);
        line.bytes.drain(..start);
        line.places.drain(..start);
        if !line.bytes.is_empty() {
            all.push(line);
        }
    }

    /// Whether it is a comment.
    pub fn is_comment(&self) -> bool {
        self.bytes[0] == b'#'
    }

    /// From its first byte to its last, in the file.
    pub fn span(&self) -> Range<usize> {
        self.places[0]..self.places[self.places.len() - 1] + 1
    }

    /// Whether it opens (`<Name`) or closes (`</Name`) a section.
    pub fn section(&self) -> Option<bool> {
        match self.bytes.as_slice() {
            [b'<', b'/', ..] => Some(false),
            [b'<', ..] => Some(true),
            _ => None,
        }
    }

    /// Its words.
    pub fn words(&self) -> Vec<Word> {
        self.words_of(0..self.bytes.len())
    }

    /// The words of a section's head: name, then what stands before the last `>`. None without a `>`.
    pub fn head(&self) -> Option<Vec<Word>> {
        let skip = if self.section() == Some(false) { 2 } else { 1 };
        let end = memchr::memrchr(b'>', &self.bytes)?;
        (end >= skip).then(|| self.words_of(skip..end))
    }

    fn words_of(&self, range: Range<usize>) -> Vec<Word> {
        let mut words = Vec::new();
        let mut at = range.start;
        loop {
            at += self.bytes[at..range.end].iter().take_while(|b| is_space(**b)).count();
            if at >= range.end {
                return words;
            }
            let end = self.word_end(at, range.end);
            let value = value(&self.bytes[at..end]);
            words.push(Word { span: self.places[at]..self.places[end - 1] + 1, value });
            at = end;
        }
    }

    /// Where the word that begins at `at` ends. A quote that is never closed ends with the line, as in httpd.
    fn word_end(&self, at: usize, stop: usize) -> usize {
        let quote = self.bytes[at];
        if quote != b'"' && quote != b'\'' {
            return at + self.bytes[at..stop].iter().take_while(|b| !is_space(**b)).count();
        }
        let mut i = at + 1;
        while i < stop && self.bytes[i] != quote {
            let escaped =
                self.bytes[i] == b'\\' && i + 1 < stop && (self.bytes[i + 1] == quote || self.bytes[i + 1] == b'\\');
            i += if escaped { 2 } else { 1 };
        }
        (i + 1).min(stop)
    }
}

/// What a word stands for.
fn value(word: &[u8]) -> String {
    let quote = word.first().copied().filter(|q| matches!(q, b'"' | b'\''));
    let inner = match quote {
        Some(q) if word.len() > 1 && word.ends_with(&[q]) => &word[1..word.len() - 1],
        Some(_) => &word[1..],
        None => word,
    };
    let mut out = Vec::with_capacity(inner.len());
    let mut i = 0;
    while i < inner.len() {
        let next = inner.get(i + 1).copied();
        if inner[i] == b'\\' && next.is_some_and(|n| n == b'\\' || Some(n) == quote) {
            i += 1;
        }
        out.push(inner[i]);
        i += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Writes a value so that httpd reads it back: as it is where that is possible, else quoted.
pub fn quote(value: &str) -> Cow<'_, str> {
    let odd = |b: u8| is_space(b) || matches!(b, b'"' | b'\'' | b'<' | b'>');
    let plain = !value.is_empty() && !value.bytes().any(odd) && !value.contains("\\\\") && !value.ends_with('\\');
    if plain && !value.starts_with('#') {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(line: &str) -> Vec<String> {
        lines(line.as_bytes())[0].words().into_iter().map(|w| w.value).collect()
    }

    #[test]
    fn words_as_httpd_reads_them() {
        assert_eq!(values(r#"A "b c" 'd "e"' f\\g "h\"i" j"#), ["A", "b c", "d \"e\"", "f\\g", "h\"i", "j"]);
        assert_eq!(values("A \"open to the end"), ["A", "open to the end"]);
        assert_eq!(values(r#"A "" b"#), ["A", "", "b"]);
        assert_eq!(values(r#"RewriteRule ^/a\.b$ "\d+""#), ["RewriteRule", r"^/a\.b$", r"\d+"]);
    }

    #[test]
    fn lines_are_joined_and_spans_are_the_file_s() {
        let text = b"A one \\\r\n  two\r\n# no \\\nmore of it\n\n  B x\\\ny\n";
        let all = lines(text);
        assert_eq!(all.len(), 3);
        let words = all[0].words();
        assert_eq!(&text[words[2].span.clone()], b"two");
        assert!(all[1].is_comment());
        let words = all[2].words();
        assert_eq!((words[1].value.as_str(), &text[words[1].span.clone()]), ("xy", &b"x\\\ny"[..]));
    }

    #[test]
    fn heads_end_at_the_last_bracket() {
        let line = &lines(b"<If \"%{A} -gt 3 && 1 > 0\">")[0];
        let words: Vec<_> = line.head().unwrap().into_iter().map(|w| w.value).collect();
        assert_eq!(words, ["If", "%{A} -gt 3 && 1 > 0"]);
        assert_eq!(lines(b"<Broken")[0].head(), None);
        assert_eq!(lines(b"</VirtualHost>")[0].head().unwrap()[0].value, "VirtualHost");
    }

    #[test]
    fn what_is_quoted_comes_back() {
        for text in ["plain", "", "a b", "say \"hi\"", r"C:\\x", r"ends\", "#hash", "it's", "50%"] {
            assert_eq!(values(&format!("X {}", quote(text)))[1], text, "{text}");
        }
    }
}
