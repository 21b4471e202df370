//! Settings that end something after a time.

use genkai_model::explain::Timer;
use genkai_model::limit::Origin;
use genkai_model::units::Span;

use crate::haproxy::config::Config;
use crate::haproxy::route::{Route, Scope};
use crate::haproxy::settings::value;

/// Each with what it ends, and what counts where it is not written (configuration manual 4.2).
const TIMERS: &[(&str, &str, &str)] = &[
    ("timeout client", "a client that neither takes nor sends a byte", "never"),
    ("timeout connect", "a server that does not accept: tried again, then HAProxy answers 503", "never"),
    ("timeout server", "a server that is silent: HAProxy answers 504", "never"),
    ("timeout queue", "a request that waits for a server: HAProxy answers 503", "like timeout connect"),
    (
        "timeout tunnel",
        "a tunnel (WebSocket) in which both sides are silent",
        "at the shorter of timeout client and timeout server",
    ),
    ("timeout http-request", "a request head that comes too slowly: HAProxy answers 408", "like timeout client"),
    ("timeout http-keep-alive", "a kept connection without a next request", "like timeout http-request"),
];

pub(super) fn of(config: &Config, scope: &Scope) -> Vec<Timer> {
    let Some(route) = Route::find(config, scope) else { return Vec::new() };
    let held = |key: &str| {
        let front = config.value(route.front, key);
        front.or_else(|| route.back.and_then(|back| config.value(back, key)))
    };
    let timer = |(setting, ends, otherwise): &(&str, &str, &str)| match held(setting) {
        Some(found) => {
            let value = found.arg(1).unwrap_or_default().to_owned();
            let path = config.file(found.file).path.clone();
            let origin = Origin::File { path, line: found.line };
            let span = value::time(&value).map(Span::from_millis);
            Timer { setting: (*setting).to_owned(), span, value, origin, ends: (*ends).to_owned() }
        }
        None => Timer {
            setting: (*setting).to_owned(),
            value: "not set".to_owned(),
            origin: Origin::Default("HAProxy configuration manual 4.2: there is none".to_owned()),
            span: None,
            ends: format!("{ends}; not set, it ends {otherwise}"),
        },
    };
    TIMERS.iter().map(timer).collect()
}
