//! Why a configuration cannot be read, or changed: one error for every product's syntax.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use super::read::MAX_SIZE;
use crate::error::Cause;

/// A configuration that cannot be used. Each message names the file, what was seen, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// What is written there is not the product's syntax, cannot be included, or cannot be changed that way.
    #[error("{place}: {what}")]
    At {
        /// `path:line`.
        place: String,
        /// What is wrong there, and what to do.
        what: String,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// Larger than any configuration.
    #[error("{} is larger than {MAX_SIZE} bytes: not a configuration file", .0.display())]
    TooLarge(PathBuf),
}

impl Cause for ConfigError {
    const PRODUCT: &'static str = "";
}

impl ConfigError {
    /// Something wrong at `place` (`path:line`).
    pub(crate) fn at(place: impl Into<String>, what: impl Display) -> ConfigError {
        ConfigError::At { place: place.into(), what: what.to_string() }
    }

    /// Something wrong on a line, from 1, of a file.
    pub(crate) fn on_line(path: &Path, line: usize, what: impl Display) -> ConfigError {
        ConfigError::at(format!("{}:{line}", path.display()), what)
    }

    /// For an I/O error on `path`.
    pub(crate) fn read(path: &Path) -> impl Fn(std::io::Error) -> ConfigError + use<> {
        let path = path.to_owned();
        move |source| ConfigError::Read { path: path.clone(), source }
    }
}
