//! The run folder: the record and its outputs at the top, private files of servers in `work/`, which is removed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::LabError;

/// Outputs that genkai writes into a run folder.
pub const OUTPUTS: &[&str] = &["run.jsonl", "verdict.json", "report.html", "figure.svg"];

/// A run folder that is ours for the time of a run.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    work: PathBuf,
    keep: bool,
}

impl Folder {
    /// Makes `path` (and its parents) a run folder. Outputs of an earlier run there are moved to `previous-N/`, so that
    /// nothing is lost. With `keep`, the servers' private files stay for inspection.
    ///
    /// # Errors
    /// When the folder cannot be made or written.
    pub fn open(path: &Path, keep: bool) -> Result<Folder, LabError> {
        fs::create_dir_all(path).map_err(LabError::folder(path))?;
        let path = path.canonicalize().map_err(LabError::folder(path))?;
        set_aside(&path)?;
        let work = path.join("work");
        if work.exists() {
            fs::remove_dir_all(&work).map_err(LabError::folder(&work))?;
        }
        fs::create_dir(&work).map_err(LabError::folder(&work))?;
        Ok(Folder { path, work, keep })
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
        let dir = self.work.join(name);
        fs::create_dir_all(&dir).map_err(LabError::folder(&dir))?;
        Ok(dir)
    }

    /// Where the record goes.
    pub fn record(&self) -> PathBuf {
        self.path.join("run.jsonl")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_dir_all(&self.work);
        }
    }
}

/// Moves the outputs of an earlier run into `previous-N/`.
fn set_aside(path: &Path) -> Result<(), LabError> {
    let old: Vec<&&str> = OUTPUTS.iter().filter(|name| path.join(name).exists()).collect();
    if old.is_empty() {
        return Ok(());
    }
    let aside = (1..).map(|n| path.join(format!("previous-{n}"))).find(|p| !p.exists()).expect("numbers do not end");
    fs::create_dir(&aside).map_err(LabError::folder(&aside))?;
    for name in old {
        fs::rename(path.join(name), aside.join(name)).map_err(LabError::folder(&aside))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_run_is_set_aside_and_private_files_go() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("a/b");
        {
            let folder = Folder::open(&out, false).unwrap();
            fs::write(folder.record(), "one").unwrap();
            assert!(folder.private("nginx").unwrap().exists());
        }
        assert!(!out.join("work").exists());
        let folder = Folder::open(&out, true).unwrap();
        assert!(!folder.record().exists());
        assert_eq!(fs::read_to_string(out.join("previous-1/run.jsonl")).unwrap(), "one");
        drop(folder);
        assert!(out.join("work").exists(), "kept on request");
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
