//! Settings that end something after a time.

use genkai_model::explain::Timer;
use genkai_model::units::Span;

use crate::files::{Configuration, Requests};
use crate::nginx::config::Config;
use crate::nginx::settings::value;
use crate::settings::SourcedValue;

/// Each with what it ends. Those of the upstream count only where there is one.
const TIMERS: &[(&str, &str)] = &[
    ("keepalive_timeout", "a kept connection without a next request"),
    ("client_header_timeout", "a request head that comes too slowly: nginx answers 408"),
    ("client_body_timeout", "a request body that pauses for so long: nginx answers 408"),
    ("send_timeout", "a client that takes no byte for so long"),
    ("proxy_connect_timeout", "an upstream that does not accept: nginx answers 504"),
    (
        "proxy_read_timeout",
        "an upstream that is silent: nginx answers 504, and an upgraded connection (WebSocket) is closed",
    ),
];

pub(super) fn of(config: &Config, requests: &Requests) -> Vec<Timer> {
    let proxied = config.route_of(requests).is_some_and(|r| r.pass().is_some());
    let all = TIMERS.iter().filter(|(name, _)| proxied || !name.starts_with("proxy_"));
    all.filter_map(|(name, ends)| {
        let (written, origin) = config.value_of(name, requests).ok()?;
        let first = written.split_ascii_whitespace().next().unwrap_or_default();
        let value = value::time(first).map(Span::from_millis);
        Some(SourcedValue { value, written, origin }.timer(name, ends))
    })
    .collect()
}
