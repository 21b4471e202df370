//! What a configuration of Redis means and what is wrong with it, told from its text alone.

mod refused;
mod remarks;

use genkai_model::explain::{Explanation, Timer};
use genkai_model::units::Span;

use super::config;
use super::limits::{self, Facts};
use crate::error::TargetError;
use crate::explain::{Explain, explanation};
use crate::files::entry::Entries;

/// Explains a configuration.
///
/// # Errors
/// A file that is missing, unreadable, not Redis's syntax, or Sentinel's.
pub(crate) fn explain(what: &Explain<'_>) -> Result<Explanation, TargetError> {
    let Explain { main, machine, memory, .. } = *what;
    let config = config::read(main)?;
    if config.last("sentinel").is_some() {
        let text =
            format!("{} is a configuration of Redis Sentinel, which takes no commands of clients", main.display());
        return Err(TargetError::usage("Redis", format!("{text}\n  hint: name the redis.conf of a server")));
    }
    let facts = Facts::of(&config, machine);
    let limits = limits::of(&config, &facts, machine, memory);
    let files = config.files().iter().map(|f| f.path.clone());
    Ok(explanation("redis", files, limits, timers(&config), remarks::of(&config, &facts, machine, memory)))
}

/// Settings that count seconds; 0 switches them off.
fn timers(config: &Entries) -> Vec<Timer> {
    let all = [
        ("timeout", "a client that sends nothing; subscribers are spared"),
        ("tcp-keepalive", "a client that is gone without a word, some probes later"),
        ("repl-timeout", "a link between master and replica that is silent"),
    ];
    let timer = |(name, ends): (&str, &str)| {
        let entry = config.last(name)?;
        let seconds: u64 = entry.value().parse().ok().filter(|s| *s > 0)?;
        Some(Timer {
            setting: name.to_owned(),
            value: entry.value(),
            origin: config.origin(entry),
            span: Some(Span::from_secs(seconds)),
            ends: ends.to_owned(),
        })
    };
    all.into_iter().filter_map(timer).collect()
}
