//! What a Caddyfile means and what is wrong with it, told from its text alone: nothing is started, and Caddy need not be installed.

mod remarks;
mod timers;

use genkai_model::explain::Explanation;

use super::config::{Config, variables};
use super::limits::{self, Facts};
use crate::error::TargetError;
use crate::explain::{Explain, explanation};

/// Explains a configuration.
///
/// # Errors
/// A file that is missing, unreadable, or not a Caddyfile.
pub(crate) fn explain(what: &Explain<'_>) -> Result<Explanation, TargetError> {
    let Explain { main, requests, machine, .. } = *what;
    let config = Config::read(main, variables())?;
    let facts = Facts::of(&config, None, requests, machine);
    let limits = limits::of(&facts);
    let files = config.files().map(|(_, file)| file.path.clone());
    Ok(explanation("caddy", files, limits, timers::of(&config, requests), remarks::of(&config, &facts, requests)))
}
