//! A file system of our own in a file, mounted for as long as it is needed, with the options that are to be tried.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::oneshot::finish;
use crate::pagecache;
use crate::process::Spawn;
use crate::program;
use crate::reaper::{Cleanup, CleanupGuard};

/// Making and mounting a small file system takes a moment.
const LONGEST: Duration = Duration::from_secs(60);

/// An ext4 in a file, mounted by a loop device. Dropping it unmounts it and removes the file.
#[derive(Debug)]
pub struct Image {
    file: PathBuf,
    at: PathBuf,
    _promise: CleanupGuard,
}

impl Image {
    /// Makes one of so many bytes in `dir`, and mounts it.
    ///
    /// # Errors
    /// Why that cannot be done here, in a few words: mounting takes root.
    pub fn mount(dir: &Path, bytes: u64) -> Result<Image, String> {
        if !nix::unistd::geteuid().is_root() {
            return Err("mounting a file system takes root".to_owned());
        }
        // What is made is cleared away if the next step fails.
        let at = dir.join("mounted");
        let image = Image { file: dir.join("image"), _promise: CleanupGuard::new(Cleanup::Mount(at.clone())), at };
        let Image { file, at, .. } = &image;
        let made = || {
            fs::create_dir_all(at)?;
            File::create(file)?.set_len(bytes)
        };
        made().map_err(|e| format!("no file for an image: {e}"))?;
        run("mkfs.ext4", &["-q".as_ref(), "-F".as_ref(), file.as_ref()], dir)?;
        run("mount", &["-o".as_ref(), "loop".as_ref(), file.as_ref(), at.as_ref()], dir)?;
        Ok(image)
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Mounts it again with this option, while it is in use.
    ///
    /// # Errors
    /// What mount(8) says.
    pub fn remount(&self, option: &str) -> Result<(), String> {
        let parent = self.at.parent().unwrap_or(&self.at);
        run("mount", &["-o".as_ref(), format!("remount,{option}").as_ref(), self.at.as_ref()], parent)
    }

    /// Has everything written that waits to be, times of reading among it.
    pub fn flush(&self) {
        pagecache::sync(&self.at);
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let parent = self.at.parent().unwrap_or(&self.at);
        // Lazily: what still has a file open there keeps it until it ends.
        let _ = run("umount", &["-l".as_ref(), self.at.as_ref()], parent);
        let _ = fs::remove_file(&self.file);
    }
}

/// Runs a program of the system's, found where administrators' programs are too.
fn run(name: &'static str, arguments: &[&OsStr], dir: &Path) -> Result<(), String> {
    let mut command = Command::new(name);
    command.args(arguments).env("PATH", program::search_path());
    let spawn = Spawn { name: name.to_owned(), log: Some(dir.join("mount.txt")), ..Spawn::default() };
    let finished = finish(command, spawn, LONGEST).map_err(|e| e.to_string())?;
    if finished.status.success() { Ok(()) } else { Err(format!("{name}: {}", finished.text.trim())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_cannot_be_made_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        // Too small for any file system.
        assert!(Image::mount(dir.path(), 1).is_err());
        assert!(!dir.path().join("image").exists());
    }
}
