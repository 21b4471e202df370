//! Squid as an accelerator: settings, configuration, what it counts, what caps it. Of genkai's own making it stands before one origin,
//! in one process (`-N`); a user's configuration runs as a private copy. It is started, looked at and ended as every cache is
//! ([`crate::cache`]).

pub mod config;
mod evidence;
pub mod explain;
mod lifecycle;
mod limits;
mod private;
pub(crate) mod recipe;
mod render;
mod settings;

pub(crate) use lifecycle::{aufs, memory, rock, ufs};
pub use settings::SettingError;

use crate::product::{Entry, Likeness, Looks, Role};

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "squid",
    called: "Squid",
    program: ("squid", &["-v"]),
    role: Role::Cache,
    prepare: Some(recipe::prepare),
    explain: Some(explain::explain),
    looks,
    clamps: &[],
    unknown: "",
};

/// It has a port and who may use it.
fn looks(file: &Looks<'_>) -> Likeness {
    let words = ["http_port", "http_access", "cache_peer", "cache_mem", "cache_dir"];
    Likeness::text(file.begins(&words, &[';', '{']))
}
