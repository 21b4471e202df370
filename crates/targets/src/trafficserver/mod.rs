//! Apache Traffic Server as a reverse proxy: settings, configuration, what it counts, what caps it. Of genkai's own making it stands before
//! one origin; a user's configuration folder runs as a private copy. Its private folder is a run root of its own; it is started, looked at
//! and ended as every cache is ([`crate::cache`]).

mod evidence;
mod lifecycle;
mod limits;
mod plugins;
mod private;
mod product;
mod records;
mod render;

pub(crate) use lifecycle::setup;
pub(crate) use product::{ENTRY, LOOKUP};
