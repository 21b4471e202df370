//! The changes of a private copy while they are collected.

use std::path::{Path, PathBuf};

use genkai_model::event::Rewrite;

use super::{Edit, File, FileId, Names, flat};

/// Collects edits of a configuration, and each difference as the report lists it.
pub(crate) struct Changes<'c, C> {
    pub(crate) config: &'c C,
    /// The folder of the copy.
    pub(crate) dir: PathBuf,
    pub(crate) edits: Vec<Edit>,
    pub(crate) rewrites: Vec<Rewrite>,
    names: Names,
}

impl<'c, C> Changes<'c, C> {
    /// None, of a copy in `dir`.
    pub(crate) fn new(config: &'c C, dir: &Path) -> Self {
        Changes { config, dir: dir.to_owned(), edits: Vec::new(), rewrites: Vec::new(), names: Names::default() }
    }

    /// Lists a difference. One of a file that is included twice is listed once.
    pub(crate) fn list(&mut self, rewrite: Rewrite) {
        if !self.rewrites.contains(&rewrite) {
            self.rewrites.push(rewrite);
        }
    }

    /// An edit that keeps the number of lines, so that messages can be told in terms of the user's files.
    pub(crate) fn edit<D>(&mut self, file: &File<D>, mut edit: Edit) {
        let lines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
        let missing = lines(&file.text[edit.from..edit.to]).saturating_sub(lines(&edit.with));
        edit.with.extend(std::iter::repeat_n(b'\n', missing));
        self.edits.push(edit);
    }

    /// A path in the folder for what the user calls `name`: the same for the same name, another for another.
    pub(crate) fn path(&mut self, folder: &str, name: &str) -> PathBuf {
        self.dir.join(self.names.path(folder, name))
    }
}

/// Where the copy of a file is: numbered, as names may be alike.
pub(crate) fn numbered<D>(dir: &Path, id: FileId, file: &File<D>) -> PathBuf {
    dir.join(format!("conf/{:03}-{}", id.0, flat(&file.path.to_string_lossy())))
}

/// A message with the names of copies replaced by the originals'.
pub(crate) fn renamed(message: &str, files: &[(PathBuf, PathBuf)]) -> String {
    files.iter().fold(message.to_owned(), |text, (copy, original)| {
        text.replace(&*copy.to_string_lossy(), &original.to_string_lossy())
    })
}
