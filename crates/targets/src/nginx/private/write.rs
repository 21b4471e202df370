//! The copies on disk: flat names, includes pointing to them, readable by their owner only.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use genkai_model::event::Rewrite;

use super::changes::Changes;
use crate::files::CopyError;
use crate::files::{folders, numbered, save};
use crate::nginx::config::{Config, Directive, Edit, File, FileId, lexer};

/// Subfolders: copies, access logs, temporary files, caches, Unix sockets.
const FOLDERS: [&str; 5] = ["conf", "logs", "temp", "cache", "sockets"];

/// Refuses a folder whose name nginx would read as something else.
pub(super) fn check(dir: &Path) -> Result<(), CopyError> {
    let odd = |b: &u8| b"$*?[".contains(b) || b.is_ascii_control();
    if dir.is_absolute() && !dir.as_os_str().as_bytes().iter().any(odd) {
        return Ok(());
    }
    Err(CopyError::Refused(format!(
        "{}: a folder for nginx must be absolute and without $ * ? [ and control characters; choose another",
        dir.display()
    )))
}

/// Where the copy of each file is: the main one by its usual name, the others numbered, as names may be alike.
fn copies(config: &Config, dir: &Path) -> Vec<(PathBuf, PathBuf)> {
    let copy = |(id, file): (FileId, &File)| {
        let copy = if id == FileId::MAIN { dir.join("nginx.conf") } else { numbered(dir, id, file) };
        (copy, file.path.clone())
    };
    config.files().map(copy).collect()
}

/// What was written.
pub(super) struct Written {
    /// Everything that differs, each once.
    pub(super) rewrites: Vec<Rewrite>,
    /// Each copy with its original, the main one first.
    pub(super) files: Vec<(PathBuf, PathBuf)>,
}

/// Writes every file with its changes.
pub(super) fn write(config: &Config, mut changes: Changes<'_>, dir: &Path) -> Result<Written, CopyError> {
    let copies = copies(config, dir);
    for (id, file) in config.files() {
        if file.text.starts_with(b"\xEF\xBB\xBF") {
            // nginx takes the byte order mark for a part of the first word.
            changes.list(Rewrite { from: "U+FEFF".into(), to: String::new(), place: file.place(0) });
            changes.keep(Edit::new(id, &(0..3), ""));
        }
        includes(config, &file.tree, &mut |directive, targets| {
            let paths = targets.iter().map(|t| copies[t.0].0.as_os_str().as_bytes());
            let texts: Vec<_> = paths.map(|p| [b"include ", &*lexer::quote(p), b";"].concat()).collect();
            changes.keep(Edit::new(id, &directive.span, texts.join(&b' ')));
        });
    }
    folders(dir, &FOLDERS)?;
    for ((id, file), (copy, _)) in config.files().zip(&copies) {
        let text = config.edited_text(id, &changes.edits)?;
        save(copy, text.as_deref().unwrap_or(&file.text))?;
    }
    Ok(Written { rewrites: changes.rewrites, files: copies })
}

fn includes(config: &Config, directives: &[Directive], found: &mut dyn FnMut(&Directive, &[FileId])) {
    for directive in directives {
        if directive.is("include") && directive.args().len() == 1 && !directive.is_block() {
            found(directive, config.included(directive));
        }
        includes(config, directive.directives(), found);
    }
}
