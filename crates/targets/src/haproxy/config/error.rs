//! Why a configuration cannot be read, or changed.

use std::path::PathBuf;

use crate::error::Cause;
use crate::haproxy::CALLED;

/// A configuration that cannot be used. Each message names the file and line, what was seen, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not HAProxy's syntax.
    #[error("{}:{line}: {what}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong there, and what to do.
        what: String,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Main {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// Larger than any configuration.
    #[error("{} is larger than {limit} bytes: not a configuration file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The largest size that is read.
        limit: u64,
    },
    /// Two edits of the same place.
    #[error("{place}: needs two different changes; apply them one after the other")]
    Conflict {
        /// `path:line` of the second.
        place: String,
    },
}

impl Cause for ConfigError {
    const PRODUCT: &'static str = CALLED;
}
