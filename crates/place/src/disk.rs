//! The block device under a folder, and what it has done.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A sector of /proc/diskstats, bytes, whatever the device has (Documentation/admin-guide/iostats.rst of Linux).
const SECTOR: u64 = 512;

/// A block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    name: String,
}

/// What it has done since the system started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Time in which it had something to do, milliseconds.
    pub busy_ms: u64,
}

impl Device {
    /// The one that `folder` lies on; none for file systems that are on none (tmpfs, overlay) or on several.
    pub fn under(folder: &Path) -> Option<Device> {
        let device = fs::metadata(folder).ok()?.dev();
        let (major, minor) = (libc::major(device), libc::minor(device));
        let stats = fs::read_to_string("/proc/diskstats").ok()?;
        let line = lines(&stats).find(|line| line[0] == major.to_string() && line[1] == minor.to_string())?;
        Some(Device { name: line[2].to_owned() })
    }

    /// Its name, e.g. `vda`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it has done.
    pub fn done(&self) -> Option<Done> {
        read(&fs::read_to_string("/proc/diskstats").ok()?, &self.name)
    }
}

fn lines(stats: &str) -> impl Iterator<Item = Vec<&str>> {
    stats.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(|line| line.len() >= 14)
}

/// Columns 6, 10 and 13 of a device's line.
fn read(stats: &str, name: &str) -> Option<Done> {
    let line = lines(stats).find(|line| line[2] == name)?;
    let number = |at: usize| line[at].parse::<u64>().ok();
    Some(Done { read: number(5)? * SECTOR, written: number(9)? * SECTOR, busy_ms: number(12)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_kernels_documentation() {
        let stats = "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n 254       0 vda 148 6 789 276 895 15 579 306 0 1150 3085 1 2 3 4 5 6\n";
        assert_eq!(read(stats, "vda"), Some(Done { read: 789 * 512, written: 579 * 512, busy_ms: 1150 }));
        assert_eq!(read(stats, "vdb"), None);
    }
}
