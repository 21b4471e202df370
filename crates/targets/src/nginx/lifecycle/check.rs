//! `nginx -t`: the product itself judges the configuration.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::Binary;
use crate::error::TargetError;
use crate::nginx::CALLED;
use genkai_place::oneshot::finish;
use genkai_place::process::Spawn;

/// A test resolves the names of upstreams, and each may take its time.
const LONGEST: Duration = Duration::from_secs(30);

/// Has nginx test `conf` with `prefix` as its folder. `translate` turns a place of the private copy into the user's.
/// Gives the warnings of a test that passed, without `nginx: [warn] `.
///
/// # Errors
/// [`crate::error::ErrorKind::Rejected`] with nginx's messages when it says no, or is not done in 30 s.
pub fn check(
    binary: &Binary,
    prefix: &Path,
    conf: &Path,
    translate: impl Fn(&str) -> String,
) -> Result<Vec<String>, TargetError> {
    let mut command = command(binary, prefix, conf);
    command.arg("-t");
    let spawn = Spawn { name: "nginx -t".to_owned(), log: Some(prefix.join("check.txt")), ..Spawn::default() };
    let finished = finish(command, spawn, LONGEST)?;
    let said = |level: &str| said(&finished.text, level, &translate);
    if finished.status.success() {
        return Ok(said("warn"));
    }
    let mut reasons: Vec<String> = ["emerg", "alert", "crit", "error"].iter().flat_map(|level| said(level)).collect();
    if reasons.is_empty() {
        reasons.push(match finished.status.code() {
            Some(code) => format!("`nginx -t` failed with exit code {code}: {}", finished.text.trim()),
            None => format!(
                "`nginx -t` took longer than {} s; does the configuration name hosts that do not resolve?",
                LONGEST.as_secs()
            ),
        });
    }
    Err(TargetError::rejected(CALLED, reasons.join("\n")))
}

/// nginx with this configuration, its relative paths and first log lines inside `prefix`.
pub(super) fn command(binary: &Binary, prefix: &Path, conf: &Path) -> Command {
    let mut command = Command::new(binary.path());
    command.arg("-p").arg(prefix).arg("-c").arg(conf);
    if binary.numbers() >= (1, 19, 5) {
        // Without it nginx opens the packaged log before it has read the configuration, and complains when it may not.
        command.arg("-e").arg("stderr");
    }
    command.current_dir(prefix);
    command
}

/// Messages of one level, translated, each once.
fn said(text: &str, level: &str, translate: &impl Fn(&str) -> String) -> Vec<String> {
    let mark = format!("[{level}] ");
    let mut all: Vec<String> = Vec::new();
    for line in text.lines() {
        let Some(at) = line.find(&mark) else { continue };
        let message = translate(message(&line[at + mark.len()..]));
        if !all.contains(&message) {
            all.push(message);
        }
    }
    all
}

/// Without the process numbers that precede a message once the log is open (`123#123: `).
fn message(text: &str) -> &str {
    match text.split_once(": ") {
        Some((ids, rest)) if ids.split('#').all(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit())) => rest,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_out_of_both_forms_once() {
        let text = "nginx: [warn] 9 worker_connections exceed open file resource limit: 4\n\
                    2026/11/21 11:00:00 [emerg] 12#12: unknown directive \"foo\" in /private/nginx.conf:3\n\
                    nginx: [emerg] unknown directive \"foo\" in /private/nginx.conf:3\n\
                    nginx: configuration file /private/nginx.conf test failed\n";
        let translate = |m: &str| m.replace("/private/", "/etc/nginx/");
        assert_eq!(said(text, "emerg", &translate), ["unknown directive \"foo\" in /etc/nginx/nginx.conf:3"]);
        assert_eq!(said(text, "warn", &translate), ["9 worker_connections exceed open file resource limit: 4"]);
        assert!(said(text, "crit", &translate).is_empty());
    }

    #[test]
    fn a_message_that_begins_with_a_word_is_kept_whole() {
        assert_eq!(
            message("bind() to 0.0.0.0:80 failed (13: Permission denied)"),
            "bind() to 0.0.0.0:80 failed (13: Permission denied)"
        );
        assert_eq!(message("7#7: *3 x"), "*3 x");
    }
}
