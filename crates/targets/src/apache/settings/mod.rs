//! Settings by name: what each accepts, its default and where that comes from, and how it is written into a configuration.

mod apply;
mod registry;
mod render;
pub mod value;

pub(crate) use apply::in_force;
use registry::directives;
pub use registry::*;
pub use render::{Rendering, render};
pub(crate) use render::{UNVERIFIED, named};

pub use crate::files::SettingError;

/// A setting that genkai knows.
pub type Setting = crate::settings::Setting<Context>;

/// Where a setting belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// The whole server.
    Server,
    /// The server or a virtual host.
    Host,
    /// The server, a virtual host or a `Location`.
    Path,
    /// A `key=value` of the `ProxyPass` that holds the path.
    Pass,
    /// A variable of the environment of requests (`SetEnv`).
    Variable,
    /// A `key=value` of each member of the balancer that the path is passed to.
    Members,
    /// The multi-processing module that is loaded.
    Mpm,
}

/// The multi-processing modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpm {
    /// Threads, and idle connections without one.
    Event,
    /// Threads.
    Worker,
    /// Processes.
    Prefork,
}

impl Mpm {
    /// Its name, e.g. `event`.
    pub fn name(self) -> &'static str {
        match self {
            Mpm::Event => "event",
            Mpm::Worker => "worker",
            Mpm::Prefork => "prefork",
        }
    }

    /// The one that a configuration loads; event where it loads none.
    pub fn of(config: &super::config::Config) -> Mpm {
        [Mpm::Prefork, Mpm::Worker]
            .into_iter()
            .find(|mpm| config.has_module(&format!("mpm_{}_module", mpm.name())))
            .unwrap_or(Mpm::Event)
    }
}
