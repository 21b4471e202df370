//! Caddy: the user's Caddyfile read and edited in place, run privately, watched through its administration endpoint and its log,
//! its limits.

mod by_port;
pub mod config;
mod errors;
pub mod evidence;
mod explain;
mod lifecycle;
pub mod limits;
mod looks;
mod private;
mod product;
mod removable;
pub mod route;
mod secured;
pub mod settings;

pub use product::Caddy;
pub(crate) use product::ENTRY;

/// What people call it.
pub(crate) const CALLED: &str = "Caddy";
