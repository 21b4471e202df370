//! Changes as values: replace a span of one file by other bytes. Everything else stays as it is, byte for byte.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::lexer::quote;
use super::{Config, ConfigError, FileId, Found, evaluate};
pub use crate::files::Edit;
use crate::files::edited;

/// What is said of two edits of the same place.
const CONFLICT: &str = "needs two different changes, as the file is used twice; give each use a file of its own";

impl Found {
    /// Replaces one argument (0 is the first), quoting it where needed; adds it where it is the next. None beyond that.
    pub fn set_arg(&self, index: usize, value: &str) -> Option<Edit> {
        match self.words.get(index + 1) {
            Some(word) => Some(Edit::new(self.file, &word.span, quote(value).into_owned())),
            None if index + 1 == self.words.len() => {
                let end = self.words[index].span.end;
                Some(Edit::new(self.file, &(end..end), format!(" {}", quote(value))))
            }
            None => None,
        }
    }

    /// Replaces all arguments. Those that stay the same keep their quotes and variables; with the same number of them the
    /// spacing between them stays too.
    pub fn set_args(&self, values: &[String]) -> Vec<Edit> {
        if self.args.len() == values.len() {
            let changed = values.iter().enumerate().filter(|(i, value)| self.args[*i] != **value);
            return changed.filter_map(|(i, value)| self.set_arg(i, value)).collect();
        }
        let with: String = values.iter().map(|value| format!(" {}", quote(value))).collect();
        let span = self.words[0].span.end..self.words[self.words.len() - 1].span.end;
        vec![Edit::new(self.file, &span, with)]
    }
}

impl Config {
    /// A new line after the line of a directive (or after a section's end), indented like it.
    pub fn line_after(&self, found: &Found, text: &str) -> Edit {
        self.file(found.file).line_after(found.file, found.span.start, found.span.end, text)
    }

    /// A new line at the end of the main file.
    pub fn line_at_end(&self, text: &str) -> Edit {
        self.file(FileId::MAIN).line_at_end(FileId::MAIN, text)
    }

    /// A file's text with the edits that concern it; none when none does.
    ///
    /// # Errors
    /// When two edits overlap.
    pub fn edited_text(&self, id: FileId, edits: &[Edit]) -> Result<Option<Vec<u8>>, ConfigError> {
        let file = self.file(id);
        edited(file, id, edits).map_err(|offset| ConfigError::at(file.place(offset), CONFLICT))
    }

    /// The configuration with `edits` (all made against this one), evaluated anew.
    ///
    /// # Errors
    /// When two edits overlap, or the result cannot be read, or a line of a macro would be changed for one use of several.
    pub fn apply(&self, edits: &[Edit]) -> Result<Config, ConfigError> {
        let mut texts: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
        let edits = self.defined(edits)?;
        for (id, file) in self.files().filter(|(id, _)| !self.is_use(*id)) {
            let text = self.edited_text(id, &edits)?.unwrap_or_else(|| file.text.clone());
            texts.insert(file.path.clone(), text);
        }
        evaluate::read(&self.file(FileId::MAIN).path.clone(), self.reading.clone(), texts)
    }
}
