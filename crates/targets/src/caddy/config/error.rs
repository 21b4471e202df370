//! Why a Caddyfile cannot be read or changed.

use std::io;
use std::path::PathBuf;

use crate::caddy::CALLED;
use crate::error::Cause;

/// A configuration that cannot be used. Each message names the place, what was seen, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The main file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Main {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// An imported file cannot be read.
    #[error("{place}: cannot import {}: {source}", path.display())]
    Import {
        /// `path:line` of the `import`.
        place: String,
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// Not a Caddyfile.
    #[error("{place}: {what}")]
    Syntax {
        /// `path:line`.
        place: String,
        /// What is wrong there, and what to do.
        what: String,
    },
    /// Larger than any configuration.
    #[error("{} is larger than {limit} bytes: not a configuration file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        limit: u64,
    },
    /// Two changes of the same text.
    #[error("{place}: needs two different changes; apply them one after the other")]
    Conflict {
        /// `path:line`.
        place: String,
    },
}

impl Cause for ConfigError {
    const PRODUCT: &'static str = CALLED;
}
