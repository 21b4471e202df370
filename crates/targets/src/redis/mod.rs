//! A private Redis as a participant of a run: the backplane over which nodes share rooms. Nothing is kept on disk.

mod asked;
pub mod config;
mod evidence;
pub mod explain;
mod given;
mod info;
mod lifecycle;
mod limits;
mod line;
mod looks;
mod private;
mod refusals;
mod serving;
mod settings;

pub use given::check;
pub use lifecycle::Redis;

use crate::product::{Entry, Role};

/// What people call it.
pub(crate) const CALLED: &str = "Redis";

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "redis",
    called: CALLED,
    program: ("redis-server", &["--version"]),
    role: Role::Behind(Some((serving::serves, Some(private::twin)))),
    prepare: None,
    explain: Some(explain::explain),
    ask: None,
    looks: looks::LOOKS,
    clamps: &[],
    unknown: "",
    leaves_out: false,
};
