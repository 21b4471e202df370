//! A folder in which a server's workers can work.
//!
//! When a server is started as root, its workers usually run as another user (`nobody`, `www-data`), who must be able to pass through every
//! folder on the way to the temporary files; a home folder usually lets nobody through.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use crate::PlaceError;
use crate::reaper::{Cleanup, CleanupGuard};

/// The folder of one private copy. One of our own making is removed with its last clone.
#[derive(Clone, Debug)]
pub struct Scratch {
    path: PathBuf,
    _own: Option<Arc<(TempDir, CleanupGuard)>>,
}

impl Scratch {
    /// `wanted`, made if it is not there; or, when the server is to run as root and its workers could not get to it, a folder
    /// of our own among the temporary ones, whose name begins with `prefix`.
    ///
    /// # Errors
    /// [`PlaceError::Folder`] when it cannot be made.
    pub fn make(wanted: &Path, root: bool, prefix: &str) -> Result<Scratch, PlaceError> {
        made(wanted, root, prefix).map_err(|source| PlaceError::Folder { path: wanted.to_owned(), source })
    }

    /// A folder of our own among the temporary ones, whose name begins with `prefix`, for Unix sockets: the path of one has at most
    /// 107 bytes (unix(7)). Only its owner gets in.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn short(prefix: &str) -> io::Result<Scratch> {
        tempfile::Builder::new().prefix(prefix).permissions(fs::Permissions::from_mode(0o700)).tempdir().map(owned)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn made(wanted: &Path, root: bool, prefix: &str) -> io::Result<Scratch> {
    fs::create_dir_all(wanted)?;
    let path = wanted.canonicalize()?;
    if !root {
        return Ok(Scratch { path, _own: None });
    }
    open(&path)?;
    if passable(&path) {
        return Ok(Scratch { path, _own: None });
    }
    let own = tempfile::Builder::new().prefix(prefix).tempdir()?;
    open(own.path())?;
    Ok(owned(own))
}

/// A folder of our own: gone with its last clone, or by the reaper.
fn owned(own: TempDir) -> Scratch {
    let path = own.path().canonicalize().unwrap_or_else(|_| own.path().to_owned());
    let promise = CleanupGuard::new(Cleanup::Folder(path.clone()));
    Scratch { path, _own: Some(Arc::new((own, promise))) }
}

/// Lets everybody pass through (not list) the folder, which is ours.
fn open(path: &Path) -> io::Result<()> {
    let mode = fs::metadata(path)?.mode();
    fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777 | 0o011))
}

/// Whether every folder on the way lets everybody pass through.
fn passable(path: &Path) -> bool {
    path.ancestors().all(|folder| folder.metadata().is_ok_and(|m| m.mode() & 0o001 != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(mode: u32) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
        dir
    }

    #[test]
    fn a_passable_folder_is_used_and_opened() {
        let dir = folder(0o700);
        let room = Scratch::make(dir.path(), true, "a-").unwrap();
        assert_eq!(room.path(), dir.path().canonicalize().unwrap());
        assert_eq!(fs::metadata(dir.path()).unwrap().mode() & 0o777, 0o711);
    }

    #[test]
    fn sockets_have_a_short_path_that_is_nobody_elses() {
        let room = Scratch::short("a-").unwrap();
        let path = room.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        drop(room);
        assert!(!path.exists());
    }

    #[test]
    fn behind_a_closed_folder_another_is_made_and_removed() {
        let closed = folder(0o700);
        let wanted = closed.path().join("work/nginx");
        let room = Scratch::make(&wanted, true, "a-").unwrap();
        let path = room.path().to_owned();
        assert!(!path.starts_with(closed.path()) && passable(&path));
        let clone = room.clone();
        drop(room);
        assert!(path.exists());
        drop(clone);
        assert!(!path.exists());
        assert_eq!(
            Scratch::make(&wanted, false, "a-").unwrap().path(),
            wanted.canonicalize().unwrap(),
            "its own user gets there"
        );
    }
}
