//! From a configuration file to a server that answers: the nginx that is installed, what it says of a configuration, how it is
//! started.

use std::path::Path;
use std::process::Command;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::CALLED;
use crate::error::TargetError;
use crate::product::{Lookup, Program, tested};

/// How nginx is found. (`-V`: with what it was built.)
pub(crate) const LOOKUP: Lookup = Lookup {
    product: CALLED,
    flag: "nginx",
    names: &["nginx"],
    built: &["/usr/local/nginx/sbin", "/opt/nginx/sbin", "/usr/local/openresty/nginx/sbin"],
    ask: &["-V"],
    package: "nginx",
    version,
};

/// `1.22.1`; for a relative of nginx with its name, `openresty/1.21.4.1`.
pub(super) fn version(said: &str) -> Option<&str> {
    let version = said.lines().find_map(|l| l.strip_prefix("nginx version: "))?;
    let version = version.split_ascii_whitespace().next()?;
    Some(version.strip_prefix("nginx/").unwrap_or(version))
}

/// With what it was built, as `nginx -V` lists it.
pub(super) fn arguments(said: &str) -> Vec<String> {
    words(said.lines().find_map(|l| l.strip_prefix("configure arguments:")).unwrap_or_default())
}

/// Splits build options at spaces outside of single quotes (`--with-cc-opt='-g -O2'`).
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty())),
            c => word.push(c),
        }
    }
    words.extend(Some(word).filter(|w| !w.is_empty()));
    words
}

/// Has nginx test `conf` with `prefix` as its folder. `translate` turns a place of the private copy into the user's.
/// Gives the warnings of a test that passed, without `nginx: [warn] `.
///
/// # Errors
/// [`crate::error::ErrorKind::Rejected`] with nginx's messages when it says no.
pub(super) fn check(
    program: &Program,
    prefix: &Path,
    conf: &Path,
    translate: impl Fn(&str) -> String,
) -> Result<Vec<String>, TargetError> {
    let mut command = command(program, prefix, conf);
    command.arg("-t");
    let finished = tested(command, "nginx -t", prefix)?;
    let said = |level: &str| said(&finished.text, level, &translate);
    if finished.status.success() {
        // Of what stands in for the user's (a certificate without an issuer) in the copy's own folder nothing is to be said.
        let own = prefix.display().to_string();
        return Ok(said("warn").into_iter().filter(|warning| !warning.contains(&own)).collect());
    }
    let mut reasons: Vec<String> = ["emerg", "alert", "crit", "error"].iter().flat_map(|level| said(level)).collect();
    if reasons.is_empty() {
        reasons.push(format!("`nginx -t` failed ({}): {}", finished.status, finished.text.trim()));
    }
    Err(TargetError::rejected(CALLED, reasons.join("\n")))
}

/// nginx with this configuration, its relative paths and first log lines inside `prefix`.
pub(super) fn command(program: &Program, prefix: &Path, conf: &Path) -> Command {
    let mut command = Command::new(program.path());
    command.arg("-p").arg(prefix).arg("-c").arg(conf);
    if program.numbers() >= (1, 19, 5) {
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

/// Puts workers back on the cores that the servers have: `worker_cpu_affinity` may have moved them off.
pub(super) fn pin(workers: &[u32], cpus: &[usize]) {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        let _ = set.set(cpu);
    }
    for &worker in workers.iter().filter(|_| !cpus.is_empty()) {
        let _ = sched_setaffinity(Pid::from_raw(worker as i32), &set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "nginx version: nginx/1.22.1\nbuilt with OpenSSL 3.0.11\nTLS SNI support enabled\n\
        configure arguments: --with-cc-opt='-g -O2 -fPIC' --prefix=/usr/share/nginx --with-http_stub_status_module\n";

    #[test]
    fn version_and_options_are_read() {
        assert_eq!(version(DEBIAN), Some("1.22.1"));
        let expected = ["--with-cc-opt=-g -O2 -fPIC", "--prefix=/usr/share/nginx", "--with-http_stub_status_module"];
        assert_eq!(arguments(DEBIAN), expected);
    }

    #[test]
    fn relatives_keep_their_name() {
        assert_eq!(version("nginx version: openresty/1.21.4.1 (beta)\n"), Some("openresty/1.21.4.1"));
        assert_eq!(version("hello\n"), None);
    }

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
