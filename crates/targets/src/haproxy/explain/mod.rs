//! What a configuration means and what is wrong with it, told from its text alone: nothing is started, and HAProxy need not be
//! installed.

mod remarks;
mod timers;
mod values;

use genkai_model::explain::Explanation;

use super::config::{Config, Reading};
use super::limits::{self, Facts};
use crate::error::TargetError;
use crate::explain::{Explain, explanation};

/// What is taken for the version of a server that is not asked: defaults are those of HAProxy 2.6.
const VERSION: (u32, u32, u32) = (2, 6, 12);
/// What Debian's build has, as far as configurations ask for it (`haproxy -vv`).
const FEATURES: [&str; 10] =
    ["EPOLL", "GETADDRINFO", "LUA", "NS", "OPENSSL", "PCRE2", "PROMEX", "SYSTEMD", "TFO", "THREAD"];

/// Explains a configuration.
///
/// # Errors
/// A file that is missing, unreadable, or not HAProxy's syntax.
pub(crate) fn explain(what: &Explain<'_>) -> Result<Explanation, TargetError> {
    let Explain { main, requests, machine, memory } = *what;
    let reading = Reading::here(VERSION, FEATURES.map(str::to_owned).into());
    let config = Config::read(main, reading)?;
    let facts = Facts::of(&config, None, requests, machine, memory);
    let limits = limits::of(&facts);
    let files = config.files().map(|(_, file)| file.path.clone());
    Ok(explanation("haproxy", files, limits, timers::of(&config, requests), remarks::of(&config, &facts, requests)))
}
