//! The changes of a private copy while they are collected.

use std::path::{Path, PathBuf};

use genkai_model::event::Rewrite;

use crate::files::Names;
use crate::nginx::config::{Config, Edit, FileId, Found};

/// Collects edits, and each difference as the report lists it.
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

    /// Lists a difference. One of a file that is included twice is listed once.
    pub(super) fn list(&mut self, rewrite: Rewrite) {
        if !self.rewrites.contains(&rewrite) {
            self.rewrites.push(rewrite);
        }
    }

    /// One edit with the difference it makes.
    pub(super) fn add(&mut self, found: &Found<'_>, from: String, to: String, edit: Edit) {
        self.list(Rewrite { from, to, place: found.place() });
        self.edit(edit);
    }

    /// An edit that keeps the number of lines.
    pub(super) fn edit(&mut self, mut edit: Edit) {
        let lines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
        let removed = lines(&self.config.file(edit.file).text[edit.from..edit.to]);
        let missing = removed.saturating_sub(lines(&edit.with));
        edit.with.extend(std::iter::repeat_n(b'\n', missing));
        self.edits.push(edit);
    }

    /// New arguments for a directive; nothing when they are the old ones.
    pub(super) fn set(&mut self, found: &Found<'_>, args: &[String]) {
        if found.args() == args {
            return;
        }
        let to = format!("{} {}", String::from_utf8_lossy(found.directive.name()), args.join(" "));
        self.list(Rewrite { from: found.written(), to, place: found.place() });
        for edit in found.set_args(&args.iter().map(String::as_bytes).collect::<Vec<_>>()) {
            self.edit(edit);
        }
    }

    /// Leaves a directive out.
    pub(super) fn drop(&mut self, found: &Found<'_>) {
        self.add(found, found.written(), String::new(), found.replace(Vec::new()));
    }

    /// Text at the very beginning of the main file.
    pub(super) fn at_top(&mut self, text: &str) {
        let file = self.config.file(FileId::MAIN);
        let at = if file.text.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        let place = file.place(at);
        self.list(Rewrite { from: String::new(), to: text.to_owned(), place });
        self.edit(Edit::new(FileId::MAIN, &(at..at), format!("{text} ")));
    }

    /// A path in the folder for what the user calls `name`: the same for the same name, another for another.
    pub(super) fn path(&mut self, folder: &str, name: &str) -> PathBuf {
        self.dir.join(self.names.path(folder, name))
    }
}
