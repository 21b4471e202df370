//! Files of a configuration before and after edits: the difference, where each line came from, and writing back over the
//! user's files. Knows no product's syntax: it sees paths and bytes.

mod applied;
mod changes;
mod copy;
mod diff;
mod edit;
pub mod entry;
mod error;
mod flat;
mod line;
pub(crate) mod names;
pub mod number;
pub(crate) mod origin;
pub(crate) mod pattern;
pub(crate) mod read;
pub(crate) mod removable;
mod save;
mod secret;
mod setting;
mod source;
mod variable;

use std::path::{Path, PathBuf};

pub(crate) use applied::Applied;
pub use applied::{Configuration, Edited, Requests, port_of};
pub(crate) use changes::{Changes, numbered, renamed};
pub use copy::{CopyError, CopyOptions, Move};
pub(crate) use copy::{alike, folders, save};
pub use diff::diff;
pub use edit::Edit;
pub(crate) use edit::edited;
pub use error::ConfigError;
pub(crate) use flat::{Names, flat};
pub(crate) use line::{passing, with_line};
pub(crate) use origin::Origins;
pub use removable::Removable;
pub use save::{Backup, SaveError, write_back};
pub use secret::masked;
pub use setting::SettingError;
pub(crate) use source::pairs;
pub use source::{File, FileId};

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

/// A file with all changes in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The file that it is for.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The files that differ, as they are after.
pub(crate) fn finished<'a>(pairs: impl IntoIterator<Item = Pair<'a>>) -> Vec<Finished> {
    let changed = pairs.into_iter().filter(|pair| pair.before != pair.after);
    let mut all: Vec<Finished> = Vec::new();
    for pair in changed {
        // A file that is included twice is one file.
        if !all.iter().any(|one| one.path == pair.path) {
            all.push(Finished { path: pair.path.to_owned(), bytes: pair.after.to_vec() });
        }
    }
    all
}
