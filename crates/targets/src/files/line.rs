//! A configuration with one more line, for the product's own check.

use std::path::{Path, PathBuf};

use crate::local::LocalError;

/// A copy of the private file `main` with `line` at its end, beside it so that what it names is found. Its path.
///
/// # Errors
/// When it cannot be read or written.
pub(crate) fn with_line(main: &Path, line: &str) -> Result<PathBuf, LocalError> {
    let path = main.with_file_name("with-line.conf");
    let written = std::fs::read_to_string(main).and_then(|text| std::fs::write(&path, format!("{text}\n{line}\n")));
    written.map_err(unwritten(&path))?;
    Ok(path)
}

/// For a file of such a check that cannot be written.
pub(crate) fn unwritten(path: &Path) -> impl FnOnce(std::io::Error) -> LocalError + use<> {
    let path = path.to_owned();
    |source| LocalError::Log { name: "check of a line".to_owned(), path, source }
}
