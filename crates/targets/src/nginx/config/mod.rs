//! nginx configuration, read and edited without losing a byte.
//!
//! A [`Config`] is the main file and all that it includes, each with its text and a tree of spans over it. Questions go to
//! [`Config::walk`] and what is built on it; changes are [`Edit`]s, which replace spans and leave every other byte alone.

mod aside;
mod astray;
mod documents;
mod edit;
mod error_page;
mod flow;
mod headers;
mod include;
mod insert;
pub mod lexer;
mod listen;
mod location;
mod lua;
mod pass;
mod redirect;
mod route;
mod syntax;
mod through;
mod tree;
mod uri;
mod variables;
mod walk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use crate::files::ConfigError;
pub use aside::Aside;
pub use edit::Edit;
pub use error_page::Refusal;
pub(in crate::nginx) use flow::ITSELF;
pub use flow::{Stage, Way};
pub use include::{MAX_INCLUSIONS, MAX_SIZE};
pub(in crate::nginx) use listen::is_socket_option;
pub use listen::{Address, Family, Host, Listen, sockets};
pub use pass::{Pass, Protocol, Target, Upstream, UpstreamServer, authority};
pub use route::{KEPT_SINCE, Route, asked};
pub use syntax::{Problem, SyntaxError};
pub use through::Through;
pub use tree::{Directive, End, MAX_DEPTH, Word, parse};
pub use variables::{Value, Variables};
pub use walk::{Block, Found};

use include::Includes;

use crate::files;
pub use crate::files::FileId;

/// One file of a configuration.
pub type File = files::File<Directive>;

impl File {
    fn parse(path: PathBuf, real: PathBuf, text: Vec<u8>) -> Result<File, ConfigError> {
        match tree::parse(&text) {
            Ok(tree) => Ok(File::new(path, real, text, tree)),
            Err(e) => Err(ConfigError::on_line(&path, e.line, e.problem)),
        }
    }
}

/// A main file with all that it includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub(in crate::nginx) files: Vec<File>,
    includes: Includes,
    prefix: PathBuf,
    conf_prefix: PathBuf,
    /// Whether files that it names are this machine's.
    here: bool,
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

    /// A configuration out of files that nginx printed elsewhere (`nginx -T`), by their names: `main` and what it includes.
    ///
    /// # Errors
    /// As [`Config::read`]; a file that is not among them is missing.
    pub fn printed(main: &Path, files: BTreeMap<PathBuf, Vec<u8>>, prefix: &Path) -> Result<Config, ConfigError> {
        include::printed(main, files, prefix)
    }

    /// A configuration of one file that need not exist. Includes in it name nothing.
    ///
    /// # Errors
    /// When the text is not nginx's syntax.
    pub fn of_text(path: &Path, text: Vec<u8>, prefix: &Path) -> Result<Config, ConfigError> {
        let file = File::parse(path.to_owned(), path.to_owned(), text)?;
        let conf_prefix = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Config { files: vec![file], includes: Includes::new(), prefix: prefix.to_owned(), conf_prefix, here: true })
    }

    /// All files, the main one first, then in the order they were met.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &File)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i), f))
    }

    /// One file.
    pub fn file(&self, id: FileId) -> &File {
        &self.files[id.0]
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
