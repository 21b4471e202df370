//! From a configuration file to a server that answers, and to nothing left of it.
//!
//! Order: [`Binary::find`], [`check`] (`apache2 -t`), [`start`] (until its children run and its listener accepts),
//! [`Running::observe`] again and again, [`Running::stop`].

mod binary;
mod check;
mod environment;
mod running;

pub use binary::Binary;
pub use check::check;
pub use environment::environment;
pub use running::{Running, Site, start};

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// httpd with this configuration and these variables.
fn command(binary: &Binary, conf: &Path, environment: &BTreeMap<String, String>) -> Command {
    let mut command = Command::new(binary.path());
    command.arg("-f").arg(conf).envs(environment);
    command
}
