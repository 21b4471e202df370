//! Programs that are installed: where they are, and the numbers of a version.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where distributions put programs, searched after `PATH`: an ordinary user's often lacks the folders for administrators.
const SYSTEM: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The search path of this process and, after it, the folders in which distributions put programs; colon-separated.
pub fn search_path() -> String {
    match std::env::var("PATH") {
        Ok(path) if !path.is_empty() => format!("{path}:{SYSTEM}"),
        _ => SYSTEM.to_owned(),
    }
}

/// The program of this name in `PATH` or where distributions put it.
pub fn find(name: &str) -> Option<PathBuf> {
    find_also_in(name, &[])
}

/// The same, searched in `more` folders after those.
pub fn find_also_in(name: &str, more: &[&str]) -> Option<PathBuf> {
    find_in(&[&[search_path().as_str()], more].concat().join(":"), name)
}

/// The program of this name in one of the absolute folders of `path` (colon-separated), in their order.
pub fn find_in(path: &str, name: &str) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| is_executable(file))
}

/// `name`, or else the `nameX.Y` with the highest version.
pub fn versioned(path: &str, name: &str) -> Option<PathBuf> {
    find_in(path, name).or_else(|| {
        let mut found: Vec<((u32, u32), PathBuf)> = std::env::split_paths(path)
            .filter_map(|folder| std::fs::read_dir(folder).ok())
            .flat_map(|entries| entries.flatten())
            .filter_map(|entry| Some((version(entry.file_name().to_str()?.strip_prefix(name)?)?, entry.path())))
            .filter(|(_, path)| is_executable(path))
            .collect();
        found.sort();
        found.pop().map(|(_, path)| path)
    })
}

/// Major and minor of what stands behind a name: `8.2`.
pub fn version(suffix: &str) -> Option<(u32, u32)> {
    let (major, minor) = suffix.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether it is a file that may be executed.
pub fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Major, minor, patch of a version; zeros where it does not say.
pub fn numbers(version: &str) -> (u32, u32, u32) {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executables_of_absolute_folders_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("nginx");
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        let path = dir.path().to_str().unwrap();
        assert_eq!(find_in(path, "nginx"), None, "not executable yet");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find_in(&format!("relative:{path}"), "nginx"), Some(file.clone()));
        assert_eq!(find_also_in("no-such-program", &[path]), None);
        assert_eq!(find("sh").map(|sh| is_executable(&sh)), Some(true));
    }

    #[test]
    fn a_version_has_three_numbers() {
        assert_eq!((numbers("1.22.1"), numbers("2.6-dev"), numbers("")), ((1, 22, 1), (2, 6, 0), (0, 0, 0)));
    }
}
