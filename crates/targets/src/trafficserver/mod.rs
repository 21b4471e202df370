//! Apache Traffic Server as a reverse proxy before one origin: settings, configuration, what it counts, what caps it. Its private folder is
//! a run root of its own; it is started, looked at and ended as every cache is ([`crate::cache`]).

mod config;
mod evidence;
mod lifecycle;
mod limits;
mod settings;

pub(crate) use lifecycle::setup;
