//! Bytes to tokens, by nginx's own rules (`src/core/ngx_conf_file.c`, `ngx_conf_read_token`, 1.22.1 and 1.31).
//!
//! The tokens tile the text: each byte belongs to exactly one of them, so nothing can be lost. Rules that surprise:
//! * `#` begins a comment only where a word could begin; `a#b` is one word.
//! * A quote opens a string only where a word begins; after the closing one must come a space, `;`, `{` or `)`.
//! * A backslash takes the next byte with it, in and out of quotes. `{` right after `$` belongs to the word (`${name}`),
//!   any other `{` or `;` ends it; `}` inside a word is an ordinary byte.
//! * After a name that ends in `_by_lua_block`, what is between the braces is Lua, read by its own rules.

use std::ops::Range;

use super::lua;
use super::syntax::{Problem, SyntaxError};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A UTF-8 byte order mark at the very beginning. (nginx takes it for part of the first word and refuses the file.)
    Mark,
    /// Spaces, tabs, CR, LF.
    Space,
    /// From `#` up to the line feed, which is not part of it (a CR before it is).
    Comment,
    /// A name or an argument with its quotes.
    Word,
    /// `;`
    Semicolon,
    /// `{`
    Open,
    /// `}`
    Close,
    /// Lua between the braces of a `*_by_lua_block`; may be empty.
    Lua,
}

/// A piece of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its bytes.
    pub span: Range<usize>,
}

const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Ends of directive names whose block is Lua.
const LUA: &[u8] = b"_by_lua_block";

/// Reads one token after another. Stops for good at the first error.
pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    /// Inside a statement: whether its first word announces Lua.
    statement: Option<bool>,
    /// The next token is Lua.
    lua: bool,
    done: bool,
}

/// Whether nginx treats it as white space.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Lexer { text, at: 0, statement: None, lua: false, done: false }
    }

    fn token(&mut self) -> Result<Option<Token>, SyntaxError> {
        let start = self.at;
        if self.lua {
            self.lua = false;
            self.at = lua::end(self.text, start).ok_or(SyntaxError::new(self.text, start, Problem::OpenLua))?;
            return Ok(Some(Token { kind: Kind::Lua, span: start..self.at }));
        }
        let Some(&byte) = self.text.get(start) else { return Ok(None) };
        let kind = match byte {
            _ if start == 0 && self.text.starts_with(MARK) => {
                self.at = MARK.len();
                Kind::Mark
            }
            b if is_space(b) => self.run(Kind::Space, is_space),
            b'#' => self.run(Kind::Comment, |b| b != b'\n'),
            b';' => self.single(Kind::Semicolon),
            b'{' => self.single(Kind::Open),
            b'}' => self.single(Kind::Close),
            b'"' | b'\'' => self.quoted(byte)?,
            _ => self.bare(),
        };
        self.follow(kind, start..self.at);
        Ok(Some(Token { kind, span: start..self.at }))
    }

    fn run(&mut self, kind: Kind, belongs: impl Fn(u8) -> bool) -> Kind {
        let rest = &self.text[self.at..];
        self.at += rest.iter().position(|&b| !belongs(b)).unwrap_or(rest.len());
        kind
    }

    fn single(&mut self, kind: Kind) -> Kind {
        self.at += 1;
        kind
    }

    fn quoted(&mut self, quote: u8) -> Result<Kind, SyntaxError> {
        let start = self.at;
        let fail = |at, problem| Err(SyntaxError::new(self.text, at, problem));
        let mut at = start + 1;
        loop {
            match self.text.get(at) {
                None => return fail(start, Problem::OpenQuote(quote)),
                Some(b'\\') => at += 2,
                Some(&b) if b == quote => break,
                Some(_) => at += 1,
            }
        }
        match self.text.get(at + 1) {
            None | Some(b';' | b'{' | b')') => {}
            Some(&b) if is_space(b) => {}
            Some(&b) => return fail(at + 1, Problem::AfterQuote(b)),
        }
        self.at = at + 1;
        Ok(Kind::Word)
    }

    fn bare(&mut self) -> Kind {
        // `variable`: the last bytes were `$`, or `${`, `${{`...
        let mut variable = false;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'{' if variable => {}
                b'\\' => {
                    variable = false;
                    self.at += 1;
                }
                b';' | b'{' => break,
                b if is_space(b) => break,
                b => variable = b == b'$',
            }
            self.at += 1;
        }
        self.at = self.at.min(self.text.len());
        Kind::Word
    }

    /// Keeps track of where statements begin, to know whose block is Lua.
    fn follow(&mut self, kind: Kind, span: Range<usize>) {
        match kind {
            Kind::Word if self.statement.is_none() => {
                let name = &self.text[span];
                let name = name.strip_suffix(b"\"").or(name.strip_suffix(b"'")).unwrap_or(name);
                self.statement = Some(name.ends_with(LUA));
            }
            Kind::Open => self.lua = self.statement.take().unwrap_or(false),
            Kind::Semicolon | Kind::Close => self.statement = None,
            _ => {}
        }
    }
}

impl Iterator for Lexer<'_> {
    type Item = Result<Token, SyntaxError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.token().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

/// All tokens of a text, in order, each beginning where the one before ends.
///
/// # Errors
/// A quote or Lua block that is never closed, or a byte that may not follow a closing quote.
pub fn tokens(text: &[u8]) -> Result<Vec<Token>, SyntaxError> {
    Lexer::new(text).collect()
}

/// What a word stands for: without its quotes, `\"` `\'` `\\` `\t` `\r` `\n` replaced; other backslashes stay.
pub fn value(word: &[u8]) -> Vec<u8> {
    let inner = match word {
        [b'"', inner @ .., b'"'] | [b'\'', inner @ .., b'\''] => inner,
        bare => bare,
    };
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let replaced = match (byte, bytes.peek()) {
            (b'\\', Some(&b @ (b'"' | b'\'' | b'\\'))) => b,
            (b'\\', Some(b't')) => b'\t',
            (b'\\', Some(b'r')) => b'\r',
            (b'\\', Some(b'n')) => b'\n',
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.push(replaced);
        bytes.next();
    }
    out
}

/// A word that stands for `value`: as it is where that is safe, else in double quotes.
pub fn quote(value: &[u8]) -> Vec<u8> {
    let special = |b: &u8| is_space(*b) || matches!(b, b';' | b'{' | b'}' | b'"' | b'\'' | b'\\');
    // A `$` at the end would take a `{` that follows into the word.
    let edges = !value.starts_with(b"#") && !value.starts_with(MARK) && !value.ends_with(b"$");
    let bare = !value.is_empty() && edges && !value.iter().any(special);
    if bare {
        return value.to_vec();
    }
    let mut out = vec![b'"'];
    for &byte in value {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
    out
}
