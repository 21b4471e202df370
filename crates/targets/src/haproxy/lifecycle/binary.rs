//! The HAProxy that is installed: where it is, which version, what it was built with.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::TargetError;
use crate::haproxy::CALLED;
use genkai_place::oneshot::finish;
use genkai_place::process::Spawn;
use genkai_place::program;

/// A version and a check answer at once; a check may resolve names, and each may take its time.
pub(crate) const ANSWER: Duration = Duration::from_secs(30);

/// An installed HAProxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    path: PathBuf,
    version: String,
    features: BTreeSet<String>,
}

impl Binary {
    /// Takes the program given, or finds one in `PATH` or where distributions put it, and asks for its version. `dir` takes
    /// what it prints.
    ///
    /// # Errors
    /// When there is none, or it does not say its version.
    pub fn find(given: Option<&Path>, dir: &Path) -> Result<Binary, TargetError> {
        let path = match given {
            Some(path) if path.is_file() => path.to_owned(),
            Some(path) => return Err(not_there(path)),
            None => program::find("haproxy").ok_or_else(not_installed)?,
        };
        let mut command = Command::new(&path);
        command.arg("-vv");
        let log = Some(dir.join("haproxy-version.txt"));
        let said = finish(command, Spawn { name: "haproxy -vv".to_owned(), log, ..Spawn::default() }, ANSWER)?.text;
        Binary::read(path.clone(), &said).ok_or_else(|| TargetError::not_it(CALLED, &path, "haproxy -vv", &said))
    }

    /// Reads what `-vv` prints: `HAProxy version 2.6.12-1+deb12u4 2026/10/17 - ...`, `Feature list : +EPOLL -KQUEUE ...`.
    fn read(path: PathBuf, said: &str) -> Option<Binary> {
        let rest = said.split_once("HAProxy version ").or_else(|| said.split_once("HA-Proxy version "))?.1;
        let version: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let list = said.lines().find_map(|l| l.strip_prefix("Feature list : ")).unwrap_or_default();
        let features = list.split(' ').filter_map(|f| f.strip_prefix('+')).map(str::to_owned).collect();
        (!version.is_empty()).then_some(Binary { path, version, features })
    }

    /// The program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its version, e.g. `2.6.12`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Major, minor, patch.
    pub fn numbers(&self) -> (u32, u32, u32) {
        program::numbers(&self.version)
    }

    /// What it was built with, e.g. `OPENSSL`.
    pub fn features(&self) -> &BTreeSet<String> {
        &self.features
    }
}

fn not_installed() -> TargetError {
    let what = "haproxy is not installed: there is none in PATH or in /usr/sbin";
    TargetError::missing(CALLED, format!("{what}\n  hint: apt-get install haproxy"))
}

fn not_there(path: &Path) -> TargetError {
    let hint = "apt-get install haproxy, or leave --haproxy out to use the installed one";
    TargetError::missing(CALLED, format!("there is no haproxy at {}\n  hint: {hint}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_features_are_read() {
        let read = |said: &str| Binary::read("/x".into(), said);
        let debian = "HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/\nStatus: x\nFeature list : +EPOLL -KQUEUE +OPENSSL\n";
        let binary = read(debian).unwrap();
        assert_eq!((binary.version(), binary.numbers()), ("2.6.12", (2, 6, 12)));
        assert!(binary.features().contains("OPENSSL") && !binary.features().contains("KQUEUE"));
        assert_eq!(read("HA-Proxy version 1.8.19-1 2019\n").unwrap().version(), "1.8.19");
        assert_eq!(read("nginx version: nginx/1.22.1\n"), None);
    }
}
