//! What the line that a request comes in by (`bind`) sets for itself.

use genkai_model::limit::Origin;

use crate::haproxy::config::Config;
use crate::haproxy::route::Route;
use crate::haproxy::settings::value;
use crate::settings::SourcedValue;

/// A number of the listener's line.
pub(super) fn of_bind(config: &Config, route: &Route<'_>, key: &str) -> Option<SourcedValue<u64>> {
    let word = route.bind.found.option(1, key)?;
    let path = config.file(route.bind.found.file).path.clone();
    let origin = Origin::File { path, line: route.bind.found.line };
    Some(SourcedValue { value: value::whole(&word.value)?, written: word.value.clone(), origin })
}
