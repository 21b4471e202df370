//! When a process began, by the clock that files are dated with.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};
use procfs::process::Process;

/// The kernel counts a start in ticks of a hundredth of a second, and dates files by a clock that is as coarse.
const COARSE: Duration = Duration::from_millis(20);

/// When process `pid` began; none where that is not told. One that has replaced itself (execve(2)) began when it was forked.
pub fn began(pid: u32) -> Option<SystemTime> {
    let stat = Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
    let after_boot = Duration::from_secs_f64(stat.starttime as f64 / procfs::ticks_per_second() as f64);
    let running = Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?);
    SystemTime::now().checked_sub(running.checked_sub(after_boot)?)
}

/// What a file's dates say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    /// Its content was written, or its date was set (mtime).
    Written,
    /// The date of its content is older, but something of its inode was changed since (ctime): its mode, owner, name or a link, or it was put
    /// there, or written, and given an older date. Whether what is there now is what was there then cannot be told.
    Moved,
}

/// What happened to a file after this moment; none where nothing did, or it is not there.
pub fn touched_since(path: &Path, moment: SystemTime) -> Option<Touched> {
    let file = fs::metadata(path).ok()?;
    let dated = |seconds: i64, nanoseconds: i64| {
        let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(seconds), u64::try_from(nanoseconds)) else { return None };
        UNIX_EPOCH.checked_add(Duration::new(seconds, 0) + Duration::from_nanos(nanoseconds))
    };
    let after = |at: Option<SystemTime>| at.is_some_and(|at| at > moment + COARSE);
    if after(dated(file.mtime(), file.mtime_nsec())) {
        return Some(Touched::Written);
    }
    // A file that was moved there keeps when it was written, but not when its inode was changed.
    after(dated(file.ctime(), file.ctime_nsec())).then_some(Touched::Moved)
}

/// Whether a file may be another than at this moment: it was written, or something of its inode was changed.
pub fn changed_since(path: &Path, moment: SystemTime) -> bool {
    touched_since(path, moment).is_some()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_file_is_told_to_be_older_or_newer_than_a_process() {
        let dir = tempfile::tempdir().unwrap();
        let (before, after) = (dir.path().join("before"), dir.path().join("after"));
        fs::write(&before, "").unwrap();
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let began = began(child.id()).unwrap();
        // As coarse as both clocks are.
        let deadline = Instant::now() + Duration::from_secs(20);
        while !changed_since(&after, began) {
            assert!(Instant::now() < deadline, "never newer");
            fs::write(&after, "").unwrap();
            std::thread::sleep(Duration::from_millis(5));
        }
        let (old, gone) = (changed_since(&before, began), changed_since(&dir.path().join("gone"), began));
        fs::rename(&before, dir.path().join("moved")).unwrap();
        let moved = touched_since(&dir.path().join("moved"), began);
        let written = touched_since(&after, began);
        fs::set_permissions(&after, fs::Permissions::from_mode(0o600)).unwrap();
        let both = touched_since(&after, began);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((old, gone), (false, false));
        assert_eq!(moved, Some(Touched::Moved), "its content is as old as it was");
        assert_eq!([written, both], [Some(Touched::Written); 2]);
        assert_eq!(super::began(u32::MAX), None);
    }
}
