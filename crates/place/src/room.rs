//! How much room there is for files under a path, and whether one may be written there.

use std::path::Path;

use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

/// What is known of a path under which files are to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Neither it nor the folder that it would be in is there.
    Missing,
    /// Files cannot be made there by this process.
    Forbidden,
    /// Its file system has so much, bytes.
    Of {
        /// What others than root may still write.
        free: u64,
        /// Its size; 0: it is on no disk.
        size: u64,
    },
}

/// Of a folder or file, there or to be made in a folder that is.
pub fn at(path: &Path) -> Room {
    let there = if path.exists() { Some(path) } else { path.parent().filter(|folder| folder.is_dir()) };
    let Some(there) = there else { return Room::Missing };
    let Ok(about) = statvfs(there) else { return Room::Missing };
    if access(there, AccessFlags::W_OK).is_err() {
        return Room::Forbidden;
    }
    let bytes = |blocks: u64| blocks.saturating_mul(about.fragment_size());
    Room::Of { free: bytes(about.blocks_available()), size: bytes(about.blocks()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_has_no_room_and_what_will_be_has_that_of_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let Room::Of { free, size } = at(dir.path()) else { panic!("it is there") };
        assert!(free <= size && size > 0);
        assert!(matches!(at(&dir.path().join("later")), Room::Of { size: of, .. } if of == size));
        assert_eq!(at(&dir.path().join("no/such")), Room::Missing);
        assert_eq!(at(Path::new("/proc/version")), Room::Of { free: 0, size: 0 }, "it is on no disk");
    }
}
