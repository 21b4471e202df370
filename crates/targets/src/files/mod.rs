//! Files of a configuration before and after edits: the difference, where each line came from, and writing back over the
//! user's files. Knows no product's syntax: it sees paths and bytes.

mod diff;
pub(crate) mod names;
pub(crate) mod origin;
pub(crate) mod read;
mod save;
mod secret;

use std::path::Path;

pub use diff::diff;
pub(crate) use origin::Origins;
pub use save::{Backup, SaveError, write_back};
pub use secret::masked;

/// One file before and after edits.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// Path by which it was reached.
    pub path: &'a Path,
    /// The same with every symlink resolved.
    pub real: &'a Path,
    /// Its bytes before.
    pub before: &'a [u8],
    /// Its bytes after.
    pub after: &'a [u8],
}

/// Longest name made from another (NAME_MAX is 255).
pub(crate) const LONGEST: usize = 100;

/// A name without slashes and without anything that means something to a server's configuration or a shell.
pub(crate) fn flat(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' };
    let all: String = name.trim_start_matches('/').chars().map(safe).collect();
    let end = &all[all.len().saturating_sub(LONGEST)..];
    let end = end.trim_start_matches('.');
    if end.is_empty() { "_".to_owned() } else { end.to_owned() }
}
