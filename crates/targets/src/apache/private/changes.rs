//! The changes of a private copy while they are collected. Each replaces whole lines and keeps their number, so that
//! httpd's messages can be told in terms of the user's files.

use genkai_model::event::Rewrite;

use crate::apache::config::{Config, Edit, Found, lexer::quote};
use crate::files;

/// Collects edits and what they mean.
pub(super) type Changes<'c> = files::Changes<'c, Config>;

impl Changes<'_> {
    /// Replaces the line of a directive (or a section's head) by text without line ends.
    pub(super) fn line(&mut self, found: &Found, text: String, tell: bool) {
        if tell {
            self.list(Rewrite { place: self.config.place(found), from: found.written(), to: text.clone() });
        }
        self.edit(self.config.file(found.file), Edit::new(found.file, &found.head, text));
    }

    /// New arguments; nothing when they are the old ones.
    pub(super) fn set(&mut self, found: &Found, args: &[String]) {
        if found.args == args {
            return;
        }
        let words: String = args.iter().map(|a| format!(" {}", quote(a))).collect();
        let name = &found.words[0].value;
        let text = if found.section { format!("<{name}{words}>") } else { format!("{name}{words}") };
        self.line(found, text, true);
    }

    /// One new argument.
    pub(super) fn set_one(&mut self, found: &Found, index: usize, value: String) {
        let mut args = found.args.clone();
        if let Some(arg) = args.get_mut(index) {
            *arg = value;
            self.set(found, &args);
        }
    }

    /// Leaves a directive out.
    pub(super) fn drop(&mut self, found: &Found) {
        self.line(found, String::new(), true);
    }
}
