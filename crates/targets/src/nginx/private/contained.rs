//! The one change of a copy that has a container of its own: where it logs errors.

use std::path::Path;

use genkai_model::event::Rewrite;

use super::changes::Changes;
use super::output::{ERROR_LOG, error_log};
use super::path::joined;
use crate::files::CopyError;
use crate::nginx::config::{Config, lexer};

/// The configuration with all its errors in one file of `folder`, from `warn` on, and where it differs. Lines keep their numbers.
pub(in crate::nginx) fn logging_into(folder: &Path, config: &Config) -> Result<(Config, Vec<Rewrite>), CopyError> {
    let mut changes = Changes::new(config, folder);
    for found in config.walk().into_iter().filter(|found| !found.is_entry() && found.directive.is("error_log")) {
        error_log(&mut changes, &found, &found.args());
    }
    if config.find(&[], "error_log").is_empty() {
        let path = joined(folder, ERROR_LOG);
        let quoted = String::from_utf8_lossy(&lexer::quote(path.as_bytes())).into_owned();
        changes.at_top(&format!("error_log {quoted} warn;"));
    }
    Ok((config.apply(&changes.edits)?, changes.rewrites))
}
