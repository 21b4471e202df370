//! Explaining a configuration from its text: what all products have in common.

use std::path::{Path, PathBuf};

use genkai_model::explain::{Explanation, Remark, RemarkKind, Timer};
use genkai_model::limit::{Limit, Origin};

pub use crate::files::Requests;
use crate::files::entry::{Entries, Entry};
use crate::files::masked;
use genkai_place::caps::Machine;

/// What is to be explained, and where.
#[derive(Debug)]
pub struct Explain<'a> {
    /// The main file, or folder.
    pub main: &'a Path,
    /// The requests that are looked at.
    pub requests: &'a Requests,
    /// The machine.
    pub machine: &'a Machine,
    /// Its memory in bytes.
    pub memory: u64,
}

/// What a configuration of `product` says, which was read from `files`. Secrets in values are masked.
pub(crate) fn explanation(
    product: &str,
    files: impl Iterator<Item = PathBuf>,
    mut limits: Vec<Limit>,
    timers: Vec<Timer>,
    remarks: Vec<Remark>,
) -> Explanation {
    for limit in &mut limits {
        limit.value = masked(&limit.value);
    }
    let (product, files) = (product.to_owned(), files.collect());
    Explanation { product, files, limits, predictions: Vec::new(), timers, remarks }
}

/// What is to be said of a setting.
pub(crate) fn remark(
    kind: RemarkKind,
    place: Option<String>,
    setting: &str,
    text: String,
    hint: Option<String>,
) -> Remark {
    Remark { kind, place, setting: setting.to_owned(), text, hint }
}

/// What is to be said of an entry.
pub(crate) fn about(all: &Entries, entry: &Entry, kind: RemarkKind, text: String, hint: Option<String>) -> Remark {
    remark(kind, Some(all.place(entry)), &entry.name, text, hint)
}

/// `path:line` of a value; none where it is written nowhere.
pub(crate) fn place(origin: &Origin) -> Option<String> {
    match origin {
        Origin::File { path, line } => Some(format!("{}:{line}", path.display())),
        _ => None,
    }
}
