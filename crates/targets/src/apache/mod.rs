//! Apache httpd: read, edit and render its configuration, run it in a private copy, watch it, know its limits.

mod answers;
mod by_port;
pub(crate) mod cache;
pub mod config;
pub mod evidence;
pub mod explain;
mod handler;
pub mod lifecycle;
pub mod limits;
mod located;
mod looks;
pub mod origin;
mod overrides;
mod passed;
pub mod private;
mod product;
mod removable;
pub mod route;
mod secured;
pub mod settings;
mod standing;
mod within;

pub use product::Apache;
pub(crate) use product::ENTRY;

/// What people call it.
pub(crate) const CALLED: &str = "Apache";
