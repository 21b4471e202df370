//! From a configuration file to a server that answers: the httpd that is installed, and what it says of a configuration.

mod environment;

pub use environment::environment;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use genkai_place::process::Child;

use super::CALLED;
use super::evidence::children;
use crate::error::TargetError;
use crate::product::{Lookup, Program, tested};

/// How httpd is found. (An empty configuration: it must not read, and complain about, the packaged one.)
pub(crate) const LOOKUP: Lookup = Lookup {
    product: CALLED,
    flag: "apache",
    names: &["apache2", "httpd"],
    built: &["/usr/local/apache2/bin", "/opt/apache2/bin"],
    ask: &["-V", "-f", "/dev/null"],
    package: "apache2-bin",
    version,
};
/// Where distributions put its modules.
const MODULES: [&str; 4] =
    ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/lib/httpd/modules", "/usr/local/apache2/modules"];

/// The httpd given, or the one installed. `dir` takes what it prints.
///
/// # Errors
/// When there is none, or it does not tell its version.
pub(crate) fn find(given: Option<&Path>, dir: &Path) -> Result<Program, TargetError> {
    Program::find(&LOOKUP, given, dir)
}

fn version(said: &str) -> Option<&str> {
    said.lines().find_map(|l| l.strip_prefix("Server version: Apache/"))?.split_ascii_whitespace().next()
}

/// Where relative paths start without a `ServerRoot` (`HTTPD_ROOT`).
pub(super) fn root(said: &str) -> PathBuf {
    let root = said.lines().find_map(|l| l.trim().strip_prefix("-D HTTPD_ROOT="));
    PathBuf::from(root.map_or("/etc/apache2", |r| r.trim_matches('"')))
}

/// The folder of its modules.
pub(crate) fn modules(program: &Program) -> Option<PathBuf> {
    let beside = program.path().ancestors().nth(2).map(|prefix| prefix.join("modules"));
    let usual = MODULES.iter().map(PathBuf::from);
    let all = usual.chain(beside).chain([root(program.said()).join("modules")]);
    all.into_iter().find(|folder| folder.join("mod_status.so").exists())
}

/// httpd with this configuration and these variables.
pub(super) fn command(program: &Program, conf: &Path, environment: &BTreeMap<String, String>) -> Command {
    let mut command = Command::new(program.path());
    command.arg("-f").arg(conf).envs(environment);
    command
}

/// Has httpd test `conf`, what it says in `dir`. `translate` turns a place of the private copy into the user's.
/// Gives the warnings of a test that passed: values that are clamped or ignored.
///
/// # Errors
/// [`crate::error::ErrorKind::Rejected`] with httpd's messages when it says no.
pub(super) fn check(
    program: &Program,
    dir: &Path,
    conf: &Path,
    environment: &BTreeMap<String, String>,
    translate: impl Fn(&str) -> String,
) -> Result<Vec<String>, TargetError> {
    let mut command = command(program, conf, environment);
    command.args(["-t", "-D", "FOREGROUND"]);
    let finished = tested(command, "apache2 -t", dir)?;
    let text = translate(&placed(&finished.text));
    if finished.status.success() {
        return Ok(text.lines().filter(|l| l.contains("WARNING")).map(str::to_owned).collect());
    }
    let reasons: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).take(20).collect();
    let reason = match reasons[..] {
        [] => format!("`apache2 -t` failed ({})", finished.status),
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

/// How long spare children are waited for at most, and between two looks.
const SPARE_WITHIN: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until `wanted` children of prefork run: as many are spare in a server that has run for a while, and they are forked one, two, four and so on in a
/// second (server/mpm/prefork/prefork.c: perform_idle_server_maintenance).
pub(super) fn spare(child: &mut Child, wanted: u64) {
    let deadline = Instant::now() + SPARE_WITHIN;
    while (children(child.pid()).len() as u64) < wanted && Instant::now() < deadline && child.try_exited().is_none() {
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_root_are_read() {
        let said = "Server version: Apache/2.4.71 (Debian)\nServer built:   x\n -D HTTPD_ROOT=\"/etc/apache2\"\n";
        assert_eq!((version(said), root(said).as_path()), (Some("2.4.71"), Path::new("/etc/apache2")));
        assert_eq!(version("hello\n"), None);
    }

    #[test]
    fn a_place_is_told_as_file_and_line() {
        let said = "AH00526: Syntax error on line 16 of /tmp/x.conf:\nInvalid command 'Foo', perhaps misspelled\n";
        assert_eq!(placed(said), "syntax error in /tmp/x.conf:16: Invalid command 'Foo', perhaps misspelled\n");
        assert_eq!(placed("Syntax OK"), "Syntax OK");
    }
}
