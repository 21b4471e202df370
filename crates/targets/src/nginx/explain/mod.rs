//! What a configuration means and what is wrong with it, told from its text alone: nothing is started, and nginx need not be
//! installed.

mod remarks;
mod timers;
mod values;

use std::path::Path;

use genkai_model::explain::{Explanation, Led};
use genkai_model::limit::Origin;

use super::config::{Config, Found, Route};
use super::limits::{self, Reading};
use super::no_server;
use super::secured;
use crate::error::TargetError;
use crate::explain::{Explain, explanation};
use crate::product::explained;

/// What is taken for the version of a server that is not asked: the settings' defaults are those of nginx 1.22.1.
const VERSION: (u32, u32, u32) = (1, 22, 1);
/// Where relative paths of most directives start (Debian's `--prefix`).
const PREFIX: &str = "/usr/share/nginx";

/// Explains a configuration.
///
/// # Errors
/// A file that is missing, unreadable, or not nginx's syntax; no server to send requests to.
pub(crate) fn explain(what: &Explain<'_>) -> Result<Explanation, TargetError> {
    let Explain { main, requests, machine, .. } = *what;
    let config = Config::read(main, Path::new(PREFIX))?;
    let route = config.route_of(requests).ok_or_else(no_server)?;
    let origin =
        |found: &Found<'_>| Origin::File { path: found.config.file(found.file).path.clone(), line: found.line() };
    let reading = Reading {
        config: &config,
        route: route.clone(),
        origin: &origin,
        version: VERSION,
        machine,
        status: None,
        visitor: None,
        headers: None,
        body: (0, 0),
        absent: &|_| false,
    };
    let facts = reading.facts();
    let mut limits = limits::of(&facts);
    limits.extend(explained(
        "nginx",
        secured::certificate(&config, requests).as_ref(),
        &secured::told(&config, requests),
    ));
    let files = config.files().map(|(_, file)| file.path.clone());
    let (timers, remarks) = (timers::of(&config, requests), remarks::of(&config, &facts, &route, requests, machine));
    Ok(Explanation { led: led(&route), ..explanation("nginx", files, limits, timers, remarks) })
}

/// The plain listener that leads these requests to the one that is explained.
fn led(route: &Route<'_>) -> Option<Led> {
    let (by, listen) = (route.redirect.as_ref()?, route.listen.as_ref()?);
    Some(Led { by: by.written(), place: by.place(), to: listen.found.written(), at: listen.found.place() })
}
