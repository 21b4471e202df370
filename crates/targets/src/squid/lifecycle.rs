//! Set up: check, make the store, serve in the foreground.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use genkai_model::units::Bytes;

use super::config::Config;
use super::limits::Facts;
use super::private::Private;
use super::settings::{Settings, Store};
use super::{evidence, limits, render};
use crate::cache::counters::Counters;
use crate::cache::{Ground, Setup, listed};
use crate::error::TargetError;
use genkai_place::machine;

/// A file an object.
pub(crate) fn ufs(ground: &Ground<'_>) -> Result<Setup, TargetError> {
    setup(ground, Store::Ufs)
}

/// A file an object, by threads.
pub(crate) fn aufs(ground: &Ground<'_>) -> Result<Setup, TargetError> {
    setup(ground, Store::Aufs)
}

/// One file.
pub(crate) fn rock(ground: &Ground<'_>) -> Result<Setup, TargetError> {
    setup(ground, Store::Rock)
}

/// No disk.
pub(crate) fn memory(ground: &Ground<'_>) -> Result<Setup, TargetError> {
    setup(ground, Store::Memory)
}

fn setup(ground: &Ground<'_>, store: Store) -> Result<Setup, TargetError> {
    let in_memory = store == Store::Memory;
    let memory = if in_memory { ground.budget.memory } else { Bytes(0) };
    let settings = Settings { store, memory, disk: ground.budget.disk };
    let text = render::render(&settings, ground.listen, ground.origin, ground.dir);
    let file = ground.write("squid.conf", &text)?;
    let folder = ground.folder("store")?;
    let facts = Facts::of(&Config::of_text(&file, text.clone().into_bytes())?, machine::hard_descriptors());
    Ok(Setup {
        settings: listed(&text, ground.dir),
        limits: limits::of_accelerator(&facts),
        store: (!in_memory).then_some(folder),
        ..served(ground, &file, !in_memory, false)?
    })
}

/// A copy of a user's configuration, written and ready to be checked and served.
pub(super) struct Written {
    pub(super) setup: Setup,
    /// The copy.
    pub(super) configuration: PathBuf,
}

/// Of the user's configuration; `workers` is whether it has several.
pub(super) fn copied(ground: &Ground<'_>, private: &Private, workers: bool) -> Result<Written, TargetError> {
    let configuration = ground.write("squid.conf", &private.text)?;
    for store in &private.stores {
        std::fs::create_dir_all(store).map_err(TargetError::files(store))?;
    }
    let store = private.stores.first().cloned();
    Ok(Written {
        setup: Setup { store, ..served(ground, &configuration, !private.stores.is_empty(), workers)? },
        configuration,
    })
}

/// How it is checked and served: in one process, or with `workers` by a first one that stays in the foreground.
fn served(ground: &Ground<'_>, file: &Path, on_disk: bool, workers: bool) -> Result<Setup, TargetError> {
    // Names its shared memory, which other instances on the machine must not have; letters and digits only.
    let service = format!("genkai{}x{}", std::process::id(), ground.listen.port());
    let squid = |arguments: &[&str]| {
        let mut command = Command::new(ground.program);
        command.args(arguments).args(["-n", &service]).arg("-f").arg(file);
        command
    };
    let mut before = vec![squid(&["-k", "parse"])];
    if on_disk {
        before.push(squid(if workers { &["--foreground", "-z"] } else { &["-N", "-z"] }));
    }
    Ok(Setup {
        version: ground.version("-v", "Version ")?,
        before,
        // -F: it listens when its store is read, not before.
        serve: squid(if workers { &["--foreground", "-F"] } else { &["-N", "-F"] }),
        settings: Vec::new(),
        limits: Vec::new(),
        store: None,
        counters: Counters::Page { path: evidence::PAGE, read: evidence::counts, lag: Duration::ZERO },
        ready: None,
        shared: Some(service),
    })
}
