//! The nginx settings genkai may change: what each accepts, where it goes, its default and where that is written down.
//!
//! A name is the directive's, with the block in front where that is needed to tell it apart (`listen.backlog`,
//! `upstream.keepalive`). Those that come several times are told apart by their zone: `limit_conn.perip`.

mod apply;
mod lookup;
mod place;
mod registry;
mod render;
pub mod value;

pub(in crate::nginx) use apply::in_force;
pub use lookup::{Named, check, lookup};
pub use registry::*;
pub use render::render;

pub use crate::files::SettingError;

/// Where a setting is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// The main context.
    Main,
    /// `events`.
    Events,
    /// `http`, and each `server` and `location` may have its own.
    Http,
    /// `http` only: the declaration of a shared zone.
    HttpZone,
    /// `http`, `server` and `location`; several at once, one for each zone.
    Zone,
    /// A parameter of `listen`.
    Listen,
    /// `upstream`.
    Upstream,
    /// A parameter of each `server` in `upstream`.
    UpstreamServer,
}

/// A setting that genkai knows.
pub type Setting = crate::settings::Setting<Context>;
