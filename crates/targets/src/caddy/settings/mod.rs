//! Settings by name: what each accepts, its default and where that comes from, and how it is written into a Caddyfile.

mod apply;
mod registry;
mod render;
pub mod value;

pub(crate) use apply::{in_force, is_had};
pub use registry::*;
pub use render::render;
pub(crate) use render::secured_by;

/// A setting that genkai knows.
pub type Setting = crate::settings::Setting<Place>;

pub use crate::files::SettingError;

/// Where a setting belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The global options.
    Options,
    /// Beside the `reverse_proxy`, in the site or in the `handle` around it.
    Site,
    /// The block of the `reverse_proxy`.
    Proxy,
}
