//! nginx configuration, read and edited without losing a byte.
//!
//! A [`Config`] is the main file and all that it includes, each with its text and a tree of spans over it. Questions go to
//! [`Config::walk`] and what is built on it; changes are [`Edit`]s, which replace spans and leave every other byte alone.

mod edit;
mod error;
mod include;
mod insert;
pub mod lexer;
mod listen;
mod lua;
mod pass;
mod route;
mod syntax;
mod tree;
mod walk;

use std::path::{Path, PathBuf};

pub use edit::Edit;
pub use error::{ConfigError, EditError};
pub use include::{MAX_INCLUSIONS, MAX_SIZE};
pub(in crate::nginx) use listen::is_socket_option;
pub use listen::{Address, Family, Host, Listen, sockets};
pub use pass::{Pass, Protocol, Target, Upstream, UpstreamServer};
pub use route::Route;
pub use syntax::{Problem, SyntaxError};
pub use tree::{Directive, End, MAX_DEPTH, Word, parse};
pub use walk::{Block, Found};

use include::Includes;

use crate::files::{self, Backup, Pair, SaveError};

/// Names a file of a [`Config`]; 0 is the main one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) usize);

impl FileId {
    /// The main file.
    pub const MAIN: FileId = FileId(0);
}

/// One file of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
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

impl File {
    fn parse(path: PathBuf, real: PathBuf, text: Vec<u8>) -> Result<File, ConfigError> {
        match tree::parse(&text) {
            Ok(tree) => {
                let lines = std::iter::once(0).chain(memchr::memchr_iter(b'\n', &text).map(|at| at + 1)).collect();
                Ok(File { path, real, text, tree, lines })
            }
            Err(e) => Err(ConfigError::Syntax { path, line: e.line, problem: e.problem }),
        }
    }

    /// Line (from 1) of an offset.
    pub fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|&start| start <= offset)
    }

    /// `path:line` of an offset.
    pub fn place(&self, offset: usize) -> String {
        format!("{}:{}", self.path.display(), self.line(offset))
    }
}

/// A main file with all that it includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    files: Vec<File>,
    includes: Includes,
    prefix: PathBuf,
    conf_prefix: PathBuf,
}

impl Config {
    /// Reads a configuration. `prefix` is where nginx's other relative paths start (`--prefix=` of `nginx -V`). Nothing is
    /// written.
    ///
    /// # Errors
    /// A file that is missing, unreadable, too large, not nginx's syntax, or that includes itself.
    pub fn read(main: &Path, prefix: &Path) -> Result<Config, ConfigError> {
        include::read(main, prefix)
    }

    /// A configuration of one file that need not exist. Includes in it name nothing.
    ///
    /// # Errors
    /// When the text is not nginx's syntax.
    pub fn of_text(path: &Path, text: Vec<u8>, prefix: &Path) -> Result<Config, ConfigError> {
        let file = File::parse(path.to_owned(), path.to_owned(), text)?;
        let conf_prefix = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Config { files: vec![file], includes: Includes::new(), prefix: prefix.to_owned(), conf_prefix })
    }

    /// All files, the main one first, then in the order they were met.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &File)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i), f))
    }

    /// One file.
    pub fn file(&self, id: FileId) -> &File {
        &self.files[id.0]
    }

    /// Each file with what `edited` (made from this one by edits) made of it.
    pub(crate) fn pairs<'a>(&'a self, edited: &'a Config) -> impl Iterator<Item = Pair<'a>> {
        self.files.iter().zip(&edited.files).map(|(before, after)| Pair {
            path: &before.path,
            real: &before.real,
            before: &before.text,
            after: &after.text,
        })
    }

    /// Unified diff from `self` to `edited` (made from it by edits): [`files::diff`].
    pub fn diff(&self, edited: &Config) -> String {
        files::diff(self.pairs(edited))
    }

    /// Writes `edited` (made from `self` by edits) over the user's files: [`files::write_back`].
    ///
    /// # Errors
    /// When a file changed since it was read, or cannot be replaced; then all files are as they were.
    pub fn write_back(&self, edited: &Config) -> Result<Vec<Backup>, SaveError> {
        files::write_back(self.pairs(edited))
    }

    /// Where relative paths of most directives start.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Where relative includes and certificates start: the main file's folder.
    pub fn conf_prefix(&self) -> &Path {
        &self.conf_prefix
    }

    /// The files an include names, in order; empty for a pattern without a match.
    pub fn included(&self, directive: &Directive) -> &[FileId] {
        include::target(directive).and_then(|value| self.includes.get(value)).map_or(&[], Vec::as_slice)
    }
}
