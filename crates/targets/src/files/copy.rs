//! A private copy of a configuration on disk, and why one cannot be made.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use genkai_place::remote::Remote;

use super::ConfigError;

use crate::error::Cause;

/// A private copy that cannot be made; `E` is what the product's own syntax refuses.
#[derive(Debug, thiserror::Error)]
pub enum CopyError<E = ConfigError> {
    /// There is no port.
    #[error("no free port on 127.0.0.1: {0}")]
    Port(io::Error),
    /// The folder cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// What was to be written.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The text cannot be changed that way.
    #[error(transparent)]
    Config(#[from] E),
    /// Requests would leave this machine.
    #[error(transparent)]
    Remote(Remote),
    /// There is nothing to make a copy of, or no such folder can hold it; in whole sentences.
    #[error("{0}")]
    Refused(String),
}

impl<E> CopyError<E> {
    /// For an I/O error on `path`.
    pub(crate) fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| CopyError::Write { path, source }
    }

    /// For the path of a Unix socket that is longer than the `max` bytes the system takes.
    pub(crate) fn long_socket(path: PathBuf, max: usize) -> Self {
        let said =
            format!("longer than the {max} bytes a Unix socket's path may have; choose a folder with a shorter name");
        CopyError::Write { path, source: io::Error::other(said) }
    }
}

/// Makes subfolders of `dir`.
///
/// # Errors
/// [`CopyError::Write`].
pub(crate) fn folders<E>(dir: &Path, names: &[&str]) -> Result<(), CopyError<E>> {
    names.iter().try_for_each(|name| {
        let path = dir.join(name);
        fs::DirBuilder::new().recursive(true).mode(0o755).create(&path).map_err(CopyError::write(path))
    })
}

/// Writes a copy that only its owner may read: a configuration may hold passwords. (Servers read it before they give up root.)
///
/// # Errors
/// [`CopyError::Write`].
pub(crate) fn save<E>(path: &Path, text: &[u8]) -> Result<(), CopyError<E>> {
    let file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text)).map_err(CopyError::write(path))
}

impl<E: Cause> Cause for CopyError<E> {
    const PRODUCT: &'static str = E::PRODUCT;

    fn is_usage(&self) -> bool {
        matches!(self, CopyError::Config(_) | CopyError::Remote(_) | CopyError::Refused(_))
    }
}
