//! Why nginx could not be prepared or started.

use std::path::PathBuf;

use super::config::{ConfigError, EditError};
use super::private::PrivateError;
use super::settings::SettingError;
use crate::files::SaveError;
use genkai_place::PlaceError;
use genkai_place::remote::Remote;

/// One clear message each: what was seen and what to do.
#[derive(Debug, thiserror::Error)]
pub enum NginxError {
    /// There is no nginx.
    #[error("nginx is not installed: there is none in PATH or in /usr/sbin\n  hint: apt-get install nginx")]
    NotInstalled,
    /// The program given is not there.
    #[error("there is no nginx at {}\n  hint: apt-get install nginx, or leave --nginx out to use the installed one", .0.display())]
    NotThere(PathBuf),
    /// A program called nginx that is none.
    #[error("{} does not say that it is nginx (`nginx -V` printed `{}`)", path.display(), first_line(said))]
    NotNginx {
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
    /// The text cannot be changed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// There is no private copy.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// A generated proxy with nothing behind it.
    #[error("a reverse proxy needs a backend\n  hint: --backend embedded, or --config FILE to use your own")]
    NoBackend,
    /// Nothing to send requests to.
    #[error("the configuration has no server that listens on a TCP port")]
    NoServer,
    /// Every listener wants TLS.
    #[error(
        "{place}: only TLS listeners, and genkai speaks plain HTTP/1.1 so far\n  hint: add a plain `listen` to a copy of \
         the file and give that"
    )]
    OnlyTls {
        /// `path:line` of the first.
        place: String,
    },
    /// Not one request finds room.
    #[error(
        "worker_connections {value}: not one request could be served: a worker's listeners (genkai's status page is one) and \
         its channel to the master take {taken}, a request takes {one}\n  hint: give at least {}", taken + one
    )]
    TooFewSlots {
        /// `worker_connections`.
        value: u64,
        /// Slots that are never a client's.
        taken: u64,
        /// Slots that a request takes.
        one: u64,
    },
    /// Requests would leave this machine.
    #[error(transparent)]
    Remote(#[from] Remote),
    /// The user's file cannot be written.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// `nginx -t` says no. The message is nginx's own, with the places in the user's files.
    #[error("nginx does not accept the configuration:\n{0}")]
    Rejected(String),
    /// The process.
    #[error(transparent)]
    Local(#[from] PlaceError),
}

impl NginxError {
    /// Whether what the user gave is at fault (files, settings), not the machine.
    pub fn is_usage(&self) -> bool {
        use NginxError as E;
        match self {
            E::Config(_) | E::Setting(_) | E::Edit(_) | E::Rejected(_) | E::NoBackend | E::NoServer => true,
            E::OnlyTls { .. } | E::Remote(_) | E::TooFewSlots { .. } => true,
            E::Private(error) => error.is_usage(),
            _ => false,
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
