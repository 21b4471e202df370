//! Lines and blocks of a Caddyfile, as they are written: nothing is imported yet.

use std::ops::Range;

use super::lexer::{Fault, Token, Word};
use crate::files::FileId;

/// Blocks within blocks, at most so many.
const MAX_OPEN: usize = 50;

/// A directive, an option, or the head of a site: words on a line, and the block that it opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its file.
    pub file: FileId,
    /// Line in it, from 1.
    pub number: usize,
    /// Its words; none for a block that stands alone.
    pub words: Vec<Word>,
    /// The block it opens.
    pub block: Option<Block>,
}

/// What stands between braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its lines.
    pub lines: Vec<Line>,
    /// The file of its braces.
    pub file: FileId,
    /// The bytes of its opening brace.
    pub open: Range<usize>,
    /// The bytes of its closing brace.
    pub close: Range<usize>,
}

impl Line {
    /// Its first word; empty where it has none.
    pub fn name(&self) -> &str {
        self.words.first().map_or("", |word| &word.value)
    }

    /// An argument; 0 is the first.
    pub fn arg(&self, index: usize) -> Option<&Word> {
        self.words.get(index + 1)
    }

    /// Its arguments.
    pub fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Whether its words begin with those of `key`, e.g. `transport http`.
    pub fn is(&self, key: &str) -> bool {
        let mut words = self.words.iter();
        key.split(' ').all(|part| words.next().is_some_and(|word| word.value == part))
    }

    /// The lines of its block; none where it opens none.
    pub fn inside(&self) -> &[Line] {
        self.block.as_ref().map_or(&[], |block| &block.lines)
    }

    /// The last line of its block that begins with `key`.
    pub fn option(&self, key: &str) -> Option<&Line> {
        self.inside().iter().rev().find(|line| line.is(key))
    }

    /// It and all lines inside of it.
    pub fn all<'a>(&'a self, each: &mut dyn FnMut(&'a Line)) {
        each(self);
        self.inside().iter().for_each(|line| line.all(each));
    }
}

/// The lines of a file. `number` gives the line of an offset.
pub(super) fn lines(file: FileId, tokens: Vec<Token>, number: &dyn Fn(usize) -> usize) -> Result<Vec<Line>, Fault> {
    let mut reader = Reader { file, number, open: Vec::new(), lines: Vec::new() };
    let mut last: Option<Token> = None;
    for token in tokens {
        let begins = last.as_ref().is_none_or(|last| token.begins_line(last) || is_brace(last));
        reader.token(&token.word, begins)?;
        last = Some(token);
    }
    match reader.open.pop() {
        Some((_, brace)) => Err((brace.start, "this brace is never closed; add a }".to_owned())),
        None => Ok(reader.lines),
    }
}

fn is_brace(token: &Token) -> bool {
    token.word.is("{") || token.word.is("}")
}

struct Reader<'a> {
    file: FileId,
    number: &'a dyn Fn(usize) -> usize,
    /// The lines before each block that is open, with its brace.
    open: Vec<(Vec<Line>, Range<usize>)>,
    lines: Vec<Line>,
}

impl Reader<'_> {
    fn token(&mut self, word: &Word, begins: bool) -> Result<(), Fault> {
        if word.is("{") {
            if self.open.len() == MAX_OPEN {
                return Err((word.span.start, format!("more than {MAX_OPEN} blocks within each other")));
            }
            if begins || self.lines.is_empty() {
                self.line(word, Vec::new());
            }
            let before = std::mem::take(&mut self.lines);
            self.open.push((before, word.span.clone()));
        } else if word.is("}") {
            let (before, open) = self.open.pop().ok_or((
                word.span.start,
                "this brace closes nothing; remove it, or open the block with { at the end of a line".to_owned(),
            ))?;
            let lines = std::mem::replace(&mut self.lines, before);
            let block = Block { lines, file: self.file, open, close: word.span.clone() };
            if let Some(line) = self.lines.last_mut() {
                line.block = Some(block);
            }
        } else {
            match self.lines.last_mut().filter(|_| !begins) {
                Some(line) => line.words.push(word.clone()),
                None => self.line(word, vec![word.clone()]),
            }
        }
        Ok(())
    }

    fn line(&mut self, at: &Word, words: Vec<Word>) {
        self.lines.push(Line { file: self.file, number: (self.number)(at.span.start), words, block: None });
    }
}
