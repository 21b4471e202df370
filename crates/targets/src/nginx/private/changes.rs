//! The changes of a private copy while they are collected, each with what a reader should know of it.

use std::path::{Path, PathBuf};

use crate::files::Names;
use crate::nginx::config::{Config, Edit, FileId, Found};

/// One difference between the user's files and the private copy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rewrite {
    /// What was done and why, in a few words.
    pub what: &'static str,
    /// As the user wrote it; empty for what was added.
    pub from: String,
    /// As it runs; empty for what was left out.
    pub to: String,
    /// `path:line` in the user's files.
    pub place: String,
}

impl From<&Rewrite> for genkai_model::event::Rewrite {
    fn from(rewrite: &Rewrite) -> Self {
        let Rewrite { place, from, to, .. } = rewrite.clone();
        genkai_model::event::Rewrite { place, from, to }
    }
}

/// Collects edits and what they mean.
pub(super) struct Changes<'c> {
    pub(super) config: &'c Config,
    pub(super) dir: PathBuf,
    pub(super) edits: Vec<Edit>,
    pub(super) rewrites: Vec<Rewrite>,
    /// Names given to files in the folder.
    names: Names,
}

impl<'c> Changes<'c> {
    pub(super) fn new(config: &'c Config, dir: &Path) -> Self {
        Changes { config, dir: dir.to_owned(), edits: Vec::new(), rewrites: Vec::new(), names: Names::default() }
    }

    /// One edit with its meaning.
    pub(super) fn add(&mut self, what: &'static str, found: &Found<'_>, from: String, to: String, edit: Edit) {
        self.rewrites.push(Rewrite { what, from, to, place: found.place() });
        self.edit(edit);
    }

    /// An edit that keeps the number of lines.
    pub(super) fn edit(&mut self, mut edit: Edit) {
        let lines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
        let removed = lines(&self.config.file(edit.file).text[edit.span.clone()]);
        let missing = removed.saturating_sub(lines(&edit.with));
        edit.with.extend(std::iter::repeat_n(b'\n', missing));
        self.edits.push(edit);
    }

    /// New arguments for a directive; nothing when they are the old ones.
    pub(super) fn set(&mut self, what: &'static str, found: &Found<'_>, args: &[String]) {
        if found.args() == args {
            return;
        }
        let to = format!("{} {}", String::from_utf8_lossy(found.directive.name()), args.join(" "));
        self.rewrites.push(Rewrite { what, from: found.written(), to, place: found.place() });
        for edit in found.set_args(&args.iter().map(String::as_bytes).collect::<Vec<_>>()) {
            self.edit(edit);
        }
    }

    /// Leaves a directive out.
    pub(super) fn drop(&mut self, what: &'static str, found: &Found<'_>) {
        self.add(what, found, found.written(), String::new(), found.replace(Vec::new()));
    }

    /// Text at the very beginning of the main file.
    pub(super) fn at_top(&mut self, what: &'static str, text: &str) {
        let file = self.config.file(FileId::MAIN);
        let at = if file.text.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        let place = file.place(at);
        self.rewrites.push(Rewrite { what, from: String::new(), to: text.to_owned(), place });
        self.edit(Edit { file: FileId::MAIN, span: at..at, with: format!("{text} ").into_bytes() });
    }

    /// A path in the folder for what the user calls `name`: the same for the same name, another for another.
    pub(super) fn path(&mut self, folder: &str, name: &str) -> PathBuf {
        self.dir.join(self.names.path(folder, name))
    }
}
