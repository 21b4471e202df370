//! Where everything of one instance lies, and whose it is.

use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use nix::unistd::Uid;

use super::CALLED;
use crate::error::TargetError;
use genkai_place::account::{self, give};
use genkai_place::scratch::Scratch;

/// Longest path of a unix socket: `sun_path` has 108 bytes with its final NUL (unix(7)).
const SOCKET_PATH_MAX: usize = 107;

/// Name of php-fpm's log.
pub(crate) const PHP_FPM_LOG: &str = "php-fpm.log";

/// Who the servers run as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// Whoever runs genkai, not root.
    Own,
    /// genkai is root: an unprivileged account.
    Unprivileged {
        /// User.
        uid: u32,
        /// Group.
        gid: u32,
    },
    /// genkai is root and the run folder lies where nobody else can enter (e.g. under /root).
    Root,
}

/// The files of one instance. Removed, with everything in it, when dropped.
#[derive(Debug)]
pub(crate) struct Places {
    root: PathBuf,
    identity: Identity,
    socket: PathBuf,
    /// Holds the socket when its path in `root` is too long.
    short: Option<Scratch>,
}

impl Places {
    /// Makes the folders of an instance in `dir`, which must exist.
    ///
    /// # Errors
    /// When they cannot be made, or when `dir` has a name that configurations cannot hold.
    pub(crate) fn make(dir: &Path) -> Result<Places, TargetError> {
        let dir = dir.canonicalize().map_err(unwritten(dir))?;
        let identity = identity(&dir);
        if !is_plain(&dir, identity) {
            let bad =
                "a quote, `$`, `%`, backslash or control character in a folder's name (for root also a space or `*`)";
            let what = format!("the WordPress backend cannot run in {}: {bad}", dir.display());
            let hint = "choose another folder with --out";
            let text = format!("{what} cannot be written into php-fpm's and MariaDB's configurations\n  hint: {hint}");
            return Err(TargetError::machine(CALLED, text));
        }
        let root = dir.join("wp");
        fs::DirBuilder::new().mode(0o700).create(&root).map_err(unwritten(&root))?;
        let mut places = Places { socket: root.join("db.sock"), root, identity, short: None };
        for folder in [places.data(), places.temporary(), places.site()] {
            fs::create_dir(&folder).map_err(unwritten(&folder))?;
        }
        if places.socket.as_os_str().len() > SOCKET_PATH_MAX {
            let short = Scratch::short("genkai-").map_err(unwritten(std::env::temp_dir()))?;
            places.socket = short.path().join("db.sock");
            places.short = Some(short);
        }
        Ok(places)
    }

    /// Who the servers run as.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// User and group to give a child, where not those of this process.
    pub(crate) fn user(&self) -> Option<(u32, u32)> {
        match self.identity {
            Identity::Unprivileged { uid, gid } => Some((uid, gid)),
            Identity::Own | Identity::Root => None,
        }
    }

    /// The instance's folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The database's files.
    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// The site's document root.
    pub(crate) fn site(&self) -> PathBuf {
        self.root.join("site")
    }

    /// For temporary files of all servers.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// The database's unix socket.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// php-fpm's log.
    pub(crate) fn php_fpm_log(&self) -> PathBuf {
        self.root.join(PHP_FPM_LOG)
    }

    /// A file in the instance's folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file in the instance's folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, TargetError> {
        let path = self.file(name);
        fs::write(&path, text).map_err(unwritten(&path))?;
        Ok(path)
    }

    /// Gives everything written so far to the account the servers run as.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn hand_over(&self) -> Result<(), TargetError> {
        let Some((uid, gid)) = self.user() else { return Ok(()) };
        give(&self.root, uid, gid).map_err(unwritten(&self.root))?;
        match &self.short {
            Some(short) => give(short.path(), uid, gid).map_err(unwritten(short.path())),
            None => Ok(()),
        }
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// For an I/O error on `path`.
pub(super) fn unwritten(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> TargetError {
    let path = path.into();
    move |source| {
        TargetError::machine(CALLED, format!("the WordPress backend cannot write {}: {source}", path.display()))
    }
}

/// Whether a path can stand between double quotes in every configuration: PHP's and php-fpm's ini expand `${`, nginx
/// `$`, option files `\`. As root `mariadb-install-db` has the shell split it too (`chown $user $dir`).
fn is_plain(path: &Path, identity: Identity) -> bool {
    let bad = |c: char| {
        c.is_control()
            || "\"'`$\\%".contains(c)
            || identity == Identity::Root && (c.is_whitespace() || "*?[".contains(c))
    };
    path.to_str().is_some_and(|text| !text.chars().any(bad))
}

fn identity(dir: &Path) -> Identity {
    if !Uid::effective().is_root() {
        return Identity::Own;
    }
    let enterable = dir.ancestors().all(|p| p.metadata().is_ok_and(|m| m.permissions().mode() & 0o001 != 0));
    match account::unprivileged() {
        Some((uid, gid)) if enterable => Identity::Unprivileged { uid, gid },
        _ => Identity::Root,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_folder_gets_a_short_socket_and_all_goes() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(90));
        fs::create_dir(&deep).unwrap();
        let places = Places::make(&deep).unwrap();
        assert!(places.socket().as_os_str().len() <= SOCKET_PATH_MAX);
        assert!(!places.socket().starts_with(&deep));
        let (socket, root) = (places.socket().to_owned(), places.root().to_owned());
        std::os::unix::net::UnixListener::bind(&socket).unwrap();
        drop(places);
        assert!(!socket.parent().unwrap().exists() && !root.exists());
    }

    #[test]
    fn a_folder_that_configurations_cannot_hold_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a$b", "a\"b", "a\\b", "a\nb"] {
            let folder = dir.path().join(name);
            fs::create_dir(&folder).unwrap();
            let error = Places::make(&folder).unwrap_err();
            assert!(error.to_string().contains("cannot be written into php-fpm's"), "{error}");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        }
        let spaced = Path::new("/root/my runs");
        assert!(is_plain(spaced, Identity::Own) && !is_plain(spaced, Identity::Root));
    }
}
