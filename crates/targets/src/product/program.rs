//! A product's program that is installed: where it is, and what it says of itself; a test of a configuration by it.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::TargetError;
use genkai_place::oneshot::{Finished, finish};
use genkai_place::process::Spawn;
use genkai_place::program;

/// A version and a test answer at once; a test may resolve names, and each may take its time.
pub(crate) const LONGEST: Duration = Duration::from_secs(30);

/// How the program of a product is found, and how it tells its version.
#[derive(Debug)]
pub(crate) struct Lookup {
    /// The product, as people call it.
    pub(crate) product: &'static str,
    /// The flag by which another is given.
    pub(crate) flag: &'static str,
    /// What distributions call it.
    pub(crate) names: &'static [&'static str],
    /// Folders in which it is when it was built by hand.
    pub(crate) built: &'static [&'static str],
    /// Arguments with which it tells its version.
    pub(crate) ask: &'static [&'static str],
    /// Debian's package.
    pub(crate) package: &'static str,
    /// The version in what it prints.
    pub(crate) version: fn(&str) -> Option<&str>,
}

/// An installed program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
    version: String,
    said: String,
}

impl Program {
    /// Takes the program given, or finds one in `PATH` or where distributions put it, and asks for its version. `dir` takes
    /// what it prints.
    ///
    /// # Errors
    /// When there is none, or it does not tell its version.
    pub(crate) fn find(lookup: &Lookup, given: Option<&Path>, dir: &Path) -> Result<Program, TargetError> {
        let path = located(lookup, given)?;
        let mut command = Command::new(&path);
        command.args(lookup.ask);
        let name = format!("{} {}", lookup.names[0], lookup.ask.join(" "));
        let log = Some(dir.join(format!("{}-version.txt", lookup.flag)));
        let said = finish(command, Spawn { name: name.clone(), log, ..Spawn::default() }, LONGEST)?.text;
        let version = (lookup.version)(&said).map(str::to_owned);
        let version = version.ok_or_else(|| TargetError::not_it(lookup.product, &path, &name, &said))?;
        Ok(Program { path, version, said })
    }

    /// The executable.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its version, e.g. `1.22.1`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Major, minor, patch; zeros where it does not say.
    pub fn numbers(&self) -> (u32, u32, u32) {
        program::numbers(self.version.rsplit('/').next().unwrap_or_default())
    }

    /// What it printed when it was asked for its version.
    pub(crate) fn said(&self) -> &str {
        &self.said
    }
}

/// Where a program is: the one given, or the one that is found.
///
/// # Errors
/// When there is none.
pub(crate) fn located(lookup: &Lookup, given: Option<&Path>) -> Result<PathBuf, TargetError> {
    let Lookup { product, flag, names, built, package, .. } = *lookup;
    match given {
        Some(path) if path.is_file() => Ok(path.to_owned()),
        Some(path) => {
            let hint = format!("apt-get install {package}, or leave --{flag} out to use the installed one");
            let what = format!("there is no {product} at {}\n  hint: {hint}", path.display());
            Err(TargetError::missing(product, what))
        }
        None => names.iter().find_map(|name| program::find_also_in(name, built)).ok_or_else(|| {
            let what = format!("there is no {} in PATH or in /usr/sbin", names.join(" or "));
            let what = format!("{product} is not installed: {what}\n  hint: apt-get install {package}");
            TargetError::missing(product, what)
        }),
    }
}

/// The version that stands after `before` in what a program prints.
pub(crate) fn after<'a>(said: &'a str, before: &str) -> Option<&'a str> {
    let rest = said.split_once(before)?.1;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|version| !version.is_empty())
}

/// Has a program test a configuration: `name` is the command as people type it, `dir` takes what it prints.
///
/// # Errors
/// When it cannot be started, or does not end by itself: then it has not said of the configuration what it would.
pub(crate) fn tested(command: Command, name: &str, dir: &Path) -> Result<Finished, TargetError> {
    let spawn = Spawn { name: name.to_owned(), log: Some(dir.join("check.txt")), ..Spawn::default() };
    let finished = finish(command, spawn, LONGEST)?;
    let why = match finished.status.signal() {
        None => return Ok(finished),
        Some(9) => format!(
            "`{name}` took longer than {} s, or was killed\n  hint: does the configuration name hosts that do not resolve?",
            LONGEST.as_secs()
        ),
        Some(signal) => format!("`{name}` was ended by signal {signal}"),
    };
    Err(TargetError::machine("", why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_does_not_end_by_itself_says_nothing_of_the_configuration() {
        let dir = tempfile::tempdir().unwrap();
        let said = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            tested(command, "x -t", dir.path())
        };
        let refused = said("echo half; exit 1").unwrap();
        assert_eq!((refused.status.code(), &*refused.text), (Some(1), "half\n"));
        let killed = said("echo half; kill -9 $$").err().unwrap();
        assert!(
            !killed.is_usage() && killed.to_string().contains("`x -t` took longer than 30 s, or was killed"),
            "{killed}"
        );
        let ended = said("kill -6 $$").err().unwrap();
        assert!(ended.to_string().contains("`x -t` was ended by signal 6"), "{ended}");
    }
}
