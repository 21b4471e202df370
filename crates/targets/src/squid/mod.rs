//! Squid as an accelerator: settings, configuration, what it counts, what caps it. Of genkai's own making it stands before one origin,
//! in one process (`-N`); a user's configuration runs as a private copy. It is started, looked at and ended as every cache is
//! ([`crate::cache`]).

mod access;
mod apply;
mod by_port;
pub mod config;
mod evidence;
pub mod explain;
mod lifecycle;
mod limits;
mod looks;
mod peers;
mod private;
mod product;
mod removable;
mod replies;
mod settings;
mod sockets;
mod too_many;

pub(crate) use lifecycle::{Store, setup};
pub(crate) use product::{ENTRY, LOOKUP};
