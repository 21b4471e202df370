//! A configuration with one more line, for the product's own check.

use std::io::Write;
use std::path::Path;

use tempfile::NamedTempFile;

use genkai_place::PlaceError;

/// A copy of the private file `main` with `line` at its end, beside it so that what it names is found.
///
/// # Errors
/// When it cannot be read or written.
pub(crate) fn with_line(main: &Path, line: &str) -> Result<NamedTempFile, PlaceError> {
    let text = std::fs::read_to_string(main).map_err(unwritten(main))?;
    passing(main.parent().unwrap_or(main), ("with-line-", ".conf"), &format!("{text}\n{line}\n"))
}

/// A file in `folder` whose name begins and ends so, for one check: only its owner may read it (a configuration may hold
/// passwords), and dropping it removes it.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn passing(folder: &Path, (begins, ends): (&str, &str), text: &str) -> Result<NamedTempFile, PlaceError> {
    let made = tempfile::Builder::new().prefix(begins).suffix(ends).tempfile_in(folder);
    let written = made.and_then(|mut file| file.write_all(text.as_bytes()).map(|()| file));
    written.map_err(unwritten(folder))
}

/// For a file of such a check that cannot be read or written.
fn unwritten(path: &Path) -> impl FnOnce(std::io::Error) -> PlaceError + use<> {
    let path = path.to_owned();
    |source| PlaceError::Log { name: "check of a line".to_owned(), path, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn nobody_else_reads_it_and_it_goes() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("main.conf");
        std::fs::write(&main, "password hunter2").unwrap();
        let file = with_line(&main, "more 1;").unwrap();
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "password hunter2\nmore 1;\n");
        assert_eq!(file.path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(file.path().parent(), Some(dir.path()));
        drop(file);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
