//! Who servers run as when genkai is root: nobody of importance.

use std::fs;
use std::os::unix::fs::lchown;
use std::path::Path;

use nix::unistd::{Uid, User};

/// Accounts by preference (Debian's base-passwd has both).
const UNPRIVILEGED: &[&str] = &["www-data", "nobody"];

/// User and group for servers; none when genkai is not root, whose account they have then, or when there is no such account.
pub fn unprivileged() -> Option<(u32, u32)> {
    let account = || UNPRIVILEGED.iter().find_map(|name| User::from_name(name).ok().flatten());
    Uid::effective().is_root().then(account).flatten().map(|user| (user.uid.as_raw(), user.gid.as_raw()))
}

/// User and group that a process runs as; none where it has ended.
pub fn of(pid: u32) -> Option<(u32, u32)> {
    let status = procfs::process::Process::new(pid as i32).ok()?.status().ok()?;
    Some((status.euid, status.egid))
}

/// Changes the owner of `path` and of what is in it; symbolic links themselves, never what they point to.
///
/// # Errors
/// When the system refuses.
pub fn give(path: &Path, uid: u32, gid: u32) -> std::io::Result<()> {
    lchown(path, Some(uid), Some(gid))?;
    if path.symlink_metadata()?.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), uid, gid)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_handed_over_but_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::write(&outside, "").unwrap();
        let before = fs::metadata(&outside).unwrap();
        let inside = dir.path().join("inside");
        fs::create_dir(&inside).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        let me = (nix::unistd::getuid().as_raw(), nix::unistd::getgid().as_raw());
        // An ordinary user can only give to itself; root gives to an account that is not its own.
        let to = if me.0 == 0 { (65534, 65534) } else { me };
        give(&inside, to.0, to.1).unwrap();
        use std::os::unix::fs::MetadataExt;
        assert_eq!(fs::symlink_metadata(inside.join("link")).unwrap().uid(), to.0);
        assert_eq!(fs::metadata(&outside).unwrap().uid(), before.uid());
    }
}
