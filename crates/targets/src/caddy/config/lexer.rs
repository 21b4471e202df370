//! Tokens of a Caddyfile, by the rules of Caddy's own lexer (caddyconfig/caddyfile/lexer.go), each with the bytes it stands for.
//!
//! `{$NAME}` and `{$NAME:default}` are replaced in the text before it is read (parse.go: `replaceEnvVars`): a token made of such a
//! placeholder stands for the whole placeholder.

use std::ops::Range;

use crate::files::FileId;

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// What it stands for: without quotes, escapes and placeholders of the environment.
    pub value: String,
    /// Whether it was between quotes, backticks, or the marks of a heredoc: then braces are no blocks.
    pub quoted: bool,
    /// Its file.
    pub file: FileId,
    /// Its bytes in the file, quotes among them.
    pub span: Range<usize>,
}

impl Word {
    /// Whether it is this word, not between quotes.
    pub fn is(&self, plain: &str) -> bool {
        !self.quoted && self.value == plain
    }
}

/// A word with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) word: Word,
    /// As Caddy counts: a line that ends in `\` and the next are one.
    line: usize,
    /// The same at its end.
    last: usize,
}

impl Token {
    /// Whether it begins a line after `before` (lexer.go: `isNextOnNewLine`).
    pub(super) fn begins_line(&self, before: &Token) -> bool {
        before.last < self.line
    }
}

/// What cannot be read: the offset, and why.
pub(super) type Fault = (usize, String);

