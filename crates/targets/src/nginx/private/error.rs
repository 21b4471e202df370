//! Why there is no private copy.

use std::io;
use std::path::PathBuf;

use crate::error::Cause;
use crate::nginx::CALLED;
use crate::nginx::config::EditError;

/// A private copy that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PrivateError {
    /// The folder's name would be read as something else by nginx.
    #[error("{}: a folder for nginx must be absolute and without $ * ? [ and control characters; choose another", .0.display())]
    Folder(PathBuf),
    /// A socket's path has a length that the system does not take.
    #[error("{}: longer than the {max} bytes a Unix socket's path may have; choose a folder with a shorter name", path.display())]
    LongPath {
        /// The socket.
        path: PathBuf,
        /// What the system takes.
        max: usize,
    },
    /// There is no port.
    #[error("no free port on 127.0.0.1: {0}")]
    Port(io::Error),
    /// There is nothing to load.
    #[error("the configuration has no http block: there is nothing to send requests to")]
    NoHttp,
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
    Edit(#[from] EditError),
}

impl Cause for PrivateError {
    const PRODUCT: &'static str = CALLED;

    fn is_usage(&self) -> bool {
        matches!(self, PrivateError::NoHttp | PrivateError::Folder(_) | PrivateError::Edit(_))
    }
}
