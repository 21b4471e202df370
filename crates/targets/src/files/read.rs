//! Reading configuration files: bounded, and by patterns.

use std::ffi::{CStr, CString, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Largest file that is read.
pub const MAX_SIZE: u64 = 16 << 20;

/// The file's bytes, at most one more than [`MAX_SIZE`].
pub(crate) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    fs::File::open(path)?.take(MAX_SIZE + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// glob(3) itself, so that what matches and its order are those of servers that call it. None: an error.
pub(crate) fn glob(pattern: &Path) -> Option<Vec<PathBuf>> {
    let pattern = CString::new(pattern.as_os_str().as_bytes()).ok()?;
    // SAFETY: an all-zero glob_t is what glob(3) expects without GLOB_APPEND; it is freed below in every case.
    let mut found: libc::glob_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pattern is a C string and `found` is valid for writes.
    let code = unsafe { libc::glob(pattern.as_ptr(), 0, None, &raw mut found) };
    let mut paths = Vec::new();
    if code == 0 {
        for i in 0..found.gl_pathc {
            // SAFETY: on success gl_pathv holds gl_pathc C strings, which live until globfree.
            let path = unsafe { CStr::from_ptr(*found.gl_pathv.add(i)) };
            paths.push(PathBuf::from(OsString::from_vec(path.to_bytes().to_vec())));
        }
    }
    // SAFETY: `found` was filled by glob(3), or is still zero.
    unsafe { libc::globfree(&raw mut found) };
    matches!(code, 0 | libc::GLOB_NOMATCH).then_some(paths)
}

/// Whether a path is one that glob(3) would find by a pattern: fnmatch(3), as that does.
pub(crate) fn is_match(pattern: &Path, path: &Path) -> bool {
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).ok();
    let Some((pattern, path)) = text(pattern).zip(text(path)) else { return false };
    // SAFETY: both are C strings.
    let code = unsafe { libc::fnmatch(pattern.as_ptr(), path.as_ptr(), libc::FNM_PATHNAME | libc::FNM_PERIOD) };
    code == 0
}
