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

/// Whether a file was written, or put in its place, after this moment; one that is not there was not.
pub fn changed_since(path: &Path, moment: SystemTime) -> bool {
    let Ok(file) = fs::metadata(path) else { return false };
    let dated = |seconds: i64, nanoseconds: i64| {
        let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(seconds), u64::try_from(nanoseconds)) else { return None };
        UNIX_EPOCH.checked_add(Duration::new(seconds, 0) + Duration::from_nanos(nanoseconds))
    };
    // A file that was moved there keeps when it was written, but not when its inode was changed.
    let last = dated(file.mtime(), file.mtime_nsec()).max(dated(file.ctime(), file.ctime_nsec()));
    last.is_some_and(|last| last > moment + COARSE)
}

#[cfg(test)]
mod tests {
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
        let moved = changed_since(&dir.path().join("moved"), began);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((old, gone, moved), (false, false, true));
        assert_eq!(super::began(u32::MAX), None);
    }
}
