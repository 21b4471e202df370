//! Why there is no HAProxy.

use std::path::PathBuf;

use super::config::ConfigError;
use super::private::PrivateError;
use super::settings::SettingError;
use crate::files::SaveError;
use genkai_place::PlaceError;

/// One clear message each: what was seen and what to do.
#[derive(Debug, thiserror::Error)]
pub enum HaproxyError {
    /// It is not installed.
    #[error("haproxy is not installed: there is none in PATH or in /usr/sbin\n  hint: apt-get install haproxy")]
    Missing,
    /// The program given is not there.
    #[error("there is no haproxy at {}\n  hint: apt-get install haproxy, or leave --haproxy out to use the installed one", .0.display())]
    NotThere(PathBuf),
    /// A program called haproxy that is none.
    #[error("{} does not say that it is HAProxy (`haproxy -vv` printed `{said}`)", path.display())]
    NotHaproxy {
        /// The program.
        path: PathBuf,
        /// What it printed.
        said: String,
    },
    /// The configuration cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A setting cannot be made.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// There is no private copy.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// A generated proxy with nothing behind it.
    #[error("a reverse proxy needs a backend\n  hint: --backend embedded, or --config FILE to use your own")]
    NoBackend,
    /// Nothing to send requests to.
    #[error("the configuration has no `bind` on a TCP port in a frontend or listen section")]
    NoServer,
    /// The user's file cannot be written.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// It refuses its configuration. The message is HAProxy's own, with the places in the user's files.
    #[error("HAProxy does not accept the configuration:\n{0}")]
    Rejected(String),
    /// It cannot be started.
    #[error(transparent)]
    Local(#[from] PlaceError),
    /// Its files cannot be written, or there is no port.
    #[error("haproxy: {what}: {source}")]
    Files {
        /// What failed.
        what: String,
        /// The system's words.
        source: std::io::Error,
    },
}

impl HaproxyError {
    /// Whether what the user gave is at fault (files, settings), not the machine.
    pub fn is_usage(&self) -> bool {
        use HaproxyError::{Config, NoBackend, NoServer, Private, Rejected, Setting};
        match self {
            Config(_) | Setting(_) | Rejected(_) | NoBackend | NoServer => true,
            Private(error) => error.is_usage(),
            _ => false,
        }
    }
}

/// For an I/O error on `what`.
pub(crate) fn files(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> HaproxyError {
    move |source| HaproxyError::Files { what: what.into(), source }
}
