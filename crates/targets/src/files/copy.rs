//! A private copy of a configuration on disk, and why one cannot be made.

use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use genkai_place::authority::TlsMaterial;
use genkai_place::endpoint::Endpoint;
use genkai_place::remote::Remote;

use super::ConfigError;

use crate::error::Cause;

/// A place that a configuration leads to, and where its private copy goes instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// As the configuration has it.
    pub from: Endpoint,
    /// Where the copy goes.
    pub to: Endpoint,
}

impl Move {
    /// Where the copy goes instead of `written`, as nginx and Apache write a place; none: there.
    pub(crate) fn of(all: &[Move], written: &str) -> Option<String> {
        Move::to(all, written).map(Endpoint::to_string)
    }

    /// Where the copy goes instead of `written`; none: there.
    pub(crate) fn to<'m>(all: &'m [Move], written: &str) -> Option<&'m Endpoint> {
        let place = Endpoint::parse(written)?;
        all.iter().find(|one| one.from == place).map(|one| &one.to)
    }
}

/// What a private copy should be like.
pub struct CopyOptions<'a> {
    /// An existing folder for it.
    pub dir: &'a Path,
    /// This machine's address at which it listens.
    pub listen: Ipv4Addr,
    /// Whether its listeners have the ports of the user's, where those can be had there.
    pub kept: bool,
    /// Gives a free TCP port at each call; the same one again does no harm.
    pub ports: &'a mut dyn FnMut() -> io::Result<u16>,
    /// What to pass requests to instead of the user's servers; none: those.
    pub backend: Option<SocketAddr>,
    /// That takes TLS: the name that it is told in the handshake, empty where it is told none. None: it is spoken to in clear. What the user's
    /// directives of TLS say of it stays; without any, no certificate is verified.
    pub secured: Option<&'a str>,
    /// What of the user's servers has another in its place; where there is no `backend`.
    pub moves: &'a [Move],
    /// Hosts that requests may reach though they are not this machine.
    pub allowed: &'a [String],
    /// What its TLS listeners show instead of the user's certificates, whose keys are neither read nor copied; none: those.
    pub papers: Option<&'a TlsMaterial>,
    /// Whether the product will run as root (then it keeps the user's account and group).
    pub root: bool,
}

/// A private copy that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// There is no port.
    #[error("no free port: {0}")]
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
    Config(#[from] ConfigError),
    /// Requests would leave this machine.
    #[error(transparent)]
    Remote(Remote),
    /// There is nothing to make a copy of, or no such folder can hold it; in whole sentences.
    #[error("{0}")]
    Refused(String),
}

impl CopyError {
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
pub(crate) fn folders(dir: &Path, names: &[&str]) -> Result<(), CopyError> {
    names.iter().try_for_each(|name| {
        let path = dir.join(name);
        fs::DirBuilder::new().recursive(true).mode(0o755).create(&path).map_err(CopyError::write(path))
    })
}

/// An empty folder that whoever may write in `own` may write in, too: of the same owner and mode, where that can be given (root can). Nothing where
/// `own` is no folder: a server that does not find it there is not to find it here.
///
/// # Errors
/// [`CopyError::Write`].
pub(crate) fn alike(own: &Path, path: &Path) -> Result<(), CopyError> {
    let Some(there) = fs::metadata(own).ok().filter(fs::Metadata::is_dir) else { return Ok(()) };
    fs::create_dir_all(path).map_err(CopyError::write(path))?;
    let mode = fs::Permissions::from_mode(there.mode() & 0o7777);
    let given = chown(path, Some(there.uid()), Some(there.gid())).and_then(|()| fs::set_permissions(path, mode));
    match given {
        // An owner of whom this user namespace knows nothing is refused as invalid (chown(2): EINVAL).
        Err(error) if ![io::ErrorKind::PermissionDenied, io::ErrorKind::InvalidInput].contains(&error.kind()) => {
            Err(CopyError::write(path)(error))
        }
        _ => Ok(()),
    }
}

/// Writes a copy that only its owner may read: a configuration may hold passwords. (Servers read it before they give up root.)
///
/// # Errors
/// [`CopyError::Write`].
pub(crate) fn save(path: &Path, text: &[u8]) -> Result<(), CopyError> {
    let file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text)).map_err(CopyError::write(path))
}

impl Cause for CopyError {
    const PRODUCT: &'static str = "";

    fn is_usage(&self) -> bool {
        matches!(self, CopyError::Config(_) | CopyError::Remote(_) | CopyError::Refused(_))
    }
}
