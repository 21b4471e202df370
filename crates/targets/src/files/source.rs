//! The files that make up a configuration, as they were read. Whose syntax they have is the product's affair.

use std::path::PathBuf;

use super::Pair;

/// Names a file of a configuration; 0 is the main one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) usize);

impl FileId {
    /// The main file.
    pub const MAIN: FileId = FileId(0);
}

/// One file of a configuration, with its directives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File<Directive> {
    /// Absolute path by which it was reached.
    pub path: PathBuf,
    /// The same with every symlink resolved.
    pub real: PathBuf,
    /// Its bytes.
    pub text: Vec<u8>,
    /// Its directives.
    pub tree: Vec<Directive>,
    /// Offsets at which lines begin.
    lines: Vec<usize>,
}

impl<Directive> File<Directive> {
    /// A file whose text was read as these directives.
    pub(crate) fn new(path: PathBuf, real: PathBuf, text: Vec<u8>, tree: Vec<Directive>) -> Self {
        let lines = std::iter::once(0).chain(memchr::memchr_iter(b'\n', &text).map(|at| at + 1)).collect();
        File { path, real, text, tree, lines }
    }

    /// Line (from 1) of an offset.
    pub fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|&start| start <= offset)
    }

    /// Bytes of a line, from 1, with its end; nothing beyond the last.
    pub(crate) fn nth_span(&self, line: usize) -> std::ops::Range<usize> {
        let at = |index: usize| self.lines.get(index).copied().unwrap_or(self.text.len());
        at(line.saturating_sub(1))..at(line)
    }

    /// A line, from 1, with its end.
    pub(crate) fn line_of(&self, line: usize) -> &[u8] {
        &self.text[self.nth_span(line)]
    }

    /// `path:line` of an offset.
    pub fn place(&self, offset: usize) -> String {
        format!("{}:{}", self.path.display(), self.line(offset))
    }
}

/// Each of `files` with what edits made of it in `edited`.
pub(crate) fn pairs<'a, Directive>(
    files: &'a [File<Directive>],
    edited: &'a [File<Directive>],
) -> impl Iterator<Item = Pair<'a>> {
    files.iter().filter_map(|before| {
        let after = edited.iter().find(|file| file.path == before.path)?;
        Some(Pair { path: &before.path, real: &before.real, before: &before.text, after: &after.text })
    })
}
