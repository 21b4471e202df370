//! Writing a change over the user's files: whole or not at all, with backups that no include takes in.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use genkai_targets::files::{Configuration, Requests};
use genkai_targets::nginx::config::Config;

use crate::nginx_configs::lay_out;

fn read(main: &Path) -> Config {
    Config::read(main, Path::new("/usr/share/nginx")).unwrap()
}

fn change(config: &Config, name: &str, value: &str) -> Config {
    config.set(name, value, &Requests::to("app.example.com", "/")).unwrap()
}

fn names(dir: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    names
}

#[test]
fn changed_files_are_replaced_and_the_old_ones_kept() {
    let dir = tempfile::tempdir().unwrap();
    let main = lay_out("debian", dir.path());
    let site = dir.path().join("sites-available/app");
    fs::set_permissions(&site, fs::Permissions::from_mode(0o640)).unwrap();
    let before = (fs::read(&main).unwrap(), fs::read(&site).unwrap());
    let config = read(&main);
    let edited = change(&change(&config, "worker_connections", "2048"), "listen.backlog", "99");
    let backups = config.write_back(&edited).unwrap();

    let files: Vec<_> = backups.iter().map(|b| b.file.clone()).collect();
    let real = |p: &Path| fs::canonicalize(p).unwrap();
    assert_eq!(files, [real(&main), real(&site)]);
    assert_eq!(fs::read(&backups[0].backup).unwrap(), before.0);
    assert_eq!(fs::read(&backups[1].backup).unwrap(), before.1);
    assert!(fs::read_to_string(&main).unwrap().contains("worker_connections 2048;"));
    assert!(fs::read_to_string(&site).unwrap().contains("listen 80 backlog=99;"));
    assert!(dir.path().join("sites-enabled/app").is_symlink(), "the symlink stays one");
    assert_eq!(fs::metadata(&site).unwrap().permissions().mode() & 0o7777, 0o640);
    assert_eq!(fs::metadata(&site).unwrap().nlink(), 1);
    // The backups lie beside the files and `include sites-enabled/*` must not see them.
    assert!(read(&main).files().all(|(_, f)| !f.path.to_string_lossy().contains("genkai-")));
    assert_eq!(backups[1].backup.parent(), real(&site).parent());
    assert_eq!(read(&main), edited);
}

#[test]
fn owners_are_kept() {
    if !nix::unistd::geteuid().is_root() {
        return genkai_tidy::noted::skipped("only root can give a file away");
    }
    let dir = tempfile::tempdir().unwrap();
    let main = lay_out("unended", dir.path());
    std::os::unix::fs::chown(&main, Some(65534), Some(65534)).unwrap();
    let config = read(&main);
    config.write_back(&change(&config, "worker_connections", "2048")).unwrap();
    let meta = fs::metadata(&main).unwrap();
    assert_eq!((meta.uid(), meta.gid()), (65534, 65534));
}

#[test]
fn nothing_is_written_when_nothing_differs() {
    let dir = tempfile::tempdir().unwrap();
    let config = read(&lay_out("unended", dir.path()));
    let before = names(dir.path());
    assert_eq!(config.write_back(&config).unwrap(), []);
    assert_eq!(names(dir.path()), before);
}

#[test]
fn a_file_that_changed_meanwhile_is_left_alone_and_so_are_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let main = lay_out("debian", dir.path());
    let config = read(&main);
    let edited = change(&change(&config, "worker_connections", "2048"), "listen.backlog", "99");
    let site = dir.path().join("sites-available/app");
    fs::write(&site, "# somebody else was here\n").unwrap();
    let before = (fs::read(&main).unwrap(), names(dir.path()), names(&dir.path().join("sites-available")));
    let error = config.write_back(&edited).unwrap_err().to_string();
    assert!(error.contains("sites-available/app was changed by somebody else"), "{error}");
    assert_eq!((fs::read(&main).unwrap(), names(dir.path()), names(&dir.path().join("sites-available"))), before);
}

#[test]
fn a_file_with_other_names_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let main = lay_out("unended", dir.path());
    fs::hard_link(&main, dir.path().join("other")).unwrap();
    let config = read(&main);
    let error = config.write_back(&change(&config, "worker_connections", "2048")).unwrap_err().to_string();
    assert!(error.contains("has 2 hard links"), "{error}");
    assert_eq!(read(&main), config);
}

#[test]
fn a_folder_that_cannot_be_written_leaves_all_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let main = lay_out("unended", dir.path());
    let config = read(&main);
    let edited = change(&config, "worker_connections", "2048");
    // Root may write anywhere, so the name is made too long for what is written beside it.
    let long = dir.path().join("x".repeat(240));
    fs::rename(&main, &long).unwrap();
    let config = read(&long);
    assert_eq!(config.files().count(), edited.files().count());
    let edited = change(&config, "worker_connections", "2048");
    let error = config.write_back(&edited).unwrap_err().to_string();
    assert!(error.contains("cannot replace") && error.contains("no file was changed"), "{error}");
    assert_eq!(read(&long), config);
}
