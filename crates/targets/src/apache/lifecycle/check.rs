//! `apache2 -t`: the product itself judges the configuration.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::{Binary, command};
use crate::apache::CALLED;
use crate::error::TargetError;
use genkai_place::oneshot::finish;
use genkai_place::process::Spawn;

/// A test may resolve names, and each may take its time.
const LONGEST: Duration = Duration::from_secs(30);

/// Has httpd test `conf`, what it says in `dir`. `translate` turns a place of the private copy into the user's.
/// Gives the warnings of a test that passed: values that are clamped or ignored.
///
/// # Errors
/// [`crate::error::ErrorKind::Rejected`] with httpd's messages when it says no, or is not done in 30 s.
pub fn check(
    binary: &Binary,
    dir: &Path,
    conf: &Path,
    environment: &BTreeMap<String, String>,
    translate: impl Fn(&str) -> String,
) -> Result<Vec<String>, TargetError> {
    let mut command = command(binary, conf, environment);
    command.args(["-t", "-D", "FOREGROUND"]);
    let spawn = Spawn { name: "apache2 -t".to_owned(), log: Some(dir.join("check.txt")), ..Spawn::default() };
    let finished = finish(command, spawn, LONGEST)?;
    let text = translate(&placed(&finished.text));
    if finished.status.success() {
        return Ok(text.lines().filter(|l| l.contains("WARNING")).map(str::to_owned).collect());
    }
    let reasons: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).take(20).collect();
    let reason = match finished.status.code() {
        Some(code) if reasons.is_empty() => format!("`apache2 -t` failed with exit code {code}"),
        None if reasons.is_empty() => format!("`apache2 -t` took longer than {} s", LONGEST.as_secs()),
        _ => reasons.join("\n"),
    };
    Err(TargetError::rejected(CALLED, reason))
}

/// `Syntax error on line 16 of FILE:` as ` in FILE:16:`, the form in which places are translated.
fn placed(text: &str) -> String {
    let pattern = regex::Regex::new(r"(?:AH00526: )?Syntax error on line (\d+) of (\S+?):(?:\n|$)")
        .expect("pattern is a constant");
    pattern.replace_all(text, "syntax error in $2:$1: ").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_as_file_and_line() {
        let said = "AH00526: Syntax error on line 16 of /tmp/x.conf:\nInvalid command 'Foo', perhaps misspelled\n";
        assert_eq!(placed(said), "syntax error in /tmp/x.conf:16: Invalid command 'Foo', perhaps misspelled\n");
        assert_eq!(placed("Syntax OK"), "Syntax OK");
    }
}
