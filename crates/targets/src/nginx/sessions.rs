//! What nginx resumes TLS sessions by: a cache that its workers share, or tickets that clients keep.

use crate::files::{Configuration, Requests};
use crate::nginx::config::Config;
use crate::nginx::settings::SSL_SESSION_CACHE;
use crate::product::Sessions;

/// A cache for some 40,000 sessions (4,000 a megabyte, says nginx's documentation).
const CACHE: &str = "shared:SSL:10m";
/// What it takes.
const PRICE: &str =
    "10 MB of memory for about 40,000 sessions, which workers share; new visitors make full handshakes as before";

/// The cache in force for these requests, with the one that would do: one that is there already, for other servers, or a new one. None where
/// workers share one: it is something else then that keeps sessions from being resumed.
pub(super) fn of(config: &Config, requests: &Requests) -> Option<Sessions> {
    let (value, origin) = config.value_of(SSL_SESSION_CACHE.name, requests).ok()?;
    let is_shared = |word: &str| word.starts_with("shared:");
    if value.split_whitespace().any(is_shared) {
        return None;
    }
    let all = config.walk();
    let caches = all.iter().filter(|found| found.directive.is(SSL_SESSION_CACHE.directive));
    let there = caches.flat_map(|found| found.args()).find(|word| is_shared(word));
    let word = there.unwrap_or_else(|| CACHE.to_owned());
    Some(Sessions { setting: SSL_SESSION_CACHE.name, value, origin, word, price: PRICE })
}
