//! What an `Include` names: a file, all of a folder, or what a pattern matches, in httpd's order (server/config.c:
//! `ap_process_resource_config`, `ap_process_fnmatch_configs`).

use std::fs;
use std::path::{Path, PathBuf};

use crate::files::read::glob;

/// Folders within folders that are followed (`AP_MAX_INCLUDE_DIR_DEPTH`, server/config.c).
const MAX_FOLDERS: usize = 20;

/// The files that `name` (already absolute) stands for.
///
/// # Errors
/// In words, when it names nothing or a folder cannot be read.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    let pattern = path.to_string_lossy().bytes().any(|b| b"*?[".contains(&b));
    let mut out = Vec::new();
    if pattern {
        let found = glob(path).ok_or("a folder on the way cannot be read")?;
        if found.is_empty() {
            return Err("no file matches".to_owned());
        }
        for path in found {
            whole(&path, 0, &mut out)?;
        }
    } else {
        whole(path, 0, &mut out)?;
    }
    Ok(out)
}

/// A file itself, or all files of a folder and its subfolders by name.
fn whole(path: &Path, depth: usize, out: &mut Vec<PathBuf>) -> Result<(), String> {
    if !path.is_dir() {
        fs::metadata(path).map_err(|e| e.to_string())?;
        out.push(path.to_owned());
        return Ok(());
    }
    if depth == MAX_FOLDERS {
        return Err(format!("folders are nested more than {MAX_FOLDERS} deep"));
    }
    let list = fs::read_dir(path).map_err(|e| e.to_string())?;
    let mut names: Vec<PathBuf> = list.flatten().map(|entry| entry.path()).collect();
    names.sort();
    names.iter().try_for_each(|name| whole(name, depth + 1, out))
}
