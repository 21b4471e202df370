//! How much of files the kernel keeps in memory, and having it let go of them.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// `cachestat`, the same number on every architecture (Linux 6.5).
const CACHESTAT: libc::c_long = 451;

/// `struct cachestat_range` of linux/mman.h: all of a file where the length is zero.
#[repr(C)]
#[derive(Default)]
struct Range {
    offset: u64,
    length: u64,
}

/// `struct cachestat` of linux/mman.h, pages.
#[repr(C)]
#[derive(Default)]
struct Stat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// What a folder's files have, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Files.
    pub count: u64,
    /// Bytes they take on disk.
    pub bytes: u64,
    /// Bytes of them in the page cache; none where the kernel does not say.
    pub resident: Option<u64>,
}

/// Looks at every file below `folder`. Files that go meanwhile are left out.
pub fn of(folder: &Path) -> Files {
    let mut all = Files { resident: Some(0), ..Files::default() };
    each(folder, &mut |file, bytes| {
        all.count += 1;
        all.bytes += bytes;
        all.resident = all.resident.and_then(|sum| Some(sum + resident(file, bytes)?));
    });
    all
}

/// Has all written to disk that waits to be, of the file system that `folder` is on: with thousands of files that takes a moment where a
/// wait for each takes minutes.
pub fn sync(folder: &Path) {
    // What cannot be written stays in memory, which is seen when it is looked for.
    if let Ok(folder) = File::open(folder) {
        // SAFETY: a plain system call on a descriptor that is open.
        unsafe {
            libc::syncfs(folder.as_raw_fd());
        }
    }
}

/// Has the kernel let go of every file below `folder` that is on disk (posix_fadvise(2)).
pub fn evict(folder: &Path) {
    each(folder, &mut |file, _| {
        // SAFETY: a plain system call on a descriptor that is open.
        unsafe {
            libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED);
        }
    });
}

/// Hands every regular file below `folder` to `look`, with the bytes it takes on disk.
fn each(folder: &Path, look: &mut impl FnMut(&File, u64)) {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            each(&entry.path(), look);
        } else if kind.is_file()
            && let Ok(file) = File::open(entry.path())
            && let Ok(metadata) = file.metadata()
        {
            look(&file, metadata.blocks() * 512);
        }
    }
}

fn resident(file: &File, bytes: u64) -> Option<u64> {
    if bytes == 0 {
        return Some(0);
    }
    cachestat(file).or_else(|_| mincore(file)).ok()
}

fn cachestat(file: &File) -> io::Result<u64> {
    let (range, mut stat) = (Range::default(), Stat::default());
    // SAFETY: both structures are those of the system call, which writes to the second only.
    let result = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut stat, 0) };
    if result == 0 { Ok(stat.cached * procfs::page_size()) } else { Err(io::Error::last_os_error()) }
}

/// For kernels without `cachestat`: mapped, which reads nothing, and asked page by page (mincore(2)).
fn mincore(file: &File) -> io::Result<u64> {
    let (length, page) = (file.metadata()?.len() as usize, procfs::page_size());
    if length == 0 {
        return Ok(0);
    }
    let mut pages = vec![0_u8; length.div_ceil(page as usize)];
    // SAFETY: the mapping is not read, lasts for this function, and `pages` has a byte for each of its pages.
    let seen = unsafe {
        let at = libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let seen = libc::mincore(at, length, pages.as_mut_ptr());
        libc::munmap(at, length);
        seen
    };
    let count = pages.iter().filter(|page| **page & 1 == 1).count() as u64;
    if seen == 0 { Ok(count * page) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_in_memory_until_it_is_let_go_of() {
        // Beside the program, on a disk: what is on tmpfs is nowhere else.
        let dir = tempfile::tempdir_in(std::env::current_exe().unwrap().parent().unwrap()).unwrap();
        fs::create_dir(dir.path().join("below")).unwrap();
        fs::write(dir.path().join("below/a"), vec![1; 300_000]).unwrap();
        fs::write(dir.path().join("b"), vec![2; 5_000]).unwrap();
        let file = File::open(dir.path().join("below/a")).unwrap();
        if let Ok(seen) = cachestat(&file) {
            assert_eq!(seen, mincore(&file).unwrap(), "both ways of looking see the same");
        }
        assert!((300_000..=304_000 + 65_536).contains(&mincore(&file).unwrap()));
        sync(dir.path());
        evict(dir.path());
        let after = of(dir.path());
        assert_eq!(after.count, 2);
        let memory_only = super::super::disk::Device::under(dir.path()).is_none();
        assert!(memory_only || after.resident.is_none_or(|bytes| bytes < 300_000), "{after:?}");
    }
}
