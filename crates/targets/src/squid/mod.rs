//! Squid as an accelerator before one origin: settings, configuration, what it counts, what caps it. It runs as one process (`-N`), and is
//! started, looked at and ended as every cache is ([`crate::cache`]).

mod config;
mod evidence;
mod lifecycle;
mod limits;
mod settings;

pub(crate) use lifecycle::{aufs, memory, rock, ufs};
