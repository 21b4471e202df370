//! The changes of a private copy while they are collected.

use genkai_model::event::Rewrite;

use crate::files;
use crate::nginx::config::{Config, Edit, FileId, Found};

/// Collects edits, and each difference as the report lists it.
pub(super) type Changes<'c> = files::Changes<'c, Config>;

impl Changes<'_> {
    /// One edit with the difference it makes.
    pub(super) fn add(&mut self, found: &Found<'_>, from: String, to: String, edit: Edit) {
        self.list(Rewrite { from, to, place: found.place() });
        self.keep(edit);
    }

    /// An edit that keeps the number of lines.
    pub(super) fn keep(&mut self, edit: Edit) {
        self.edit(self.config.file(edit.file), edit);
    }

    /// New arguments for a directive; nothing when they are the old ones.
    pub(super) fn set(&mut self, found: &Found<'_>, args: &[String]) {
        if found.args() == args {
            return;
        }
        let to = format!("{} {}", String::from_utf8_lossy(found.directive.name()), args.join(" "));
        self.list(Rewrite { from: found.written(), to, place: found.place() });
        for edit in found.set_args(&args.iter().map(String::as_bytes).collect::<Vec<_>>()) {
            self.keep(edit);
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
        self.keep(Edit::new(FileId::MAIN, &(at..at), format!("{text} ")));
    }
}
