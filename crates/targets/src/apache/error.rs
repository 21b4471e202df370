//! Why Apache could not be prepared or started.

use std::path::PathBuf;

use super::config::ConfigError;
use super::private::PrivateError;
use super::settings::SettingError;
use crate::files::SaveError;
use genkai_place::PlaceError;

/// One clear message each: what was seen and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ApacheError {
    /// There is no httpd.
    #[error(
        "Apache is not installed: there is no apache2 or httpd in PATH or in /usr/sbin\n  hint: apt-get install apache2-bin"
    )]
    NotInstalled,
    /// The program given is not there.
    #[error("there is no Apache at {}\n  hint: apt-get install apache2-bin, or leave --apache out to use the installed one", .0.display())]
    NotThere(PathBuf),
    /// A program called apache2 that is none.
    #[error("{} does not say that it is Apache (`-V` printed `{}`)", path.display(), said.lines().next().unwrap_or_default())]
    NotApache {
        /// The program.
        path: PathBuf,
        /// What it printed.
        said: String,
    },
    /// Its modules cannot be found.
    #[error("{}: there is no folder of modules in any of the usual places\n  hint: give a configuration of your own with --config", .0.display())]
    NoModules(PathBuf),
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
    #[error("the configuration has no `Listen` on a TCP port")]
    NoServer,
    /// The user's file cannot be written.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// `apache2 -t` says no. The message is Apache's own, with the places in the user's files.
    #[error("Apache does not accept the configuration:\n{0}")]
    Rejected(String),
    /// The process.
    #[error(transparent)]
    Local(#[from] PlaceError),
}

impl ApacheError {
    /// Whether what the user gave is at fault (files, settings), not the machine.
    pub fn is_usage(&self) -> bool {
        use ApacheError::{Config, NoBackend, NoServer, Private, Rejected, Setting};
        match self {
            Config(_) | Setting(_) | Rejected(_) | NoBackend | NoServer => true,
            Private(error) => error.is_usage(),
            _ => false,
        }
    }
}
