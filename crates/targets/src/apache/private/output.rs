//! Everything that httpd writes goes into the private folder.

use std::path::Path;

use super::changes::Changes;
use crate::apache::config::{Config, Found};
use crate::files::{CopyError, alike};

/// Directives that name one file or folder to write, with its position among the arguments and the subfolder it gets.
const WRITTEN: &[(&str, usize, &str)] = &[
    ("customlog", 0, "logs"),
    ("transferlog", 0, "logs"),
    ("globallog", 0, "logs"),
    ("forensiclog", 0, "logs"),
    ("scriptlog", 0, "logs"),
    ("rewritelog", 0, "logs"),
    ("secauditlog", 0, "logs"),
    ("secdebuglog", 0, "logs"),
    ("cacheroot", 0, "cache"),
    ("cachelockpath", 0, "cache"),
    ("coredumpdirectory", 0, "cache"),
    ("davlockdb", 0, "cache"),
    ("mdstoredir", 0, "cache"),
    ("scriptsock", 0, "run"),
    ("scoreboardfile", 0, "run"),
];

/// Directives that the copy's own frame decides.
const DROPPED: &[&str] = &["pidfile", "errorlog", "errorlogformat", "defaultruntimedir", "lockfile", "chrootdir"];

/// Directives with `PROVIDER:PATH` or `PROVIDER:PATH(SIZE)`.
const SHARED: &[&str] = &["mutex", "sslsessioncache", "sslstaplingcache", "cachesocache", "authnsocachesocache"];

/// Levels that show less than `warn` does.
const QUIETER: [&str; 4] = ["error", "crit", "alert", "emerg"];

pub(super) fn redirect(config: &Config, changes: &mut Changes<'_>, root: bool) {
    for found in config.found().iter().filter(|f| !f.section) {
        one(changes, found, root);
    }
}

/// Folders that the directives name and httpd does not make itself (mod_cache_disk makes those below its `CacheRoot`, as the user of its children).
pub(super) fn rooms(config: &Config, changes: &mut Changes<'_>) -> Result<(), CopyError> {
    let inside = WRITTEN.iter().filter(|(.., folder)| *folder == "cache");
    let named = |found: &&Found| !found.section && inside.clone().any(|(name, ..)| *name == found.name);
    for own in config.found().iter().filter(named).filter_map(|found| found.arg(0)) {
        alike(Path::new(own), &changes.path("cache", own))?;
    }
    Ok(())
}

fn one(changes: &mut Changes<'_>, found: &Found, root: bool) {
    let name = found.name.as_str();
    if DROPPED.contains(&name) || (!root && matches!(name, "user" | "group")) {
        changes.drop(found);
    } else if let Some((_, index, folder)) = WRITTEN.iter().find(|(n, ..)| *n == name) {
        let Some(path) = found.arg(*index).map(str::to_owned) else { return };
        // Pipes and syslog become files, too.
        let new = changes.path(folder, &path);
        changes.set_one(found, *index, new.to_string_lossy().into_owned());
    } else if SHARED.contains(&name) {
        shared(changes, found);
    } else if name == "loglevel" && found.arg(0).is_some_and(|l| QUIETER.contains(&l.to_ascii_lowercase().as_str())) {
        changes.set_one(found, 0, "warn".to_owned());
    }
}

fn shared(changes: &mut Changes<'_>, found: &Found) {
    let Some((provider, rest)) = found.arg(0).and_then(|a| a.split_once(':')) else { return };
    let (path, size) = match rest.find('(') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let new = if found.name == "mutex" { changes.dir.join("locks") } else { changes.path("run", path) };
    changes.set_one(found, 0, format!("{provider}:{}{size}", new.display()));
}
