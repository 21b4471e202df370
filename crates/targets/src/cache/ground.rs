//! Where a cache is set up, and what comes of it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use genkai_model::limit::Limit;
use genkai_model::setting::Setting;
use genkai_model::units::Bytes;

use super::counters::Counters;
use crate::error::TargetError;
use genkai_place::oneshot::finish;
use genkai_place::process::Spawn;

/// A version and a check answer at once; Varnish compiles C.
const ANSWER: Duration = Duration::from_secs(30);

/// What every contender may use for objects: the one or the other, by where it keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Memory, for those that keep objects in memory.
    pub memory: Bytes,
    /// Disk, for those that keep objects on disk.
    pub disk: Bytes,
}

impl Budget {
    /// What each has unless a plan says otherwise.
    pub const USUAL: Budget = Budget { memory: Bytes(64 << 20), disk: Bytes(256 << 20) };
}

/// Where one is set up.
#[derive(Clone, Debug)]
pub struct Ground<'a> {
    /// Its program.
    pub program: &'a Path,
    /// A folder of its own, in which it may write.
    pub dir: &'a Path,
    /// Where it is to listen.
    pub listen: SocketAddr,
    /// What stands behind it, unless its configuration names that.
    pub origin: SocketAddr,
    /// What it may use.
    pub budget: Budget,
}

/// A cache that is set up and can be started.
#[derive(Debug)]
pub struct Setup {
    /// Its version.
    pub version: String,
    /// What must succeed before it is started: a check of its configuration, making its store. The first that fails, with what it
    /// printed, is the error.
    pub before: Vec<Command>,
    /// The server, in the foreground.
    pub serve: Command,
    /// Every setting that is not its default.
    pub settings: Vec<Setting>,
    /// What caps it.
    pub limits: Vec<Limit>,
    /// The folder of its store; none: it is in memory.
    pub store: Option<PathBuf>,
    /// How it tells what it counted.
    pub counters: Counters,
    /// A log of its folder, and what is written there when it is ready: some listen before they cache. None: it is when it listens.
    pub ready: Option<(PathBuf, &'static str)>,
    /// How the names of its segments of shared memory begin, which outlive a process that is killed (shm_overview(7)); none: it has no
    /// named ones.
    pub shared: Option<String>,
}

impl Ground<'_> {
    /// Writes a file into the folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, TargetError> {
        let path = self.dir.join(name);
        fs::write(&path, text).map_err(TargetError::files(&path))?;
        Ok(path)
    }

    /// Makes a folder in the folder.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn folder(&self, name: &str) -> Result<PathBuf, TargetError> {
        let path = self.dir.join(name);
        fs::create_dir_all(&path).map_err(TargetError::files(&path))?;
        Ok(path)
    }

    /// Asks the program for its version: the word after `before` in what it prints.
    ///
    /// # Errors
    /// When it does not say it.
    pub fn version(&self, flag: &str, before: &str) -> Result<String, TargetError> {
        let mut command = Command::new(self.program);
        command.arg(flag);
        let said = run(command, &self.dir.join("version.txt"), None)?.1;
        let rest = said.split_once(before).map_or("", |(_, rest)| rest);
        let version: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        if !version.is_empty() {
            return Ok(version);
        }
        let said: String = said.lines().next().unwrap_or_default().chars().take(200).collect();
        let name = self.program.display().to_string();
        Err(TargetError::command(&name, format!("{name} {flag}"), said))
    }
}

/// Runs a program that ends by itself, as `user` where that is another; whether it succeeded, and what it printed.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn run(command: Command, log: &Path, user: Option<(u32, u32)>) -> Result<(bool, String), TargetError> {
    let spawn = Spawn {
        name: command.get_program().to_string_lossy().into_owned(),
        log: Some(log.to_owned()),
        user,
        ..Spawn::default()
    };
    let finished = finish(command, spawn, ANSWER)?;
    Ok((finished.status.success(), finished.text))
}

/// The directives of a configuration that genkai wrote, one a line, as reports list them: nothing of it is a default. The private
/// folder is written `.`.
pub fn listed(text: &str, dir: &Path) -> Vec<Setting> {
    let dir = dir.display().to_string();
    let lines = text.lines().map(|line| line.trim().trim_end_matches(';').trim_end_matches('{').trim());
    let plain = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '}']) && !line.starts_with("</"));
    let setting = |line: &str| {
        let (name, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        Setting { name: name.to_owned(), value: value.trim().replace(&dir, "."), default: false }
    };
    plain.map(setting).collect()
}

/// The largest object that a cache keeps; a larger one is fetched from the origin every time, and nothing says so.
pub(crate) fn largest(id: &str, setting: &str, bytes: u64, source: &str) -> Limit {
    let product = id.split('.').next().unwrap_or_default();
    Limit {
        value: bytes.to_string(),
        caps: "bytes of an object; larger ones are fetched from the origin every time".to_owned(),
        formula: format!("{setting} {bytes}"),
        source: source.to_owned(),
        ..Limit::named(id, product, setting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_setting_and_the_folder_is_a_dot() {
        let text = "# mine\nworkers 1;\nhttp {\n    root /x/y/cache;\n}\n<Directory /x/y>\n</Directory>\n";
        let all: Vec<(String, String)> =
            listed(text, Path::new("/x/y")).into_iter().map(|one| (one.name, one.value)).collect();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(all, [pair("workers", "1"), pair("http", ""), pair("root", "./cache"), pair("<Directory", ".>")]);
    }
}
