//! Caches in front of an origin, whichever product they are: set up empty in a folder of their own, started, counted, ended.
//!
//! [`PRODUCTS`] has a [`Product`] a cache, made of data and one function that writes its configuration: Squid in [`crate::squid`], Varnish
//! in [`crate::varnish`], Traffic Server in [`crate::trafficserver`], and what Apache, nginx and HAProxy are as caches in folders of
//! theirs. [`lifecycle`] starts, looks at and ends whatever it is, [`counters`] reads what each counts itself, [`origin`] is what stands
//! behind them.

pub mod counters;
pub(crate) mod ground;
mod lifecycle;
pub mod origin;
mod prepared;
mod product;
pub(crate) mod recipe;

use std::path::PathBuf;

pub(crate) use ground::largest;
pub use ground::{Budget, Ground, Setup, listed};
pub use lifecycle::{Cache, counts};
pub use origin::Origin;
pub use prepared::Accelerator;
pub(crate) use prepared::is;
pub(crate) use product::located;
pub use product::{ALONE, PRODUCTS, Product, compared, contender, find, names};

use crate::apache::ApacheError;
use crate::files::SaveError;
use crate::files::entry::EntryError;
use genkai_place::PlaceError;
use genkai_place::remote::Remote;

/// Why a cache cannot run. One clear message each.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// There is no such contender.
    #[error("there is no cache `{name}` to compare; there are: {}", names().join(", "))]
    Unknown {
        /// As asked for.
        name: String,
    },
    /// It is not installed.
    #[error("{name} is not installed\n  hint: Debian, Ubuntu: apt-get install {package}")]
    Missing {
        /// The program.
        name: &'static str,
        /// The package that has it.
        package: &'static str,
    },
    /// It refuses its configuration, or does not say its version.
    #[error("{name}: `{command}` failed: {said}")]
    Rejected {
        /// Which.
        name: String,
        /// What was tried.
        command: String,
        /// What it printed.
        said: String,
    },
    /// It did not tell what it has counted.
    #[error("{name} does not tell its counters: {why}")]
    Silent {
        /// Which.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// It cannot run as the user has it.
    #[error("{0}")]
    Refused(String),
    /// Requests would leave this machine.
    #[error(transparent)]
    Remote(#[from] Remote),
    /// A user's file cannot be read.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// A setting of Squid cannot be made.
    #[error(transparent)]
    Squid(#[from] crate::squid::SettingError),
    /// The user's file cannot be written.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// Files cannot be written.
    #[error("cannot prepare {}: {source}", path.display())]
    Files {
        /// What was to be written.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// Apache.
    #[error(transparent)]
    Apache(#[from] ApacheError),
    /// A process.
    #[error(transparent)]
    Local(#[from] PlaceError),
}

impl CacheError {
    /// Whether what the user gave is at fault, not the machine.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            CacheError::Unknown { .. }
                | CacheError::Refused(_)
                | CacheError::Remote(_)
                | CacheError::Entry(_)
                | CacheError::Squid(_)
        )
    }

    /// For an I/O error on `path`.
    pub fn files(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> CacheError {
        let path = path.into();
        move |source| CacheError::Files { path, source }
    }
}
