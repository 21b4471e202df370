//! What a configuration of Squid means and what is wrong with it, told from its text alone.

mod remarks;
mod values;

use genkai_model::explain::{Explanation, Timer};
use genkai_model::units::Span;

use super::config::Config;
use super::limits;
use super::settings::seconds;
use crate::error::TargetError;
use crate::explain::{Explain, explanation};

/// Explains a configuration.
///
/// # Errors
/// A file that is missing, unreadable, or that includes itself.
pub(crate) fn explain(what: &Explain<'_>) -> Result<Explanation, TargetError> {
    let Explain { main, machine, .. } = *what;
    let config = Config::read(main)?;
    // Started as a service or by genkai it gets the hard limit.
    let limits = limits::of(&config, machine.descriptors_hard, machine, limits::goes_direct(&config), None, &|_| false);
    let files = config.entries.files().iter().map(|file| file.path.clone());
    Ok(explanation("squid", files, limits, timers(&config), remarks::of(&config, machine)))
}

/// Settings that count time, with what they end (src/cf.data.pre).
const TIMERS: [(&str, &str); 10] = [
    ("read_timeout", "a response, or a tunnel (WebSocket), in which nothing comes from the origin"),
    ("request_timeout", "a connection whose request does not come whole"),
    ("request_start_timeout", "a new connection on which no request begins"),
    ("client_idle_pconn_timeout", "a kept connection of a client, idle"),
    ("server_idle_pconn_timeout", "a kept connection to the origin, idle"),
    ("client_lifetime", "every connection of a client, busy or not: a WebSocket too"),
    ("connect_timeout", "an attempt to connect to an origin that is no peer"),
    ("peer_connect_timeout", "an attempt to connect to a peer"),
    ("forward_timeout", "all attempts to pass a request on together"),
    ("write_timeout", "a connection that takes no more data"),
];

fn timers(config: &Config) -> Vec<Timer> {
    let timer = |(name, ends): (&str, &str)| {
        let held = config.sourced(name, seconds);
        let span = Some(Span::from_secs(held.value)).filter(|span| span.0 > 0)?;
        Some(held.map(|_| Some(span)).timer(name, ends))
    };
    TIMERS.into_iter().filter_map(timer).collect()
}
