//! The changes of a private copy while they are collected. Each replaces whole lines and keeps their number, so that
//! httpd's messages can be told in terms of the user's files.

use std::path::{Path, PathBuf};

use genkai_model::event::Rewrite;

use crate::apache::config::{Config, Edit, FileId, Found, lexer::quote};
use crate::files::{Names, flat};

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

    /// Replaces the line of a directive (or a section's head) by text without line ends.
    pub(super) fn line(&mut self, found: &Found, text: String, tell: bool) {
        let file = self.config.file(found.file);
        if tell {
            let rewrite = Rewrite { place: self.config.place(found), from: found.written(), to: text.clone() };
            if !self.rewrites.contains(&rewrite) {
                self.rewrites.push(rewrite);
            }
        }
        let removed = memchr::memchr_iter(b'\n', &file.text[found.head.clone()]).count();
        self.edits.push(Edit::new(found.file, &found.head, text + &"\n".repeat(removed)));
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

    /// A path in the folder for what the user calls `name`: the same for the same name, another for another.
    pub(super) fn path(&mut self, folder: &str, name: &str) -> PathBuf {
        self.dir.join(self.names.path(folder, name))
    }
}

/// Where the copy of each file is: numbered, as names may be alike.
pub(super) fn copies(config: &Config, dir: &Path) -> Vec<(PathBuf, PathBuf)> {
    let copy = |(FileId(id), file): (FileId, &crate::apache::config::File)| {
        (dir.join(format!("conf/{id:03}-{}", flat(&file.path.to_string_lossy()))), file.path.clone())
    };
    config.files().map(copy).collect()
}
