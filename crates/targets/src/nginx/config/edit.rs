//! Changes as values: replace a span of one file by other bytes. Everything else stays as it is, byte for byte.

use std::ops::Range;

use super::error::EditError;
use super::lexer::{is_space, quote};
use super::{Config, File, FileId, Found};
pub use crate::files::Edit;
use crate::files::edited;

impl Found<'_> {
    fn form(&self) -> EditError {
        let name = String::from_utf8_lossy(self.directive.name()).into_owned();
        EditError::Form { place: self.place(), name }
    }

    fn edit(&self, span: Range<usize>, with: Vec<u8>) -> Edit {
        Edit::new(self.file, &span, with)
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

impl Config {
    /// A file's text with the edits that concern it; none when none does.
    ///
    /// # Errors
    /// When two edits overlap.
    pub fn edited_text(&self, id: FileId, edits: &[Edit]) -> Result<Option<Vec<u8>>, EditError> {
        let file = self.file(id);
        edited(file, id, edits).map_err(|offset| EditError::Conflict { place: file.place(offset) })
    }

    /// The configuration with `edits` (all made against this one). What includes name does not change: nothing is read.
    ///
    /// # Errors
    /// When two edits overlap, or the result is not nginx's syntax.
    pub fn apply(&self, edits: &[Edit]) -> Result<Config, EditError> {
        let mut next = self.clone();
        for (id, file) in self.files() {
            if let Some(text) = self.edited_text(id, edits)? {
                next.files[id.0] = reparsed(file, text, edits.iter().find(|e| e.file == id))?;
            }
        }
        Ok(next)
    }
}

fn reparsed(file: &File, text: Vec<u8>, first: Option<&Edit>) -> Result<File, EditError> {
    File::parse(file.path.clone(), file.real.clone(), text).map_err(|e| match e {
        super::ConfigError::Syntax { problem, .. } => {
            EditError::Breaks { place: file.place(first.map_or(0, |e| e.from)), problem }
        }
        other => unreachable!("parsing a text reads no file: {other}"),
    })
}
