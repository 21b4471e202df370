//! Changes as values: replace a span of one file by other bytes. Everything else stays as it is, byte for byte.

use std::borrow::Cow;
use std::ops::Range;

use super::error::EditError;
use super::lexer::{is_space, quote};
use super::{Config, File, FileId, Found};

/// Replaces a span of a file. Made against one [`Config`] and applied to the same one, together with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The file it touches.
    pub file: FileId,
    /// Bytes that go away; empty for an insertion.
    pub span: Range<usize>,
    /// Bytes that come.
    pub with: Vec<u8>,
}

impl Found<'_> {
    fn form(&self) -> EditError {
        let name = String::from_utf8_lossy(self.directive.name()).into_owned();
        EditError::Form { place: self.place(), name }
    }

    fn edit(&self, span: Range<usize>, with: Vec<u8>) -> Edit {
        Edit { file: self.file, span, with }
    }

    /// Replaces one argument (0 is the first), quoting it where needed.
    ///
    /// # Errors
    /// When there is no such argument.
    pub fn set_arg(&self, index: usize, value: &[u8]) -> Result<Edit, EditError> {
        let word = self.directive.args().get(index).ok_or_else(|| self.form())?;
        Ok(self.edit(word.span.clone(), quote(value)))
    }

    /// Replaces the arguments. Those that stay the same keep their quotes, and with the same number of them all
    /// spacing and comments between them stay too.
    pub fn set_args(&self, values: &[&[u8]]) -> Vec<Edit> {
        let words = &self.directive.words;
        let args = self.directive.args();
        if args.len() == values.len() {
            let changed = args.iter().zip(values).filter(|(word, value)| word.value != **value);
            return changed.map(|(word, value)| self.edit(word.span.clone(), quote(value))).collect();
        }
        let mut with = Vec::new();
        for value in values {
            with.push(b' ');
            with.extend(quote(value));
        }
        vec![self.edit(words[0].span.end..words[words.len() - 1].span.end, with)]
    }

    /// Adds an argument after the last.
    pub fn add_arg(&self, value: &[u8]) -> Edit {
        let end = self.directive.words[self.directive.words.len() - 1].span.end;
        self.edit(end..end, [b" ", &*quote(value)].concat())
    }

    /// Removes an argument and the space before it.
    ///
    /// # Errors
    /// When there is no such argument.
    pub fn remove_arg(&self, index: usize) -> Result<Edit, EditError> {
        let word = self.directive.args().get(index).ok_or_else(|| self.form())?;
        Ok(self.edit(self.directive.words[index].span.end..word.span.end, Vec::new()))
    }

    /// Replaces the name.
    pub fn rename(&self, name: &str) -> Edit {
        self.edit(self.directive.words[0].span.clone(), quote(name.as_bytes()))
    }

    /// Replaces the whole directive, its `;` or block included.
    pub fn replace(&self, with: Vec<u8>) -> Edit {
        self.edit(self.directive.span.clone(), with)
    }

    /// Removes the directive; its whole line when nothing else is on it.
    pub fn remove(&self) -> Edit {
        let text = &self.config.file(self.file).text;
        let Range { start, end } = self.directive.span.clone();
        let blank = |b: &u8| is_space(*b) && *b != b'\n';
        let before = start - text[..start].iter().rev().take_while(|b| blank(b)).count();
        let after = end + text[end..].iter().take_while(|b| blank(b)).count();
        let first = before == 0 || text[before - 1] == b'\n';
        match text.get(after) {
            Some(b'\n') if first => self.edit(before..after + 1, Vec::new()),
            None if first => self.edit(before..after, Vec::new()),
            _ => self.edit(start..end, Vec::new()),
        }
    }
}

/// The edits of one file in order, those made twice only once.
///
/// # Errors
/// When two edits overlap.
fn ordered<'e>(file: &File, edits: impl Iterator<Item = &'e Edit>) -> Result<Vec<&'e Edit>, EditError> {
    let mut sorted: Vec<&Edit> = edits.collect();
    sorted.sort_by_key(|e| (e.span.start, e.span.end));
    let mut mine: Vec<&Edit> = Vec::new();
    for edit in sorted {
        let here = |other: &&&Edit| other.span == edit.span;
        if !mine.iter().rev().take_while(here).any(|other| other.with == edit.with) {
            mine.push(edit);
        }
    }
    for pair in mine.windows(2) {
        if pair[1].span.start < pair[0].span.end {
            return Err(EditError::Conflict { place: file.place(pair[1].span.start) });
        }
    }
    Ok(mine)
}

impl Config {
    /// A file's text with the edits that concern it.
    ///
    /// # Errors
    /// When two edits overlap.
    pub fn edited_text(&self, id: FileId, edits: &[Edit]) -> Result<Cow<'_, [u8]>, EditError> {
        let file = self.file(id);
        let mine = ordered(file, edits.iter().filter(|e| e.file == id))?;
        if mine.is_empty() {
            return Ok(Cow::Borrowed(&file.text));
        }
        let mut out = Vec::with_capacity(file.text.len() + 64);
        let mut at = 0;
        for edit in mine {
            out.extend_from_slice(&file.text[at..edit.span.start]);
            out.extend_from_slice(&edit.with);
            at = edit.span.end;
        }
        out.extend_from_slice(&file.text[at..]);
        Ok(Cow::Owned(out))
    }

    /// The configuration with `edits` (all made against this one). What includes name does not change: nothing is read.
    ///
    /// # Errors
    /// When two edits overlap, or the result is not nginx's syntax.
    pub fn apply(&self, edits: &[Edit]) -> Result<Config, EditError> {
        let mut next = self.clone();
        for (id, file) in self.files() {
            if let Cow::Owned(text) = self.edited_text(id, edits)? {
                next.files[id.0] = reparsed(file, text, edits.iter().find(|e| e.file == id))?;
            }
        }
        Ok(next)
    }
}

fn reparsed(file: &File, text: Vec<u8>, first: Option<&Edit>) -> Result<File, EditError> {
    File::parse(file.path.clone(), file.real.clone(), text).map_err(|e| match e {
        super::ConfigError::Syntax { problem, .. } => {
            EditError::Breaks { place: file.place(first.map_or(0, |e| e.span.start)), problem }
        }
        other => unreachable!("parsing a text reads no file: {other}"),
    })
}
