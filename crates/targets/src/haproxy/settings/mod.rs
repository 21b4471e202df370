//! Settings by name: what each accepts, its default and where that comes from, and how it is written into a configuration.

mod apply;
mod registry;
mod render;
pub mod value;

pub(crate) use apply::{in_force, written, written_in};
pub use registry::*;
pub use render::render;

pub use crate::files::SettingError;

/// A setting that genkai knows.
pub type Setting = crate::settings::Setting<Context>;

/// Where a setting belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// `global`.
    Global,
    /// The section that takes the connections, or its `defaults`.
    Front,
    /// The section with the servers, or its `defaults`.
    Back,
    /// A parameter of every `server` of the backend.
    Server,
}
