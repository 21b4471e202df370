//! Why a private WordPress could not be started. Each message is one for the user: what was seen, what to do.

use std::io;
use std::path::PathBuf;

use super::settings::{INSTALL, MAX_CHILDREN};
use genkai_place::PlaceError;

/// Why a private WordPress could not be started or used.
#[derive(Debug, thiserror::Error)]
pub enum WordPressError {
    /// Programs or packages that are not there.
    #[error("the WordPress backend needs what is not installed here: {}\n  hint: {INSTALL}", missing.join(", "))]
    Missing {
        /// What is missing, each with where it was looked for.
        missing: Vec<String>,
    },
    /// A size of the pool that makes no sense.
    #[error("a php-fpm pool of {asked} children cannot be made here: choose 1 to {MAX_CHILDREN}")]
    Children {
        /// Children asked for.
        asked: u32,
    },
    /// A folder whose name cannot be written into the servers' configurations.
    #[error(
        "the WordPress backend cannot run in {}: a quote, `$`, `%`, backslash or control character in a folder's name (for \
         root also a space or `*`) cannot be written into php-fpm's and MariaDB's configurations\n  hint: choose another folder with --out",
        path.display()
    )]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error("the WordPress backend cannot write {}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// A server or a tool of it failed; its last words are attached.
    #[error("{name} {failed}; its last words:\n{tail}")]
    Server {
        /// Which one.
        name: String,
        /// What it did, e.g. `ended with exit status: 1`.
        failed: String,
        /// The end of its log.
        tail: String,
    },
    /// The site does not answer as it should.
    #[error("the WordPress site at http://{address}/ does not answer as it should: {seen}\n{tail}")]
    Site {
        /// Where it was asked.
        address: std::net::SocketAddr,
        /// What came instead.
        seen: String,
        /// The end of the web server's log.
        tail: String,
    },
    /// A process could not be started or did not get ready.
    #[error(transparent)]
    Local(#[from] PlaceError),
}

impl WordPressError {
    /// For an I/O error on `path`.
    pub(super) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> WordPressError {
        let path = path.into();
        move |source| WordPressError::File { path, source }
    }

    /// Whether a port that was free a moment ago was taken by somebody else: worth another attempt.
    pub(super) fn is_collision(&self) -> bool {
        let said = self.to_string();
        // EADDRINUSE in the words of strerror(3) (nginx, and php-fpm: "unable to bind listening socket ... (98)").
        said.contains("Address already in use") || said.contains("address already in use")
    }
}
