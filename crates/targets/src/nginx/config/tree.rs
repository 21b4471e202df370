//! Tokens to directives. The tree holds spans of the text, never text of its own: the text stays the only truth, and
//! printing a file is printing its text.

use std::borrow::Cow;
use std::ops::Range;

use super::lexer::{self, Kind, Lexer, Token};
use super::syntax::{Problem, SyntaxError, line_at};

/// Blocks may be nested so deep. (nginx has no such limit; `http`, `server`, a few `location`s and an `if` make ten.)
pub const MAX_DEPTH: usize = 100;

/// A name or an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its bytes in the text, quotes included.
    pub span: Range<usize>,
    /// What it stands for: no quotes, escapes replaced.
    pub value: Vec<u8>,
}

impl Word {
    /// The value as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.value)
    }
}

/// How a directive ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With `;`.
    Semicolon,
    /// With a block.
    Block {
        /// Between the braces.
        inner: Range<usize>,
        /// What is in it.
        directives: Vec<Directive>,
    },
    /// With a block of Lua.
    Lua {
        /// Between the braces.
        inner: Range<usize>,
    },
}

/// A directive: at least its name, and how it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Name first, then arguments. Never empty.
    pub words: Vec<Word>,
    /// From the name's first byte to the `;` or `}`, which is included.
    pub span: Range<usize>,
    /// How it ends.
    pub end: End,
}

impl Directive {
    /// Its name.
    pub fn name(&self) -> &[u8] {
        &self.words[0].value
    }

    /// Whether it has this name.
    pub fn is(&self, name: &str) -> bool {
        self.name() == name.as_bytes()
    }

    /// Its arguments.
    pub fn args(&self) -> &[Word] {
        &self.words[1..]
    }

    /// What is in its block; nothing for a simple directive and for Lua.
    pub fn directives(&self) -> &[Directive] {
        match &self.end {
            End::Block { directives, .. } => directives,
            _ => &[],
        }
    }

    /// Whether it has a block (of directives or Lua).
    pub fn is_block(&self) -> bool {
        self.end != End::Semicolon
    }
}

/// A block that has begun.
struct Block {
    words: Vec<Word>,
    inner: usize,
    directives: Vec<Directive>,
}

struct Parser<'a> {
    text: &'a [u8],
    /// Words of the statement that has begun.
    open: Vec<Word>,
    blocks: Vec<Block>,
    top: Vec<Directive>,
}

/// The directives of a text. Never panics, whatever the bytes.
///
/// # Errors
/// The first place that nginx could not read, with its line.
pub fn parse(text: &[u8]) -> Result<Vec<Directive>, SyntaxError> {
    let mut parser = Parser { text, open: Vec::new(), blocks: Vec::new(), top: Vec::new() };
    let mut lexer = Lexer::new(text);
    while let Some(token) = lexer.next().transpose()? {
        parser.take(token, &mut lexer)?;
    }
    parser.finish()
}

impl Parser<'_> {
    fn take(&mut self, token: Token, lexer: &mut Lexer<'_>) -> Result<(), SyntaxError> {
        match token.kind {
            Kind::Mark | Kind::Space | Kind::Comment => {}
            Kind::Word => {
                let value = lexer::value(&self.text[token.span.clone()]);
                self.open.push(Word { span: token.span, value });
            }
            Kind::Semicolon => {
                let words = self.words(b';', token.span.start)?;
                self.end(words, token.span.end, End::Semicolon);
            }
            Kind::Open => {
                let words = self.words(b'{', token.span.start)?;
                if self.blocks.len() == MAX_DEPTH {
                    return Err(self.fail(token.span.start, Problem::TooDeep(MAX_DEPTH)));
                }
                self.blocks.push(Block { words, inner: token.span.end, directives: Vec::new() });
            }
            Kind::Close => self.close(token.span)?,
            Kind::Lua => {
                // The lexer stops Lua only before its closing brace, which is the next token.
                let close = lexer.next().transpose()?.map_or(token.span.end, |t| t.span.end);
                if let Some(block) = self.blocks.pop() {
                    self.end(block.words, close, End::Lua { inner: token.span });
                }
            }
        }
        Ok(())
    }

    fn fail(&self, offset: usize, problem: Problem) -> SyntaxError {
        SyntaxError::new(self.text, offset, problem)
    }

    /// The words of the statement that ends here.
    fn words(&mut self, byte: u8, at: usize) -> Result<Vec<Word>, SyntaxError> {
        let words = std::mem::take(&mut self.open);
        if words.is_empty() { Err(self.fail(at, Problem::Unexpected { byte, after: None })) } else { Ok(words) }
    }

    fn close(&mut self, brace: Range<usize>) -> Result<(), SyntaxError> {
        let after = self.open.first().map(|w| (w.text().into_owned(), line_at(self.text, w.span.start)));
        match self.blocks.pop() {
            Some(block) if after.is_none() => {
                let end = End::Block { inner: block.inner..brace.start, directives: block.directives };
                self.end(block.words, brace.end, end);
                Ok(())
            }
            _ => Err(self.fail(brace.start, Problem::Unexpected { byte: b'}', after })),
        }
    }

    fn end(&mut self, words: Vec<Word>, at: usize, end: End) {
        let directive = Directive { span: words[0].span.start..at, words, end };
        self.blocks.last_mut().map_or(&mut self.top, |b| &mut b.directives).push(directive);
    }

    fn finish(self) -> Result<Vec<Directive>, SyntaxError> {
        if let Some(word) = self.open.first() {
            return Err(self.fail(word.span.start, Problem::OpenDirective(word.text().into_owned())));
        }
        if let Some(block) = self.blocks.last() {
            let name = &block.words[0];
            return Err(self.fail(name.span.start, Problem::OpenBlock(name.text().into_owned())));
        }
        Ok(self.top)
    }
}
