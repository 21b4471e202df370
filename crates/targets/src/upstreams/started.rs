//! How somebody else's process was started: its program, its words, its folder, its variables.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use genkai_model::limit::Origin;
use genkai_place::began::{Touched, began, changed_since, touched_since};
use procfs::process::{Process, all_processes};

/// A process as it was started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Started {
    pid: u32,
    /// File name of its program; empty where it cannot be read.
    pub(crate) program: String,
    /// Its command line, or what it has put there.
    pub(crate) words: Vec<String>,
    folder: PathBuf,
    /// When; none where that is not told.
    began: Option<SystemTime>,
}

impl Started {
    /// Process `pid`. What cannot be read of it is empty.
    pub(crate) fn of(pid: u32) -> Started {
        let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = text.split(|b| *b == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let folder = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        let words = words.filter(|word| !word.is_empty()).collect();
        Started { pid, program: name_of(&program.to_string_lossy()), words, folder, began: began(pid) }
    }

    /// Words that belong to no process.
    pub(crate) fn of_line(line: &str) -> Started {
        Started { words: line.split_whitespace().map(str::to_owned).collect(), ..Started::default() }
    }

    /// The same, begun at another moment.
    #[cfg(test)]
    pub(crate) fn began(self, moment: SystemTime) -> Started {
        Started { began: Some(moment), ..self }
    }

    /// What people call it: the name of its program, of a script that of the script; empty where neither is known.
    pub(crate) fn name(&self) -> String {
        let script = if self.program.starts_with("python") { self.script() } else { None };
        script.unwrap_or_else(|| self.program.clone())
    }

    /// What an interpreter was started with: a file, or a module after `-m`. None where other flags stand before it: which of them have a
    /// value is not known.
    fn script(&self) -> Option<String> {
        let at = if self.words.get(1)? == "-m" { 2 } else { 1 };
        self.words.get(at).filter(|word| !word.starts_with('-')).map(|word| name_of(word))
    }

    /// The last value of a flag, which has one or more names: `--name VALUE`, `--name=VALUE`, `-n VALUE`, `-nVALUE`.
    pub(crate) fn value(&self, names: &[&str]) -> Option<&str> {
        let of = |(i, word): (usize, &'_ String)| {
            let rest = names.iter().find_map(|name| word.strip_prefix(name).map(|rest| (name, rest)))?;
            match rest {
                (_, "") => Some(i + 1),
                (name, rest) if rest.starts_with('=') || !name.starts_with("--") => Some(i),
                _ => None,
            }
        };
        let at = self.words.iter().enumerate().filter_map(|(i, word)| Some((i, of((i, word))?))).next_back()?;
        let word = self.words.get(at.1)?;
        let same = names.iter().find_map(|name| word.strip_prefix(name)).filter(|_| at.0 == at.1);
        Some(same.map_or(word.as_str(), |rest| rest.strip_prefix('=').unwrap_or(rest)))
    }

    /// A variable of its environment.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let text = fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        let all = text.split(|b| *b == 0).map(|pair| String::from_utf8_lossy(pair).into_owned());
        all.filter_map(|pair| Some(pair.strip_prefix(name)?.strip_prefix('=')?.to_owned())).next()
    }

    /// Whether its environment can be read: not of another user's process, nor of one that has ended.
    pub(crate) fn shows_variables(&self) -> bool {
        fs::read(format!("/proc/{}/environ", self.pid)).is_ok()
    }

    /// A path as it was given to it.
    pub(crate) fn path(&self, text: &str) -> PathBuf {
        self.folder.join(text)
    }

