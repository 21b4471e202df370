//! Apache Traffic Server as a reverse proxy: settings, configuration, what it counts, what caps it. Of genkai's own making it stands before
//! one origin; a user's configuration folder runs as a private copy. Its private folder is a run root of its own; it is started, looked at
//! and ended as every cache is ([`crate::cache`]).

mod evidence;
mod lifecycle;
mod limits;
mod plugins;
mod private;
pub(crate) mod recipe;
mod records;
mod render;
mod settings;

pub(crate) use lifecycle::setup;

use crate::product::{Entry, Likeness, Looks, Role};

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "trafficserver",
    called: "Traffic Server",
    program: ("traffic_server", &[]),
    role: Role::Cache,
    prepare: Some(recipe::prepare),
    explain: None,
    looks,
    clamps: &[],
    unknown: "",
};

/// Its files have names of their own.
fn looks(file: &Looks<'_>) -> Likeness {
    let named = if file.path.is_dir() { recipe::is(file.path) } else { file.name() == recipe::RECORDS };
    if named { Likeness::Name } else { Likeness::None }
}
