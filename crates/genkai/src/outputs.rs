//! Records read, files written whole or not at all, and what an outcome means to a script.

use std::fs;
use std::io::Write;
use std::path::Path;

use genkai_model::exit::Exit;
use genkai_model::finding::Outcome;
use genkai_model::record::Record;

use crate::Failure;

/// The code that tells a script how a run ended.
pub(crate) fn exit(outcome: Outcome, interrupted: bool) -> Exit {
    match outcome {
        _ if interrupted => Exit::Interrupted,
        Outcome::Holds => Exit::Holds,
        Outcome::Fails => Exit::Fails,
        Outcome::Invalid => Exit::Invalid,
        Outcome::Unfinished => Exit::Environment,
    }
}

/// The record of a run, from its file.
///
/// # Errors
/// When it cannot be read, or is no record.
pub(crate) fn record(file: &Path) -> Result<Record, Failure> {
    let raw = fs::read_to_string(file).map_err(|e| {
        Failure::usage(format!("cannot read {}: {e}\n  hint: give the folder of a run", file.display()))
    })?;
    Record::read(raw.lines()).map_err(|e| Failure::usage(format!("{}: {e}", file.display())))
}

/// Writes a file so that a reader sees the old one or the new one, never half of it.
pub(crate) fn whole(path: &Path, text: &str) -> Result<(), Failure> {
    let part = path.with_extension("part");
    let written = fs::File::create(&part)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&part, path));
    written.map_err(|e| {
        let _ = fs::remove_file(&part);
        Failure::environment(format!(
            "cannot write {}: {e}\n  hint: the record is safe; free some space and run `genkai report {}`",
            path.display(),
            path.parent().unwrap_or(path).display()
        ))
    })
}