    /// That these files are as they were when it began: only then they say what is in force.
    ///
    /// # Errors
    /// Which was changed since, in words.
    pub(crate) fn has_read<'p>(&self, mut files: impl Iterator<Item = &'p Path>) -> Result<(), String> {
        let Some(began) = self.began else { return Ok(()) };
        match files.find(|path| changed_since(path, began)) {
            None => Ok(()),
            Some(path) => Err(newer(path, began)),
        }
    }

    /// The file that its messages of errors go to; none where that is no file, or another user's.
    pub(crate) fn errors(&self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/fd/2", self.pid)).ok().filter(|path| path.is_file())
    }

    /// Where what its command line says stands.
    pub(crate) fn given(&self) -> Origin {
        Origin::Machine(format!("command line of process {}", self.pid))
    }

    /// Where a variable of its environment stands.
    pub(crate) fn variable_of(&self, name: &str) -> Origin {
        Origin::Machine(format!("{name} in the environment of process {}", self.pid))
    }

    /// Where what was counted of its processes comes from.
    pub(crate) fn counted(&self) -> Origin {
        Origin::Machine(format!("children of process {}", self.pid))
    }

    /// Live processes that it started.
    pub(crate) fn children(&self) -> u64 {
        self.started().count() as u64
    }

    /// Live processes that it started with this variable in their environment.
    pub(crate) fn children_with(&self, variable: &str) -> Vec<Started> {
        self.started().map(Started::of).filter(|child| child.variable(variable).is_some()).collect()
    }

    /// Live processes of the same program that it started.
    pub(crate) fn fellows(&self) -> Vec<Started> {
        self.started().map(Started::of).filter(|child| child.program == self.program).collect()
    }

    /// Whether a live process of the same program that it started does not show its environment.
    pub(crate) fn has_hidden_children(&self) -> bool {
        self.fellows().iter().any(|child| !child.shows_variables())
    }

    /// The process that started it; none where that is gone.
    pub(crate) fn parent(&self) -> Option<Started> {
        let stat = Process::new(i32::try_from(self.pid).ok()?).ok()?.stat().ok()?;
        Some(Started::of(u32::try_from(stat.ppid).ok()?))
    }

    /// Ids of live processes that it started.
    fn started(&self) -> impl Iterator<Item = u32> {
        let stats = all_processes().into_iter().flatten().flatten().filter_map(|process| process.stat().ok());
        let own = stats.filter(move |stat| stat.ppid == self.pid as i32 && stat.state != 'Z');
        own.filter_map(|stat| u32::try_from(stat.pid).ok())
    }
}

/// What is said of a file that is, or may be, another than when the process that reads it began.
pub(crate) fn newer(path: &Path, began: SystemTime) -> String {
    let what = match touched_since(path, began) {
        Some(Touched::Moved) => {
            "may be another file than when it began (what was changed since is its mode, owner, name or links, or it was written or put there with an older date)"
        }
        _ => "has a date after it began",
    };
    format!("{} {what}, so whether that is in force cannot be told: start it anew first", path.display())
}

fn name_of(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(line: &str) -> Started {
        let started = Started::of_line(line);
        Started { program: name_of(&started.words[0]), ..started }
    }

    #[test]
    fn a_script_is_called_by_its_name_and_code_is_not() {
        let said = |line: &str| started(line).name();
        assert_eq!(said("python3 /usr/bin/gunicorn -w 2 app:app"), "gunicorn");
        assert_eq!(said("python3 -m uvicorn app:app"), "uvicorn");
        for line in ["python3", "python3 -c import/os", "python3 -W ignore x.py", "python3 -m"] {
            assert_eq!(said(line), "python3", "{line}");
        }
        assert_eq!(said("/usr/bin/node server.js"), "node");
    }

    #[test]
    fn flags_have_values_in_each_way_of_writing_them() {
        let workers = |line: &str| started(line).value(&["-w", "--workers"]).map(str::to_owned);
        for line in ["g -w 4 a:b", "g -w4 a:b", "g --workers 4", "g --workers=4 a:b", "g -w 2 -b x --workers 4"] {
            assert_eq!(workers(line).as_deref(), Some("4"), "{line}");
        }
        for line in ["g a:b", "g --workers-max 4", "g -w", "g --worker 4"] {
            assert_eq!(workers(line), None, "{line}");
        }
    }

    #[test]
    fn a_process_tells_how_it_was_started() {
        let me = Started::of(std::process::id());
        assert_eq!(me.words, std::env::args().collect::<Vec<_>>());
        assert_eq!(me.path("x"), std::env::current_dir().unwrap().join("x"));
        assert_eq!(me.variable("GENKAI_NO_SUCH_VARIABLE"), None);
        assert_eq!(Started::of(u32::MAX).name(), "");
    }

    #[test]
    fn a_file_that_was_changed_since_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.conf");
        fs::write(&path, "").unwrap();
        let read = |began: Option<SystemTime>| Started { began, ..started("server") }.has_read([&*path].into_iter());
        let hour = std::time::Duration::from_secs(3600);
        assert_eq!(read(Some(SystemTime::now() + hour)), Ok(()));
        assert!(read(Some(SystemTime::now() - hour)).unwrap_err().contains("x.conf has a date after it began"));
        assert_eq!(read(None), Ok(()), "nobody knows when");
        // A mode is no content.
        let old = SystemTime::now() - 2 * hour;
        fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        let said = read(Some(SystemTime::now() - hour)).unwrap_err();
        assert!(
            said.contains("x.conf may be another file than when it began") && !said.contains("was changed after"),
            "{said}"
        );
    }
}
