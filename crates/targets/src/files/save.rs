//! Writing a changed configuration over the user's files: whole or not at all, with backups.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::Pair;
use crate::error::Cause;

/// A file that was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// The file, symlinks resolved.
    pub file: PathBuf,
    /// Its old content, beside it. Its name begins with a dot, so that no `include dir/*` takes it in.
    pub backup: PathBuf,
}

/// Files that could not be replaced. Those that were before the failure were put back.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Somebody else wrote it meanwhile.
    #[error("{} was changed by somebody else since it was read; nothing was written, run again", .0.display())]
    Changed(PathBuf),
    /// It has other names, which would keep the old content.
    #[error("{} has {links} hard links, and replacing it would part them; nothing was written, apply the diff by hand", file.display())]
    Linked {
        /// The file.
        file: PathBuf,
        /// How many names it has.
        links: u64,
    },
    /// The system refused.
    #[error("cannot replace {}: {source}; no file was changed", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The system's words.
        source: io::Error,
    },
}

impl Cause for SaveError {
    const PRODUCT: &'static str = "";

    /// The files changed under it, or the system refuses.
    fn is_usage(&self) -> bool {
        false
    }
}

/// A file ready to be replaced.
struct Staged {
    file: PathBuf,
    backup: PathBuf,
    /// The new content, beside the file. Removed when not renamed.
    new: PathBuf,
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Gone already when it was renamed into place.
        let _ = fs::remove_file(&self.new);
    }
}

/// Replaces the files that differ. Each is written beside its place with the same mode and owner, flushed to disk and
/// renamed over it; the old content stays in a backup. Symlinks are followed.
///
/// # Errors
/// When a file changed since it was read, or cannot be replaced; then all files are as they were.
pub fn write_back<'a>(pairs: impl IntoIterator<Item = Pair<'a>>) -> Result<Vec<Backup>, SaveError> {
    let stamp = stamp(SystemTime::now());
    let mut staged = Vec::new();
    for pair in pairs.into_iter().filter(|pair| pair.before != pair.after) {
        let io = |source| SaveError::Io { file: pair.real.to_owned(), source };
        staged.push(stage(pair.real, pair.before, pair.after, &stamp).map_err(io)??);
    }
    let mut done: Vec<Backup> = Vec::new();
    for one in &staged {
        done.push(Backup { file: one.file.clone(), backup: one.backup.clone() });
        if let Err(source) = commit(one) {
            done.iter().for_each(put_back);
            return Err(SaveError::Io { file: one.file.clone(), source });
        }
    }
    Ok(done)
}

/// Checks the file and writes the new content beside it.
fn stage(file: &Path, old: &[u8], new: &[u8], stamp: &str) -> io::Result<Result<Staged, SaveError>> {
    if fs::read(file)? != old {
        return Ok(Err(SaveError::Changed(file.to_owned())));
    }
    let meta = fs::metadata(file)?;
    if meta.nlink() > 1 {
        return Ok(Err(SaveError::Linked { file: file.to_owned(), links: meta.nlink() }));
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = |kind: &str| file.with_file_name(format!(".{name}.genkai-{stamp}.{kind}"));
    let staged = Staged { file: file.to_owned(), backup: beside("bak"), new: beside("new") };
    write(&staged.new, new, &meta)?;
    Ok(Ok(staged))
}

/// A new file with the mode and owner of another, on disk.
fn write(path: &Path, content: &[u8], like: &fs::Metadata) -> io::Result<()> {
    let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    out.write_all(content)?;
    let own = out.metadata()?;
    if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
        fchown(&out, Some(like.uid()), Some(like.gid()))?;
    }
    out.set_permissions(like.permissions())?;
    out.sync_all()
}

fn commit(staged: &Staged) -> io::Result<()> {
    // The backup is a second name of the old content, which the rename then leaves alone with it.
    if fs::hard_link(&staged.file, &staged.backup).is_err() {
        write(&staged.backup, &fs::read(&staged.file)?, &fs::metadata(&staged.file)?)?;
    }
    fs::rename(&staged.new, &staged.file)?;
    File::open(staged.file.parent().unwrap_or(Path::new("/")))?.sync_all()
}

/// Best effort: where it fails, the content is still in the backup.
fn put_back(backup: &Backup) {
    // Where both are names of the same content (the new one never came), rename does nothing and one name goes.
    if fs::rename(&backup.backup, &backup.file).is_ok() {
        let _ = fs::remove_file(&backup.backup);
    }
}

/// `20260801T120000.123456Z`, by the proleptic Gregorian calendar (H. Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", civil_from_days).
fn stamp(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let z = days + 719_468;
    let era = z / 146_097;
    let doe = z % 146_097;
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + u64::from(month <= 2);
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}{month:02}{day:02}T{h:02}{m:02}{s:02}.{:06}Z", since.subsec_micros())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_stamp_is_the_date() {
        let at = |s| stamp(UNIX_EPOCH + Duration::from_secs(s));
        assert_eq!(at(0), "19700101T000000.000000Z");
        assert_eq!(at(951_827_696), "20000229T123456.000000Z");
        assert_eq!(at(1_798_761_599), "20261231T235959.000000Z");
    }
}
