//! Whatever a test runs: what its verdict states follows from its record, and so do the files beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use genkai_model::statement::{Checked, Statement};
use serde_json::Value;

/// Checks the run folders that a command was told to write, if it left a verdict there.
pub fn follows(command: &Command) {
    let words: Vec<_> = command.get_args().collect();
    let out = words.windows(2).find(|pair| pair[0] == "--out").map(|pair| PathBuf::from(pair[1]));
    let Some(out) = out else { return };
    let out = if out.is_absolute() { out } else { command.get_current_dir().unwrap_or(Path::new(".")).join(out) };
    folder(&out);
}

/// Checks the folder of a run that has ended, if it left a verdict there.
pub fn folder(out: &Path) {
    // A joined verdict stands beside no record of its own.
    if stated(out).is_none() {
        return;
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let again = Command::new(env!("CARGO_BIN_EXE_genkai"))
        .args(["report", "--check", "--color", "never"])
        .arg(out)
        .output()
        .unwrap();
    assert!(again.status.success(), "{}\n{}", out.display(), text(&again.stdout) + &text(&again.stderr));
}

/// What the check of a run folder finds; none where it has no verdict with statements.
pub fn check(dir: &Path) -> Option<Checked> {
    let (lines, verdict, statements) = read(dir)?;
    Some(genkai_check::check(&lines, &verdict, &statements).unwrap_or_else(|e| panic!("{}: {e}", dir.display())))
}

/// The record of a run folder, its verdict and what that states; none where it has no verdict with statements.
fn read(dir: &Path) -> Option<(String, Value, Vec<Statement>)> {
    let (verdict, statements) = stated(dir)?;
    Some((fs::read_to_string(dir.join("run.jsonl")).ok()?, verdict, statements))
}

/// The verdict in a folder, and what it states; none where it has no statements.
pub fn stated(dir: &Path) -> Option<(Value, Vec<Statement>)> {
    let verdict: Value = serde_json::from_str(&fs::read_to_string(dir.join("verdict.json")).ok()?).ok()?;
    let statements: Vec<Statement> = serde_json::from_value(verdict.get("statements")?.clone()).ok()?;
    Some((verdict, statements))
}
