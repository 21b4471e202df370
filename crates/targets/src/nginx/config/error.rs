//! Why a configuration cannot be read.

use std::path::PathBuf;

use crate::error::Cause;
use crate::nginx::CALLED;

use super::syntax::Problem;

/// A configuration that cannot be used. Each message names the file and line, what was seen, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not nginx's syntax.
    #[error("{}:{line}: {problem}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong there.
        problem: Problem,
    },
    /// The main file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Main {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// An included file cannot be read.
    #[error("{}:{line}: cannot read {}: {source}; correct the include, or make the file readable", from.display(), path.display())]
    Include {
        /// The file.
        path: PathBuf,
        /// The file that includes it.
        from: PathBuf,
        /// Line of the include.
        line: usize,
        /// The system's words.
        source: std::io::Error,
    },
    /// A pattern that glob(3) could not follow.
    #[error("{}:{line}: cannot list {pattern}: a folder cannot be read", from.display())]
    Glob {
        /// The pattern.
        pattern: String,
        /// The file that includes it.
        from: PathBuf,
        /// Line of the include.
        line: usize,
    },
    /// A file that includes itself, directly or through others.
    #[error("{}:{line}: {} includes itself through this line; remove one of the includes", from.display(), path.display())]
    Cycle {
        /// The file.
        path: PathBuf,
        /// The file with the include that closes the circle.
        from: PathBuf,
        /// Line of the include.
        line: usize,
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
    #[error("{}:{line}: more than {limit} files are included (each counted as often as it is); narrow the pattern", from.display())]
    TooMany {
        /// The file with the include that passed the limit.
        from: PathBuf,
        /// Line of the include.
        line: usize,
        /// The limit.
        limit: usize,
    },
}

/// An edit that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// Two edits want different texts at one place (a file that is included in two contexts).
    #[error(
        "{place}: two different changes are needed here, because the file is included in more than one place; \
         write its lines out where it is included"
    )]
    Conflict {
        /// `path:line`.
        place: String,
    },
    /// The text would no longer be nginx's syntax: a mistake of genkai's.
    #[error("{place}: the change does not fit here: {problem}")]
    Breaks {
        /// `path:line`.
        place: String,
        /// What would be wrong.
        problem: Problem,
    },
    /// The directive has no such argument or block.
    #[error("{place}: \"{name}\" has not the form that is needed to change it")]
    Form {
        /// `path:line`.
        place: String,
        /// The directive.
        name: String,
    },
}

impl Cause for ConfigError {
    const PRODUCT: &'static str = CALLED;
}

impl Cause for EditError {
    const PRODUCT: &'static str = CALLED;
}