/// The tokens of `text`, which is that of `file`; `environment` gives the values of variables.
pub(super) fn tokens(
    file: FileId,
    text: &[u8],
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Token>, Fault> {
    let mut lexer = Lexer { file, chars: characters(text, environment), at: 0, line: 1, skipped: 0 };
    lexer.at = usize::from(lexer.chars.first().is_some_and(|c| c.char == '\u{feff}'));
    let mut all = Vec::new();
    while let Some(token) = lexer.next()? {
        all.push(token);
    }
    Ok(all)
}

/// A character with the bytes of the file that it comes from.
#[derive(Clone, Copy, Debug)]
struct Character {
    char: char,
    from: usize,
    to: usize,
}

/// The characters of a text with the variables of the environment replaced.
fn characters(text: &[u8], environment: &dyn Fn(&str) -> Option<String>) -> Vec<Character> {
    let (mut all, mut at) = (Vec::with_capacity(text.len()), 0);
    while let Some((span, value)) = placeholder(text, at, environment) {
        decoded(&text[at..span.start], at, &mut all);
        let one = |char| Character { char, from: span.start, to: span.end };
        all.extend(value.chars().map(one));
        at = span.end;
    }
    decoded(&text[at..], at, &mut all);
    all
}

/// The next `{$NAME}` from `from` on, and what it stands for; `{$}` stands for itself.
fn placeholder(
    text: &[u8],
    from: usize,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Option<(Range<usize>, String)> {
    let mut from = from;
    loop {
        let begin = memchr::memmem::find(&text[from..], b"{$")? + from;
        let end = memchr::memchr(b'}', &text[begin + 2..])? + begin + 2;
        if end == begin + 2 {
            from = end + 1;
            continue;
        }
        let inside = String::from_utf8_lossy(&text[begin + 2..end]);
        let (name, default) = inside.split_once(':').map_or((&*inside, ""), |(name, default)| (name, default));
        return Some((begin..end + 1, environment(name).unwrap_or_else(|| default.to_owned())));
    }
}

fn decoded(text: &[u8], offset: usize, all: &mut Vec<Character>) {
    let mut at = offset;
    for chunk in text.utf8_chunks() {
        for char in chunk.valid().chars() {
            all.push(Character { char, from: at, to: at + char.len_utf8() });
            at += char.len_utf8();
        }
        for _ in chunk.invalid() {
            all.push(Character { char: char::REPLACEMENT_CHARACTER, from: at, to: at + 1 });
            at += 1;
        }
    }
}

struct Lexer {
    file: FileId,
    chars: Vec<Character>,
    at: usize,
    line: usize,
    skipped: usize,
}

impl Lexer {
    fn take(&mut self) -> Option<Character> {
        let next = self.chars.get(self.at).copied();
        self.at += usize::from(next.is_some());
        next
    }

    /// A new line that counts, with those before it that did not.
    fn new_line(&mut self) {
        self.line += 1 + self.skipped;
        self.skipped = 0;
    }

    fn token(&self, value: String, quoted: bool, line: usize, from: usize) -> Token {
        let to = self.chars[self.at - 1].to;
        Token { word: Word { value, quoted, file: self.file, span: from..to }, line, last: self.line }
    }

    /// The next token; none at the end.
    fn next(&mut self) -> Result<Option<Token>, Fault> {
        let (mut comment, mut escape) = (false, None);
        while let Some(c) = self.take() {
            match c.char {
                '\\' if escape.is_none() => escape = Some(c.from),
                '\r' => {}
                '\n' => {
                    match escape.take() {
                        Some(_) => self.skipped += 1,
                        None => self.new_line(),
                    }
                    comment = false;
                }
                space if space.is_whitespace() => {}
                _ if comment => {}
                '#' => comment = true,
                quote @ ('"' | '`') => return Ok(self.quoted(quote, escape.is_some(), c.from)),
                _ => return self.plain(c, escape),
            }
        }
        Ok(None)
    }

    /// Up to the closing quote, which may be missing at the end of the file.
    fn quoted(&mut self, quote: char, escaped: bool, from: usize) -> Option<Token> {
        let (mut value, mut escaped, line) = (String::new(), escaped, self.line);
        while let Some(c) = self.take() {
            if c.char == '\\' && quote == '"' && !escaped {
                escaped = true;
                continue;
            }
            if quote == '"' && escaped {
                if c.char != '"' {
                    value.push('\\');
                }
                escaped = false;
            } else if c.char == quote {
                return Some(self.token(value, true, line, from));
            }
            if c.char == '\n' {
                self.new_line();
            }
            value.push(c.char);
        }
        (!value.is_empty()).then(|| self.token(value, false, line, from))
    }

    /// A word without quotes, or a heredoc. `escape`: where a backslash stands before it.
    fn plain(&mut self, first: Character, escape: Option<usize>) -> Result<Option<Token>, Fault> {
        let (line, from) = (self.line, escape.unwrap_or(first.from));
        // An escaped `<` is no heredoc; of any other character the backslash stays.
        let heredoc = !(escape.is_some() && first.char == '<');
        let mut value = if escape.is_some() && heredoc { format!("\\{}", first.char) } else { first.char.to_string() };
        let mut escaped = false;
        while let Some(c) = self.chars.get(self.at).copied() {
            if c.char == '\n' && heredoc && value.len() > 2 && value.starts_with("<<") && !value.starts_with("<<<") {
                return self.heredoc(&value[2..], line, from);
            }
            if c.char == '\\' && !escaped {
                (escaped, self.at) = (true, self.at + 1);
                continue;
            }
            if c.char == '\r' {
                self.at += 1;
                continue;
            }
            if c.char.is_whitespace() {
                break;
            }
            if std::mem::take(&mut escaped) {
                value.push('\\');
            }
            value.push(c.char);
            self.at += 1;
        }
        let token = self.token(value, false, line, from);
        if escaped && self.chars.get(self.at).is_some_and(|c| c.char == '\n') {
            // The line goes on in the next.
            (self.skipped, self.at) = (self.skipped + 1, self.at + 1);
        }
        Ok(Some(token))
    }

    /// The lines up to `marker`, without the white space that stands before it (since 2.7).
    fn heredoc(&mut self, marker: &str, line: usize, from: usize) -> Result<Option<Token>, Fault> {
        self.at += 1;
        let mut text = String::new();
        while !text.ends_with(marker) {
            let Some(c) = self.take() else {
                return Err((from, format!("the heredoc <<{marker} is never closed; add a line {marker}")));
            };
            text.push(c.char);
        }
        let body = &text[..text.len() - marker.len()];
        let (lines, padding) = body.rsplit_once('\n').unwrap_or(("", body));
        let stripped: Vec<&str> =
            lines.split('\n').map(|l| l.trim_end_matches('\r')).map(|l| l.strip_prefix(padding).unwrap_or(l)).collect();
        self.line += 1 + body.matches('\n').count();
        Ok(Some(self.token(stripped.join("\n"), true, line, from)))
    }
}

/// A word as it is written so that it is read as `value`.
pub fn quote(value: &str) -> String {
    let plain = !value.is_empty()
        && !value.chars().any(|c| c.is_whitespace() || matches!(c, '"' | '`' | '\\'))
        && !value.starts_with(['#', '<'])
        && !matches!(value, "{" | "}");
    match value {
        _ if plain => value.to_owned(),
        _ if !value.contains('`') => format!("`{value}`"),
        _ => format!("\"{}\"", value.replace('"', "\\\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, usize)> {
        let environment = |name: &str| (name == "A").then(|| "x y".to_owned());
        let all = tokens(FileId::MAIN, text.as_bytes(), &environment).unwrap();
        all.into_iter().map(|t| (t.word.value, t.line)).collect()
    }

    fn words(text: &str) -> Vec<String> {
        read(text).into_iter().map(|(value, _)| value).collect()
    }

    #[test]
    fn words_are_those_of_caddys_lexer() {
        assert_eq!(words("a \"b c\" `d \"e` # f\ng"), ["a", "b c", "d \"e", "g"]);
        assert_eq!(words(r#""a \" b \n" \< a\b c#d"#), ["a \" b \\n", "<", "a\\b", "c#d"]);
        assert_eq!(words("{$A} {$B:z} {$C} {$}"), ["x", "y", "z", "{$}"]);
        assert_eq!(words("\u{feff}a\r\nb\u{a0}c"), ["a", "b", "c"]);
        assert_eq!(words("a <<END\n  one\n   two\n  END b"), ["a", "one\n two", "b"]);
        assert!(tokens(FileId::MAIN, b"a <<END\nb", &|_| None).is_err());
    }

    #[test]
    fn an_escaped_line_end_is_none() {
        assert_eq!(read("a \\\n b\nc"), [("a", 1), ("b", 1), ("c", 3)].map(|(w, l)| (w.to_owned(), l)));
        assert_eq!(read("a\\\n b\nc"), [("a", 1), ("b", 1), ("c", 3)].map(|(w, l)| (w.to_owned(), l)));
    }

    #[test]
    fn a_word_is_read_as_it_was_quoted() {
        for value in ["a", "", "a b", "{", "}", "a\"b", "a`b\"", "#x", "<<x", "line\nline", "{http.host}"] {
            assert_eq!(words(&quote(value)), [value], "{}", quote(value));
        }
    }

    #[test]
    fn a_placeholder_is_one_span() {
        let all = tokens(FileId::MAIN, b"a {$A}:80", &|_| Some("h".to_owned())).unwrap();
        assert_eq!((all[1].word.value.as_str(), all[1].word.span.clone()), ("h:80", 2..9));
    }
}
