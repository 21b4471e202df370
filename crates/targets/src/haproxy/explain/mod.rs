//! What a configuration means and what is wrong with it, told from its text alone: nothing is started, and HAProxy need not be
//! installed.

mod remarks;
mod timers;

use std::path::Path;

use genkai_model::explain::Explanation;

use super::config::{Config, Reading};
use super::error::HaproxyError;
use super::limits::{self, Facts};
use super::route::Scope;
use crate::files::masked;
use genkai_place::caps::Machine;

/// What is taken for the version of a server that is not asked: defaults are those of HAProxy 2.6.
const VERSION: (u32, u32, u32) = (2, 6, 12);
/// What Debian's build has, as far as configurations ask for it (`haproxy -vv`).
const FEATURES: [&str; 10] =
    ["EPOLL", "GETADDRINFO", "LUA", "NS", "OPENSSL", "PCRE2", "PROMEX", "SYSTEMD", "TFO", "THREAD"];

/// Explains the configuration `main` for requests of `scope` (WebSocket connections where `websocket`) on a machine with so much
/// memory.
///
/// # Errors
/// A file that is missing, unreadable, or not HAProxy's syntax.
pub fn explain(
    main: &Path,
    scope: &Scope,
    websocket: bool,
    machine: &Machine,
    memory: u64,
) -> Result<Explanation, HaproxyError> {
    let reading = Reading::here(VERSION, FEATURES.map(str::to_owned).into());
    let config = Config::read(main, reading)?;
    let facts = Facts::of(&config, None, scope, websocket, machine, memory);
    let mut limits = limits::of(&facts);
    for limit in &mut limits {
        limit.value = masked(&limit.value);
    }
    Ok(Explanation {
        product: "haproxy".to_owned(),
        files: config.files().map(|(_, file)| file.path.clone()).collect(),
        limits,
        predictions: Vec::new(),
        timers: timers::of(&config, scope),
        remarks: remarks::of(&config, &facts, scope),
    })
}
