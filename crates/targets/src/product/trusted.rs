//! Which programs of running processes may be executed: as root, none that another user could have put there.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::{getegid, geteuid};
use procfs::process::Process;

/// The program of process `pid`, which only root or the user that genkai runs as can have written.
///
/// # Errors
/// Why it is not executed, in words.
pub(crate) fn program_of(pid: u32) -> Result<PathBuf, String> {
    let link = format!("/proc/{pid}/exe");
    let path = fs::read_link(&link).map_err(|e| format!("its program is not known: {e}"))?;
    // In another mount namespace the same path is another file.
    let file = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    if file(Path::new(&link)).is_none_or(|theirs| file(&path) != Some(theirs)) {
        return Err(format!("its program is not what is at {} here", path.display()));
    }
    trusted(&path).map(|()| path)
}

/// That process `pid` is root's or of the user that genkai runs as: what it was started with, its environment among it, nobody else has chosen.
///
/// # Errors
/// That it is not, in words.
pub(crate) fn is_own(pid: u32) -> Result<(), String> {
    // Not the owner of its folder in /proc, which is root for whatever lets nobody look into it (proc(5)).
    let status = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok()?.status().ok());
    let status = status.ok_or("whose it is, is not known")?;
    if [status.ruid, status.euid, status.suid].into_iter().all(owns) {
        Ok(())
    } else {
        Err("it runs as another user, whose programs genkai does not execute".to_owned())
    }
}

/// That only root or the user that genkai runs as can write a file, and can put another in its place.
///
/// # Errors
/// Whose else it is, in words.
pub(crate) fn trusted(path: &Path) -> Result<(), String> {
    let path = path.canonicalize().map_err(|e| format!("{}: {e}", path.display()))?;
    for place in path.ancestors() {
        let meta = fs::metadata(place).map_err(|e| format!("{}: {e}", place.display()))?;
        if !owns(meta.uid()) || is_open(&meta) {
            return Err(format!(
                "another user can write {}, and genkai executes nothing that depends on it",
                place.display()
            ));
        }
    }
    Ok(())
}

fn owns(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw()
}

/// Whether others may write it; of a folder with the sticky bit, what is in it belongs to its owner alone (inode(7)).
fn is_open(meta: &Metadata) -> bool {
    let (mode, group) = (meta.mode(), meta.gid());
    let others = mode & 0o002 != 0 || mode & 0o020 != 0 && group != 0 && group != getegid().as_raw();
    others && !(meta.is_dir() && mode & 0o1000 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn what_another_user_can_write_is_not_executed() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, file) = (dir.path().join("bin"), dir.path().join("bin/server"));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "").unwrap();
        let mode = |path: &Path, mode: u32| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        mode(&folder, 0o755);
        mode(&file, 0o755);
        assert_eq!(trusted(&file), Ok(()));
        mode(&file, 0o757);
        assert!(trusted(&file).unwrap_err().contains("another user can write"));
        mode(&file, 0o755);
        // Who can write its folder can put another in its place.
        mode(&folder, 0o777);
        assert!(trusted(&file).is_err());
        mode(&folder, 0o1777);
        assert_eq!(trusted(&file), Ok(()));
        assert!(trusted(&dir.path().join("gone")).is_err());
        if geteuid().is_root() {
            chown(&file, Some(65534), None).unwrap();
            assert!(trusted(&file).is_err());
        }
    }

    #[test]
    fn a_process_of_another_user_is_told_from_an_own_one() {
        use std::os::unix::process::CommandExt;
        assert_eq!(is_own(std::process::id()), Ok(()));
        assert!(is_own(u32::MAX).is_err());
        if geteuid().is_root() {
            let mut other = std::process::Command::new("sleep").arg("60").uid(65534).gid(65534).spawn().unwrap();
            let said = is_own(other.id());
            other.kill().unwrap();
            other.wait().unwrap();
            assert!(said.unwrap_err().contains("another user"));
        }
    }
}
