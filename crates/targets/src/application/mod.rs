//! The servers of the comparison: the same application (apps/README.md) on each, started as a child of ours.
//!
//! [`PRODUCTS`] has a [`Product`] a server, made of data and one function that writes its command line: [`tomcat`], [`jetty`],
//! [`node`] (ws and Socket.IO) and [`embedded`]. [`settings`] are what users may set, [`lifecycle`] starts, observes and stops
//! whatever it is, [`gc`] reads the logs of Java's collectors.

mod embedded;
pub mod gc;
mod jetty;
mod jvm;
mod lifecycle;
mod node;
mod product;
pub mod rooms;
pub mod settings;
mod tomcat;

use std::path::PathBuf;

pub use lifecycle::{Application, Observed};
pub use product::{PRODUCTS, Place, Product, find};

use genkai_place::PlaceError;

/// The server beside which the others are measured.
pub const REFERENCE: &str = embedded::PRODUCT.name;

/// Why a server of the comparison cannot run. One clear message each.
#[derive(Debug, thiserror::Error)]
pub enum ApplicationError {
    /// There is no such server.
    #[error("there is no server `{name}` to compare; there are: {}", product::names().join(", "))]
    Unknown {
        /// As asked for.
        name: String,
    },
    /// A program that it needs is not installed.
    #[error("{server} needs {what}: install it (Debian, Ubuntu: apt-get install {package})")]
    Program {
        /// Which server.
        server: &'static str,
        /// What is missing.
        what: &'static str,
        /// The package that has it.
        package: &'static str,
    },
    /// The application is not built.
    #[error("{server}: the application is not built ({} is not there): run `make apps`{}", missing.display(), said(apps))]
    Unbuilt {
        /// Which server.
        server: &'static str,
        /// What is missing.
        missing: PathBuf,
        /// Where the applications were looked for; none: nowhere.
        apps: Option<PathBuf>,
    },
    /// A setting that it does not have, or a value that is none.
    #[error("{server}: {why}")]
    Setting {
        /// Which server.
        server: &'static str,
        /// What is wrong.
        why: String,
    },
    /// Its files cannot be written.
    #[error("{server}: cannot prepare {}: {source}", path.display())]
    Files {
        /// Which server.
        server: &'static str,
        /// What was to be written.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// Its process.
    #[error(transparent)]
    Local(#[from] PlaceError),
}

fn said(apps: &Option<PathBuf>) -> &'static str {
    if apps.is_some() {
        ""
    } else {
        " in genkai's source folder and start genkai there, or name its apps folder with --apps"
    }
}

impl ApplicationError {
    /// Whether what the user gave is at fault, not the machine.
    pub fn is_usage(&self) -> bool {
        matches!(self, ApplicationError::Unknown { .. } | ApplicationError::Setting { .. })
    }
}
