//! Where a cache is set up, and what comes of it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use genkai_model::limit::Limit;
use genkai_model::setting::Setting;
use genkai_model::units::Bytes;

use super::answers::AnswerLog;
use super::counters::Counters;
use crate::error::TargetError;
use crate::files::Move;
use crate::product::Program;
use genkai_place::oneshot::finish;
use genkai_place::process::Spawn;

/// A version and a check answer at once; Varnish compiles C.
const ANSWER: Duration = Duration::from_secs(30);
/// What it prints, in its folder.
pub(super) const OUTPUT: &str = "output.txt";

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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sandbox<'a> {
    /// Its program.
    pub(crate) program: &'a Program,
    /// A folder of its own, in which it may write.
    pub(crate) dir: &'a Path,
    /// Where it is to listen.
    pub(crate) listen: SocketAddr,
    /// What it passes requests to; none: what its configuration names.
    pub(crate) backend: Option<SocketAddr>,
    /// What of the user's servers has another in its place; where there is no `backend`.
    pub(crate) moves: &'a [Move],
    /// Hosts that requests may reach though they are not this machine.
    pub(crate) allowed: &'a [String],
    /// What it may use.
    pub(crate) budget: Budget,
}

/// A cache that is set up and can be started.
#[derive(Debug)]
pub(crate) struct Setup {
    /// A check of its configuration, which must succeed before it is started.
    pub(crate) check: Command,
    /// Makes its store, where that is not there by itself.
    pub(crate) make: Option<Command>,
    /// The server, in the foreground.
    pub(crate) serve: Command,
    /// Every setting that is not its default.
    pub(crate) settings: Vec<Setting>,
    /// What caps it.
    pub(crate) limits: Vec<Limit>,
    /// The folder of its store; none: it is in memory.
    pub(crate) store: Option<PathBuf>,
    /// How it tells what it counted.
    pub(crate) counters: Counters,
    /// A log of its folder, and what is written there when it is ready: some listen before they cache. None: it is when it listens.
    pub(crate) ready: Option<(PathBuf, &'static str)>,
    /// What is asked, once it listens, for whether all that stands behind it has been looked at, and what reads the answer; none: it looks at nobody before
    /// requests come.
    pub(crate) settled: Option<Settled>,
    /// How the names of its segments of shared memory begin, which outlive a process that is killed (shm_overview(7)); none: it has no
    /// named ones.
    pub(crate) shared: Option<String>,
    /// The account that it runs as where genkai is root (user and group); none: that of all servers.
    pub(crate) user: Option<(u32, u32)>,
    /// Files of its own outside of its folder, which outlive a process that is killed.
    pub(crate) left: Vec<PathBuf>,
    /// The logs of its folder that are read while it runs.
    pub(crate) messages: Vec<Messages>,
    /// Its log of who answered what; none: it writes none.
    pub(crate) answers: Option<AnswerLog>,
    /// A program that writes that log beside it, once it is ready; none: it writes it itself.
    pub(crate) beside: Option<Command>,
}

/// A program with its arguments, and whether what it prints says so.
pub(crate) type Settled = (Vec<String>, fn(&str) -> bool);

/// A log of a cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages {
    /// Its file.
    pub(crate) file: &'static str,
    /// The known message that a line of it is.
    pub(crate) signature: fn(&str) -> Option<&'static str>,
    /// Whether only known messages are told of it: the others are no messages.
    pub(crate) only_known: bool,
}

impl Messages {
    /// A log all lines of which are told.
    pub(crate) fn of(file: &'static str, signature: fn(&str) -> Option<&'static str>) -> Messages {
        Messages { file, signature, only_known: false }
    }
}

impl Setup {
    /// One that keeps objects in memory, is ready when it listens and prints what nobody knows.
    pub(crate) fn new(check: Command, serve: Command, counters: Counters) -> Setup {
        Setup {
            check,
            make: None,
            serve,
            settings: Vec::new(),
            limits: Vec::new(),
            store: None,
            counters,
            ready: None,
            settled: None,
            shared: None,
            user: None,
            left: Vec::new(),
            messages: vec![Messages::of(OUTPUT, |_| None)],
            answers: None,
            beside: None,
        }
    }
}

impl Sandbox<'_> {
    /// What stands behind one whose configuration names nothing.
    pub(crate) fn origin(&self) -> SocketAddr {
        self.backend.unwrap_or(self.listen)
    }

    /// Writes a file into the folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, TargetError> {
        let path = self.dir.join(name);
        fs::write(&path, text).map_err(TargetError::files(&path))?;
        Ok(path)
    }

    /// Makes a folder in the folder.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, TargetError> {
        let path = self.dir.join(name);
        fs::create_dir_all(&path).map_err(TargetError::files(&path))?;
        Ok(path)
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
pub(crate) fn listed(text: &str, dir: &Path) -> Vec<Setting> {
    let dir = dir.display().to_string();
    let lines = text.lines().map(|line| line.trim().trim_end_matches(';').trim_end_matches('{').trim());
    let plain = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '}']) && !line.starts_with("</"));
    let setting = |line: &str| {
        let (name, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        Setting { name: name.to_owned(), value: value.trim().replace(&dir, "."), default: false }
    };
    plain.map(setting).collect()
}

/// What a copy may not have: it leads past what the configuration names.
pub(crate) fn unseen(product: &'static str, what: &str, hint: &str) -> TargetError {
    TargetError::usage(product, format!("{what} hosts that genkai does not see\n  hint: {hint}"))
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
