//! The files: which there are, which are tests, and what is left of them without comments.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::blank;

/// A file of Rust that is part of the program.
pub struct Source {
    /// Path from the root of the repository.
    pub path: String,
    /// The crate's folder in `crates/`.
    pub room: String,
    /// Module path inside the crate; empty for `lib.rs` and `main.rs`.
    pub module: Vec<String>,
    /// The file as it is.
    pub text: String,
    /// Without comments and tests.
    pub kept: String,
    /// Without comments, tests and what stands in strings.
    pub code: String,
    /// Lines that are not tests.
    pub lines: usize,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// The text of a file, by its path from the root.
///
/// # Panics
/// When it cannot be read.
pub fn read(path: &str) -> String {
    let file = root().join(path);
    fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// The crates of the program (this one is none).
pub fn crates() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(root().join("crates"))
        .expect("crates/")
        .flatten()
        .filter(|entry| entry.path().join("src").is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name != "tidy")
        .collect();
    names.sort();
    names
}

/// Every file of a crate's `src` that is not only for tests.
pub fn sources(root: &Path, room: &str) -> Vec<Source> {
    let src = root.join("crates").join(room).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    files.sort();
    let read = |file: &PathBuf| fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let texts: Vec<(PathBuf, String)> = files.iter().map(|file| (file.clone(), read(file))).collect();
    let tests: BTreeSet<PathBuf> = texts.iter().flat_map(|(file, text)| test_modules(file, text)).collect();
    let is_test = |file: &Path| {
        file.ancestors().any(|above| tests.contains(&above.with_extension(""))) || file.ends_with("tests.rs")
    };
    let program = texts.into_iter().filter(|(file, _)| !is_test(file));
    program.map(|(file, text)| source(root, &src, room, &file, text)).collect()
}

/// Files of Rust below a folder.
fn rust_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn source(root: &Path, src: &Path, room: &str, file: &Path, text: String) -> Source {
    let (kept, code) = blank::blanked(&text);
    let (mut kept, mut code) = (kept.into_bytes(), code.into_bytes());
    let mut of_tests = 0;
    for (start, end) in blank::test_items(std::str::from_utf8(&code).expect("text")) {
        of_tests += text[start..end].lines().count();
        blank::blank(&mut kept[start..end]);
        blank::blank(&mut code[start..end]);
    }
    let string = |bytes| String::from_utf8(bytes).expect("whole characters are blanked");
    let path = |from: &Path| file.strip_prefix(from).expect("below").display().to_string();
    Source {
        path: path(root),
        room: room.to_owned(),
        module: module(&path(src)),
        lines: text.lines().count() - of_tests,
        text,
        kept: string(kept),
        code: string(code),
    }
}

fn module(path: &str) -> Vec<String> {
    let path = path.trim_end_matches(".rs");
    let path = path.strip_suffix("mod").map_or(path, |folder| folder.trim_end_matches('/'));
    path.split('/').filter(|name| !matches!(*name, "" | "lib" | "main")).map(str::to_owned).collect()
}

/// The files (without extension) of modules that a file declares for tests only.
fn test_modules(file: &Path, text: &str) -> Vec<PathBuf> {
    let (_, code) = blank::blanked(text);
    let name = file.file_stem().expect("a name");
    let dir = match name == "mod" || name == "lib" || name == "main" {
        true => file.parent().expect("a folder").to_owned(),
        false => file.with_extension(""),
    };
    let declared = |(start, end): (usize, usize)| {
        let item = code[start..end].trim_end_matches(';');
        let (before, name) = item.rsplit_once(char::is_whitespace)?;
        before.trim_end().ends_with("mod").then(|| dir.join(name))
    };
    blank::test_items(&code).into_iter().filter_map(declared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_its_module() {
        assert_eq!(module("lib.rs"), [""; 0]);
        assert_eq!(module("a/mod.rs"), ["a"]);
        assert_eq!(module("a/b.rs"), ["a", "b"]);
    }
}
