//! Changes as values: replace a span of one file by other bytes. Everything else stays as it is, byte for byte.

use std::ops::Range;

use super::lexer::{is_space, quote};
use super::{Config, ConfigError, File, FileId, Found, parse};
pub use crate::files::Edit;
use crate::files::edited;

/// What is said of two edits that want different texts at one place.
const CONFLICT: &str = "two different changes are needed here, because the file is included in more than one place; write its lines \
                        out where it is included";

impl Found<'_> {
    pub(super) fn form(&self) -> ConfigError {
        let name = String::from_utf8_lossy(self.directive.name()).into_owned();
        ConfigError::at(self.place(), format!("\"{name}\" has not the form that is needed to change it"))
    }

    fn edit(&self, span: Range<usize>, with: Vec<u8>) -> Edit {
        Edit::new(self.file, &span, with)
    }

    /// Replaces one argument (0 is the first), quoting it where needed.
    ///
    /// # Errors
    /// When there is no such argument.
    pub fn set_arg(&self, index: usize, value: &[u8]) -> Result<Edit, ConfigError> {
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
    pub fn edited_text(&self, id: FileId, edits: &[Edit]) -> Result<Option<Vec<u8>>, ConfigError> {
        let file = self.file(id);
        edited(file, id, edits).map_err(|offset| ConfigError::at(file.place(offset), CONFLICT))
    }

    /// The configuration with `edits` (all made against this one). What includes name does not change: nothing is read.
    ///
    /// # Errors
    /// When two edits overlap, or the result is not nginx's syntax.
    pub fn apply(&self, edits: &[Edit]) -> Result<Config, ConfigError> {
        let mut next = self.clone();
        for (id, file) in self.files() {
            if let Some(text) = self.edited_text(id, edits)? {
                next.files[id.0] = reparsed(file, text, edits.iter().find(|e| e.file == id))?;
            }
        }
        Ok(next)
    }
}

/// A file with another text, as the first of its edits made it: what does not fit is a mistake of genkai's.
fn reparsed(file: &File, text: Vec<u8>, first: Option<&Edit>) -> Result<File, ConfigError> {
    let place = || file.place(first.map_or(0, |e| e.from));
    let tree =
        parse(&text).map_err(|e| ConfigError::at(place(), format!("the change does not fit here: {}", e.problem)))?;
    Ok(File::new(file.path.clone(), file.real.clone(), text, tree))
}
