//! What can be set, by Varnish's own words.

use std::path::PathBuf;

use genkai_model::units::Bytes;

/// How objects are kept (`-s`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// In memory of the process.
    Malloc(Bytes),
    /// In a file that is mapped into memory; the kernel decides what stays there.
    File(PathBuf, Bytes),
}

impl Storage {
    /// As `-s` has it.
    pub(super) fn argument(&self) -> String {
        match self {
            Storage::Malloc(size) => format!("malloc,{}", size.0),
            Storage::File(path, size) => format!("file,{},{}", path.display(), size.0),
        }
    }
}

/// `thread_pools` (default 2) and `thread_pool_max` (default 5000) of Varnish 7.1 (include/tbl/params.h).
pub(super) const THREADS: (u32, u32) = (2, 5000);
