//! Run folders of every kind that are kept with the tests.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder of committed run folders, one of each kind.
pub fn records() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records")
}

/// Folders below `dir` that hold a verdict, itself included.
pub fn judged(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::from_iter(dir.join("verdict.json").exists().then(|| dir.to_owned()));
    for entry in fs::read_dir(dir).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        all.extend(judged(&entry.path()));
    }
    all
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// A file of JSON.
pub fn read(file: &Path) -> Value {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}
