//! Set up: check, make the store, serve in the foreground.

use std::process::Command;
use std::time::Duration;

use genkai_model::units::Bytes;

use super::settings::{Settings, Store};
use super::{config, evidence, limits};
use crate::cache::counters::Counters;
use crate::cache::{CacheError, Ground, Setup, listed};
use crate::local::machine;

/// A file an object.
pub(crate) fn ufs(ground: &Ground<'_>) -> Result<Setup, CacheError> {
    setup(ground, Store::Ufs)
}

/// A file an object, by threads.
pub(crate) fn aufs(ground: &Ground<'_>) -> Result<Setup, CacheError> {
    setup(ground, Store::Aufs)
}

/// One file.
pub(crate) fn rock(ground: &Ground<'_>) -> Result<Setup, CacheError> {
    setup(ground, Store::Rock)
}

/// No disk.
pub(crate) fn memory(ground: &Ground<'_>) -> Result<Setup, CacheError> {
    setup(ground, Store::Memory)
}

fn setup(ground: &Ground<'_>, store: Store) -> Result<Setup, CacheError> {
    let in_memory = store == Store::Memory;
    let memory = if in_memory { ground.budget.memory } else { Bytes(0) };
    let settings = Settings { store, memory, disk: ground.budget.disk };
    let text = config::render(&settings, ground.listen, ground.origin, ground.dir);
    let file = ground.write("squid.conf", &text)?;
    let folder = ground.folder("store")?;
    // Names its shared memory, which other instances on the machine must not have; letters and digits only.
    let service = format!("genkai{}x{}", std::process::id(), ground.listen.port());
    let squid = |arguments: &[&str]| {
        let mut command = Command::new(ground.program);
        command.args(arguments).args(["-n", &service]).arg("-f").arg(&file);
        command
    };
    let mut before = vec![squid(&["-k", "parse"])];
    if !in_memory {
        before.push(squid(&["-N", "-z"]));
    }
    Ok(Setup {
        version: ground.version("-v", "Version ")?,
        before,
        // -F: it listens when its store is read, not before.
        serve: squid(&["-N", "-F"]),
        settings: listed(&text, ground.dir),
        limits: limits::of(&settings, machine::hard_descriptors()),
        store: (!in_memory).then_some(folder),
        counters: Counters::Page { path: evidence::PAGE, read: evidence::counts, lag: Duration::ZERO },
        ready: None,
        shared: Some(service),
    })
}
