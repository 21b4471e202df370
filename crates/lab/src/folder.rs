//! The run folder: the record and its outputs at the top, private files of servers in a `work-...` folder
//! that is removed.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use genkai_place::reaper::{Cleanup, CleanupGuard};
use tempfile::{Builder, TempDir};

use crate::error::LabError;

/// Outputs that genkai writes into a run folder.
pub const OUTPUTS: &[&str] = &["run.jsonl", "verdict.json", "report.html", "figure.svg", "passes.csv", "turns.csv"];

/// The folder with the files of a proposal, finished, by the paths that they are for. Where there is one that is not genkai's, a number
/// follows.
const PROPOSAL: &str = "proposal";

/// Figures and their numbers in a run folder, but for `figure.svg`: `figure.csv`, `figure-2.svg` and so on.
fn figures(folder: &Path) -> Vec<String> {
    let is_figure = |name: &String| {
        let stem = name.strip_suffix(".svg").or_else(|| name.strip_suffix(".csv"));
        let number = |stem: &str| stem.strip_prefix("figure-").is_some_and(|n| n.parse::<u32>().is_ok());
        name == "figure.csv" || stem.is_some_and(number)
    };
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_figure).collect()
}

/// How the private folder's name begins; the rest is unlike any other, so that it cannot be a folder of the user's.
const PRIVATE: &str = "work-";

/// A run folder that is ours for the time of a run.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    work: TempDir,
    /// Held as long as the run lasts, so that no second run writes into the folder.
    _lock: File,
    /// That the private folder does not outlive genkai; none: it is to be kept.
    _promise: Option<CleanupGuard>,
}

impl Folder {
    /// Makes `path` (and its parents) a run folder. With `keep`, the servers' private files stay for inspection.
    ///
    /// # Errors
    /// When the folder cannot be made or written.
    pub fn open(path: &Path, keep: bool) -> Result<Folder, LabError> {
        fs::create_dir_all(path).map_err(LabError::folder(path))?;
        let path = path.canonicalize().map_err(LabError::folder(path))?;
        let lock = lock(&path)?;
        let mut work = Builder::new().prefix(PRIVATE).tempdir_in(&path).map_err(LabError::folder(&path))?;
        work.disable_cleanup(keep);
        let promise = (!keep).then(|| CleanupGuard::new(Cleanup::Folder(work.path().to_owned())));
        Ok(Folder { path, work, _lock: lock, _promise: promise })
    }

    /// Moves the outputs of an earlier run to `previous-N/`, so that nothing is lost. Called when the new run has
    /// something to put in their place.
    ///
    /// # Errors
    /// When they cannot be moved.
    pub fn set_aside(&self) -> Result<(), LabError> {
        let proposed = proposed(&self.record());
        let drawn = figures(&self.path);
        let names = OUTPUTS.iter().copied().chain(proposed.as_deref()).chain(drawn.iter().map(String::as_str));
        let old: Vec<&str> = names.filter(|name| self.path.join(name).exists()).collect();
        if old.is_empty() {
            return Ok(());
        }
        let names = (1..).map(|n| self.path.join(format!("previous-{n}")));
        let aside = names.into_iter().find(|p| !p.exists()).expect("numbers do not end");
        fs::create_dir(&aside).map_err(LabError::folder(&aside))?;
        for name in old {
            fs::rename(self.path.join(name), aside.join(name)).map_err(LabError::folder(&aside))?;
        }
        Ok(())
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A fresh private folder for one server.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn private(&self, name: &str) -> Result<PathBuf, LabError> {
        let dir = self.work.path().join(name);
        fs::create_dir_all(&dir).map_err(LabError::folder(&dir))?;
        Ok(dir)
    }

    /// The same, with everybody let through the private folder: servers that run as somebody else work below it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open_to_all(&self, name: &str) -> Result<PathBuf, LabError> {
        let through = fs::Permissions::from_mode(0o711);
        fs::set_permissions(self.work.path(), through).map_err(LabError::folder(self.work.path()))?;
        self.private(name)
    }

    /// Makes the folder for the files of a proposal: `proposal`, or the first of `proposal-2`, ... where something of another's has that
    /// name. Gives its name.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn proposal(&self) -> Result<String, LabError> {
        let numbered = (2..).map(|n| format!("{PROPOSAL}-{n}"));
        for name in std::iter::once(PROPOSAL.to_owned()).chain(numbered) {
            let path = self.path.join(&name);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(name),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(LabError::folder(&path)(e)),
            }
        }
        unreachable!("numbers do not end")
    }

    /// Writes a file with a proposal in it, for nobody else to read: into the folder `name` ([`Folder::proposal`]), by the path that it is
    /// for. Gives its path within the run folder.
    ///
    /// # Errors
    /// When it cannot be written; then nothing of it is left.
    pub fn propose(&self, name: &str, path: &Path, bytes: &[u8]) -> Result<PathBuf, LabError> {
        let names = path.components().filter(|part| matches!(part, Component::Normal(_)));
        let copy: PathBuf = std::iter::once(Component::Normal(name.as_ref())).chain(names).collect();
        let to = self.path.join(&copy);
        let parent = to.parent().unwrap_or(&self.path);
        fs::create_dir_all(parent).map_err(LabError::folder(parent))?;
        let mut file =
            File::options().write(true).create_new(true).mode(0o600).open(&to).map_err(LabError::folder(&to))?;
        file.write_all(bytes).map_err(|e| {
            // What is left of it is no configuration.
            let _ = fs::remove_file(&to);
            LabError::folder(&to)(e)
        })?;
        Ok(copy)
    }

    /// Where the record goes.
    pub fn record(&self) -> PathBuf {
        self.path.join("run.jsonl")
    }
}

