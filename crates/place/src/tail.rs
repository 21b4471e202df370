//! Following a log file while a server writes it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Read at most so much a call: at five calls a second 40 MB of log a second, beyond which a disk is the limit anyway.
const CHUNK: u64 = 8 << 20;
/// A line is cut after so many bytes.
const LINE: usize = 4096;

/// A log file, read from where it was opened. It need not exist yet.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    file: Option<File>,
    /// The beginning of a line whose end has not been written.
    partial: Vec<u8>,
}

impl Tail {
    /// Follows a log from its present end; one that does not exist is followed from its beginning once it does.
    pub fn open(path: impl Into<PathBuf>) -> Tail {
        let path = path.into();
        let file = open(&path).ok().and_then(|mut file| file.seek(SeekFrom::End(0)).is_ok().then_some(file));
        Tail { path, file, partial: Vec::new() }
    }

    /// Complete lines written since the last call, at most 8 MiB of them (the rest comes with the next call). Control
    /// characters and invalid UTF-8 are replaced by U+FFFD, lines are cut after 4096 bytes. Empty when nothing is new
    /// or the file cannot be read.
    pub fn lines(&mut self) -> Vec<String> {
        if self.file.is_none() {
            self.file = open(&self.path).ok();
        }
        let Some(file) = &mut self.file else { return Vec::new() };
        let mut bytes = std::mem::take(&mut self.partial);
        if file.take(CHUNK).read_to_end(&mut bytes).is_err() && bytes.is_empty() {
            return Vec::new();
        }
        let end = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
        self.partial = bytes.split_off(end);
        // A line that never ends must not grow for ever: what it is cut to is kept already.
        self.partial.truncate(LINE);
        bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty()).map(clean).collect()
    }
}

/// Opens a log that somebody else writes. Only a regular file is one: a terminal or a pipe would be waited for, and what is read from it is lost to
/// others.
///
/// # Errors
/// When it cannot be opened, is no regular file, or is a name that means another file for each process (`/dev/stderr`, `/proc/self/fd/2`).
pub fn open(path: &Path) -> io::Result<File> {
    if is_of_each_process(path) {
        return Err(io::Error::other("it is another file for each process"));
    }
    let irregular = || io::Error::other("it is no regular file");
    if !std::fs::metadata(path)?.is_file() {
        return Err(irregular());
    }
    // Should it be a named pipe by now, that is not waited for.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
}

/// Whether it is, by itself or by a link that it leads to, a name of a descriptor of whoever opens it.
fn is_of_each_process(path: &Path) -> bool {
    let mut path = path.to_owned();
    // As many as the kernel follows (path_resolution(7)).
    for _ in 0..40 {
        let own = ["/proc/self", "/proc/thread-self", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd"];
        if own.iter().any(|begin| path.starts_with(begin)) {
            return true;
        }
        let Ok(to) = path.read_link() else { return false };
        path = path.parent().unwrap_or(Path::new("/")).join(to);
    }
    true
}

/// The end of a file: its last lines within `bytes`, cleaned as [`Tail::lines`] does; empty when it cannot be read.
pub fn last(path: &Path, bytes: u64) -> String {
    let read = || -> std::io::Result<(Vec<u8>, bool)> {
        let mut file = File::open(path)?;
        let from = file.metadata()?.len().saturating_sub(bytes);
        file.seek(SeekFrom::Start(from))?;
        let mut text = Vec::new();
        file.take(bytes).read_to_end(&mut text)?;
        Ok((text, from > 0))
    };
    let Ok((text, cut)) = read() else { return String::new() };
    let lines = text.split(|&b| b == b'\n').skip(usize::from(cut)).filter(|line| !line.is_empty());
    lines.map(clean).collect::<Vec<_>>().join("\n")
}

/// Text of others that is safe to print: one line, no control characters, bounded.
pub fn clean(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = String::from_utf8_lossy(&line[..line.len().min(LINE)]);
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    fn log() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("error.log");
        (dir, path)
    }

    fn append(path: &Path, text: &[u8]) {
        OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(text).unwrap();
    }

    #[test]
    fn new_whole_lines_once_each() {
        let (_dir, path) = log();
        let mut tail = Tail::open(&path);
        assert!(tail.lines().is_empty());
        append(&path, b"one\ntwo\nthr");
        assert_eq!(tail.lines(), ["one", "two"]);
        append(&path, b"ee\r\n\n");
        assert_eq!(tail.lines(), ["three"]);
        assert!(tail.lines().is_empty());
    }

    #[test]
    fn what_was_there_before_is_not_new() {
        let (_dir, path) = log();
        append(&path, b"old\n");
        let mut tail = Tail::open(&path);
        append(&path, b"new\n");
        assert_eq!(tail.lines(), ["new"]);
    }

    #[test]
    fn only_regular_files_are_followed() {
        let (_dir, path) = log();
        // Waits for nobody: neither a pipe nor what is another file for each process is opened.
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(open(&path).is_err() && Tail::open(&path).lines().is_empty());
        let link = path.with_extension("link");
        std::os::unix::fs::symlink("/dev/stderr", &link).unwrap();
        for own in [&*link, Path::new("/proc/self/fd/2"), Path::new("/dev/stdout"), Path::new("/dev/null")] {
            assert!(open(own).is_err(), "{}", own.display());
        }
        std::fs::remove_file(&path).unwrap();
        append(&path, b"one\n");
        assert!(open(&path).is_ok());
    }

    #[test]
    fn hostile_bytes_are_harmless() {
        let (_dir, path) = log();
        let mut tail = Tail::open(&path);
        append(&path, b"a\x1b[31mred\x07\xff\xfe\tb\n");
        assert_eq!(tail.lines(), ["a\u{fffd}[31mred\u{fffd}\u{fffd}\u{fffd}\tb"]);
        append(&path, &[b'x'; 100_000]);
        assert!(tail.lines().is_empty());
        append(&path, &[b'y'; 100_000]);
        assert!(tail.lines().is_empty());
        append(&path, b"\nnext\n");
        let lines = tail.lines();
        assert_eq!(lines[0].len(), LINE);
        assert_eq!(lines[1], "next");
    }

    #[test]
    fn last_lines_are_whole() {
        let (_dir, path) = log();
        assert_eq!(last(&path, 10), "");
        append(&path, b"first line\nsecond\nthird\n");
        assert_eq!(last(&path, 16), "second\nthird");
        assert_eq!(last(&path, 1000), "first line\nsecond\nthird");
    }
}
