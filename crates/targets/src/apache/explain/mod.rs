//! What a configuration means and what is wrong with it, told from its text alone: nothing is started, and httpd need not be
//! installed.

mod clamped;
mod refused;
mod remarks;
mod timers;

use std::collections::BTreeSet;
use std::path::Path;

use genkai_model::explain::Explanation;

use super::config::{Config, Reading};
use super::lifecycle::environment;
use super::limits::{self, Facts};
use crate::error::TargetError;
use crate::explain::{Explain, explanation};

/// What is taken for the version of a server that is not asked: defaults are those of httpd 2.4.68.
const VERSION: (u32, u32, u32) = (2, 4, 68);

/// Explains a configuration.
///
/// # Errors
/// A file that is missing, unreadable, or not httpd's syntax.
pub(crate) fn explain(what: &Explain<'_>) -> Result<Explanation, TargetError> {
    let Explain { main, requests, machine, .. } = *what;
    let folder = main.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    // Debian's HTTPD_ROOT is the main file's folder; others say ServerRoot.
    let reading =
        Reading { root: folder, environment: environment(Some(main)), defines: BTreeSet::new(), version: VERSION };
    let config = Config::read(main, reading)?;
    let facts = Facts::of(&config, requests, machine);
    let limits = limits::of(&facts);
    let files = config.files().filter(|(id, _)| !config.is_use(*id)).map(|(_, file)| file.path.clone());
    Ok(explanation("apache", files, limits, timers::of(&config, &facts, requests), remarks::of(&config, &facts)))
}