/// The folder in which the run of a record put the files of its proposal, by its last line; none: it put none anywhere.
fn proposed(record: &Path) -> Option<String> {
    let text = fs::read(record).ok()?;
    let last = text.trim_ascii_end().rsplit(|byte| *byte == b'\n').next()?;
    let event: serde_json::Value = serde_json::from_slice(last).ok()?;
    let copy = event.get("files")?.as_array()?.iter().find_map(|file| file.get("copy")?.as_str())?;
    match Path::new(copy).components().next()? {
        Component::Normal(name) => Some(name.to_str()?.to_owned()),
        _ => None,
    }
}

/// Locks a folder against other runs; the lock ends with the process that holds it, however that ends.
fn lock(path: &Path) -> Result<File, LabError> {
    let folder = File::open(path).map_err(LabError::folder(path))?;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(TryLockError::WouldBlock) => Err(LabError::Busy(path.to_owned())),
        Err(TryLockError::Error(e)) if e.kind() == std::io::ErrorKind::Unsupported => Ok(folder),
        Err(TryLockError::Error(e)) => Err(LabError::folder(path)(e)),
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::event::{Event, FinishedFile, RunEnded, What};

    use super::*;

    #[test]
    fn two_runs_at_once_do_not_share_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let first = Folder::open(dir.path(), false).unwrap();
        let second = Folder::open(dir.path(), false).unwrap_err().to_string();
        assert!(second.contains("another run is writing into") && second.contains("--out"), "{second}");
        drop(first);
        assert!(Folder::open(dir.path(), false).is_ok());
    }

    fn entries(path: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_earlier_run_is_set_aside_and_private_files_go() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("a/b");
        {
            let folder = Folder::open(&out, false).unwrap();
            fs::write(folder.record(), "one").unwrap();
            assert!(folder.private("nginx").unwrap().exists());
        }
        assert_eq!(entries(&out), ["run.jsonl"]);
        let folder = Folder::open(&out, true).unwrap();
        assert!(folder.record().exists(), "not before the new run has a record");
        folder.set_aside().unwrap();
        assert!(!folder.record().exists());
        assert_eq!(fs::read_to_string(out.join("previous-1/run.jsonl")).unwrap(), "one");
        drop(folder);
        assert_eq!(entries(&out).len(), 2, "kept on request");
    }

    #[test]
    fn figures_of_an_earlier_run_are_none_of_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let drawn = ["figure-2.csv", "figure-2.svg", "figure.csv", "figure.svg"];
        let others = ["figure-of-mine.svg", "figures.csv"];
        drawn.iter().chain(&others).for_each(|name| fs::write(dir.path().join(name), *name).unwrap());
        Folder::open(dir.path(), false).unwrap().set_aside().unwrap();
        assert_eq!(entries(&dir.path().join("previous-1")), drawn);
        assert_eq!(entries(dir.path()), ["figure-of-mine.svg", "figures.csv", "previous-1"]);
    }

    #[test]
    fn the_users_own_files_stay() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        fs::write(dir.path().join("work/thesis.txt"), "precious").unwrap();
        drop(Folder::open(dir.path(), false).unwrap());
        assert_eq!(fs::read_to_string(dir.path().join("work/thesis.txt")).unwrap(), "precious");
        assert_eq!(entries(dir.path()), ["work"]);
    }

    #[test]
    fn a_proposal_goes_beside_what_is_the_users_and_only_it_is_set_aside() {
        let dir = tempfile::tempdir().unwrap();
        let mine = dir.path().join("proposal");
        fs::create_dir(&mine).unwrap();
        fs::write(mine.join("thesis.txt"), "precious").unwrap();
        let propose = |bytes: &[u8]| {
            let folder = Folder::open(dir.path(), false).unwrap();
            folder.set_aside().unwrap();
            let copy = folder.propose(&folder.proposal().unwrap(), Path::new("/etc/a.conf"), bytes).unwrap();
            let files = vec![FinishedFile { path: "/etc/a.conf".into(), copy: Some(copy.clone()), sum: None }];
            let end = RunEnded { interrupted: false, failure: None, diff: String::new(), files };
            let last = serde_json::to_string(&Event { at_us: 1, trial: None, what: What::RunEnded(end) }).unwrap();
            fs::write(folder.record(), format!("{{}}\n{last}\n")).unwrap();
            copy
        };
        let copies = [propose(b"one"), propose(b"two")];
        assert_eq!(copies, ["proposal-2/etc/a.conf", "proposal-2/etc/a.conf"].map(PathBuf::from));
        assert_eq!(entries(dir.path()), ["previous-1", "proposal", "proposal-2", "run.jsonl"]);
        assert_eq!(fs::read(dir.path().join("previous-1").join(&copies[0])).unwrap(), b"one");
        assert_eq!(fs::read(dir.path().join(&copies[1])).unwrap(), b"two");
        assert_eq!(entries(&mine), ["thesis.txt"]);
    }

    #[test]
    fn a_file_in_the_way_is_one_clear_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Folder::open(&file, false).unwrap_err();
        assert!(error.to_string().contains("--out"), "{error}");
    }
}
