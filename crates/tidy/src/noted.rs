//! What a run of the tests left out, and what it had to ask again: a line each in a file, which `scripts/test.sh` prints at its end.

use std::fs::OpenOptions;
use std::io::Write;

/// Names the file.
const NOTES: &str = "GENKAI_TEST_NOTES";

/// Notes that this test, or a part of it, is left out.
pub fn skipped(why: &str) {
    note("skipped", why);
}

/// Notes that this test asks again, because the machine was too busy to tell.
pub fn asked_again(why: &str) {
    note("again", why);
}

fn note(what: &str, why: &str) {
    let test = std::thread::current().name().unwrap_or("a thread").to_owned();
    let test = std::env::var("NEXTEST_TEST_NAME").unwrap_or(test);
    let line = format!("{what}\t{test}\t{}\n", why.lines().next().unwrap_or_default());
    eprint!("{line}");
    let Some(file) = std::env::var_os(NOTES) else { return };
    // One write: tests of other processes append, too.
    let written =
        OpenOptions::new().create(true).append(true).open(&file).and_then(|mut f| f.write_all(line.as_bytes()));
    written.unwrap_or_else(|e| panic!("{}: {e}", file.display()));
}
