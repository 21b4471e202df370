//! Why a private copy of a configuration cannot be made.

use std::io;
use std::path::PathBuf;

use crate::error::Cause;

/// A private copy that cannot be made; `E` is what the product's own syntax refuses.
#[derive(Debug, thiserror::Error)]
pub enum CopyError<E> {
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
    #[error(
        "{place}: `{written}`: `{host}` {why}, and a load test can take a host down\n  hint: --backend embedded puts a server \
         of genkai's own in its place; if it is yours to load, say so with --allow-remote '{host}'"
    )]
    Remote {
        /// `path:line`.
        place: String,
        /// The directive as written.
        written: String,
        /// The host.
        host: String,
        /// Why it is taken for another machine.
        why: String,
    },
}

impl<E: Cause> Cause for CopyError<E> {
    const PRODUCT: &'static str = E::PRODUCT;

    fn is_usage(&self) -> bool {
        matches!(self, CopyError::Config(_) | CopyError::Remote { .. })
    }
}
