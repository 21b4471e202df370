//! Apache httpd: read, edit and render its configuration, run it in a private copy, watch it, know its limits.

pub(crate) mod cache;
pub mod config;
mod error;
pub mod evidence;
pub mod explain;
pub mod lifecycle;
pub mod limits;
mod prepared;
pub mod private;
pub mod route;
pub mod settings;

pub use error::ApacheError;
pub use lifecycle::Running;
pub use prepared::Apache;
#[cfg(test)]
pub(crate) use prepared::CLAMPS;
