//! httpd's configuration, read and edited without losing a byte.
//!
//! A [`Config`] is the main file and all that it includes, each with its text and a tree of spans over it, and the
//! directives that are in force: `IfModule`, `IfDefine`, `IfVersion` and `IfFile` are decided, `${VARIABLES}` replaced,
//! includes followed, in the order in which httpd does it. Questions go to [`Config::found`]; changes are [`Edit`]s, which
//! replace spans and leave every other byte alone.

mod edit;
mod evaluate;
mod include;
pub mod lexer;
mod macros;
pub(in crate::apache) mod modules;
pub mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

pub use crate::files::ConfigError;
pub use edit::Edit;
pub use lexer::Word;
pub use modules::STATIC;
pub use tree::Directive;

use crate::files;
pub use crate::files::FileId;

/// One file of a configuration.
pub type File = files::File<Directive>;

impl File {
    fn parse(path: PathBuf, real: PathBuf, text: Vec<u8>) -> Result<File, ConfigError> {
        match tree::parse(&text) {
            Ok(tree) => Ok(File::new(path, real, text, tree)),
            Err(e) => {
                let before = text.get(..e.offset).unwrap_or(&text);
                let line = memchr::memchr_iter(b'\n', before).count() + 1;
                Err(ConfigError::on_line(&path, line, e.what))
            }
        }
    }
}

/// What decides how a configuration is read, besides its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Where relative paths start until a `ServerRoot` says otherwise (`HTTPD_ROOT` of `apache2 -V`).
    pub root: PathBuf,
    /// Environment of the server: `${NAME}` falls back to it.
    pub environment: BTreeMap<String, String>,
    /// Names defined on the command line (`-D`).
    pub defines: BTreeSet<String>,
    /// Version of httpd, for `IfVersion`.
    pub version: (u32, u32, u32),
}

/// A section that encloses a directive. Sections that only decide whether their inside counts are not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Name in lower case, e.g. `virtualhost`.
    pub name: String,
    /// Arguments, variables replaced.
    pub args: Vec<String>,
    /// Position of the section itself among [`Config::found`].
    pub index: usize,
}

/// A directive or section in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its file.
    pub file: FileId,
    /// Line, from 1.
    pub line: usize,
    /// Name in lower case.
    pub name: String,
    /// Name and arguments as written.
    pub words: Vec<Word>,
    /// Arguments, variables replaced.
    pub args: Vec<String>,
    /// Bytes of the directive, or of the whole section.
    pub span: Range<usize>,
    /// Bytes of the line that names it.
    pub head: Range<usize>,
    /// Whether it is a section.
    pub section: bool,
    /// Enclosing sections, outermost first.
    pub context: Vec<Section>,
    /// For an include: the files it names. For the use of a macro: its text.
    pub includes: Vec<FileId>,
}

impl Found {
    /// An argument, variables replaced.
    pub fn arg(&self, index: usize) -> Option<&str> {
        self.args.get(index).map(String::as_str)
    }

    /// Name as written, and arguments, variables replaced.
    pub fn written(&self) -> String {
        let words: Vec<&str> =
            std::iter::once(self.words[0].value.as_str()).chain(self.args.iter().map(String::as_str)).collect();
        words.join(" ")
    }

    /// Whether it stands for the whole server: in no section.
    pub fn is_global(&self) -> bool {
        self.context.is_empty()
    }

    /// Position of the enclosing `VirtualHost` among [`Config::found`]; none: the main server.
    pub fn host(&self) -> Option<usize> {
        self.context.iter().find(|s| s.name == "virtualhost").map(|s| s.index)
    }
}

/// A part of a file that does not count, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its file.
    pub file: FileId,
    /// Line of the section's head.
    pub line: usize,
    /// The condition as written, e.g. `<IfModule mod_ssl.c>`.
    pub condition: String,
    /// Directives in it, in lower case with their lines.
    pub directives: Vec<(String, usize)>,
}

/// A main file with all that it includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub(in crate::apache) files: Vec<File>,
    found: Vec<Found>,
    skipped: Vec<Skipped>,
    /// Uses of macros, by the name that stands for each in [`Config::files`].
    uses: macros::Uses,
    /// Modules that are loaded, by identifier (`ssl_module`).
    modules: BTreeSet<String>,
    /// Variables that nothing defines, with their place.
    undefined: Vec<(String, String)>,
    /// Variables that are defined in the end.
    variables: BTreeMap<String, String>,
    root: PathBuf,
    reading: Reading,
}

impl Config {
    /// Reads a configuration. Nothing is written.
    ///
    /// # Errors
    /// A file that is missing, unreadable, too large, not httpd's syntax, or that includes itself.
    pub fn read(main: &Path, reading: Reading) -> Result<Config, ConfigError> {
        evaluate::read(main, reading, BTreeMap::new())
    }

    /// A configuration whose main file need not exist.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn of_text(path: &Path, text: Vec<u8>, reading: Reading) -> Result<Config, ConfigError> {
        evaluate::read(path, reading, BTreeMap::from([(path.to_owned(), text)]))
    }

    /// The same with files that count each within a folder (`.htaccess`), as requests meet them that come to a virtual host. They come last: where all else
    /// stands is as before.
    ///
    /// # Errors
    /// A file that cannot be read, or is not httpd's syntax.
    pub(in crate::apache) fn with_folders(
        &self,
        host: Option<usize>,
        files: &[(String, PathBuf)],
    ) -> Result<Config, ConfigError> {
        evaluate::within(self, host, files)
    }

    /// All files, the main one first, then in the order they were met. Each use of a macro is one, with the path of the definition's.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &File)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i), f))
    }

    /// One file.
    pub fn file(&self, id: FileId) -> &File {
        &self.files[id.0]
    }

    /// Every directive and section in force, in httpd's order.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// Those of one name (in lower case).
    pub fn named<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a Found> {
        self.found.iter().filter(move |f| f.name == name)
    }

    /// What does not count because of a condition.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Modules that are loaded, by identifier.
    pub(in crate::apache) fn modules(&self) -> &BTreeSet<String> {
        &self.modules
    }

    /// The version of httpd that it is read for.
    pub fn version(&self) -> (u32, u32, u32) {
        self.reading.version
    }

    /// Whether a module is loaded, by identifier (`ssl_module`).
    pub fn has_module(&self, name: &str) -> bool {
        self.modules.contains(name)
    }

    /// `${VARIABLES}` that nothing defines, with `path:line`.
    pub fn undefined(&self) -> &[(String, String)] {
        &self.undefined
    }

    /// Where relative paths start.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `path:line` of a directive.
    pub fn place(&self, found: &Found) -> String {
        format!("{}:{}", self.file(found.file).path.display(), found.line)
    }
}
