//! Why a configuration cannot be read, or changed.

use std::path::PathBuf;

use crate::apache::CALLED;
use crate::error::Cause;

/// A configuration that cannot be used. Each message names the file and line, what was seen, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not httpd's syntax.
    #[error("{}:{line}: {what}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// The main file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Main {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// An included file cannot be read, or a pattern without `Optional` names nothing.
    #[error("{place}: Include {name}: {why}; correct it, or write IncludeOptional")]
    Include {
        /// `path:line` of the include.
        place: String,
        /// What it names.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// Files that include one another without end.
    #[error("{place}: files are included more than {depth} deep (does one include itself?)")]
    TooDeep {
        /// `path:line` of the include.
        place: String,
        /// httpd's own limit.
        depth: usize,
    },
    /// Larger than any configuration.
    #[error("{} is larger than {limit} bytes: not a configuration file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The largest size that is read.
        limit: u64,
    },
    /// More included files than any configuration has.
    #[error("{place}: more than {limit} files are included; narrow the pattern")]
    TooMany {
        /// `path:line` of the include that passed the limit.
        place: String,
        /// The limit.
        limit: usize,
    },
    /// Two edits of the same place.
    #[error("{place}: needs two different changes, as the file is used twice; give each use a file of its own")]
    Conflict {
        /// `path:line` of the second.
        place: String,
    },
}

impl Cause for ConfigError {
    const PRODUCT: &'static str = CALLED;
}
