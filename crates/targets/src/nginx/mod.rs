//! nginx: read, edit and render its configuration, run it in a private copy, watch it, know its limits.

mod answers;
mod by_port;
pub(crate) mod cache;
pub mod config;
mod contained;
mod entered;
pub mod evidence;
pub mod explain;
pub(crate) mod lifecycle;
pub mod limits;
mod looks;
mod passed;
pub mod private;
mod product;
pub mod remote;
mod removable;
pub(crate) mod router;
mod scripts;
mod secured;
pub mod settings;
mod standing;
mod uncounted;

use crate::error::TargetError;

pub use crate::files::Backup;
/// A running nginx.
pub type Running = genkai_place::running::Running<evidence::Watch>;
pub use product::{Nginx, facts};

pub use crate::product::Prepare;
pub(crate) use contained::INSIDE;
pub(crate) use product::ENTRY;
pub(crate) use standing::serves;

/// What people call it.
pub(crate) const CALLED: &str = "nginx";

/// There is nothing to send requests to.
fn no_server() -> TargetError {
    TargetError::usage(CALLED, "the configuration has no server of `http` that listens on a TCP port")
}
