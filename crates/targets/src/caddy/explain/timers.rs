//! Settings that end something after a time.

use genkai_model::explain::Timer;
use genkai_model::limit::Origin;

use crate::caddy::config::Config;
use crate::caddy::settings::*;
use crate::caddy::settings::{in_force, value};
use crate::files::Requests;

/// Each with what it ends, and what counts where it is not written (2.6; app.go and httptransport.go).
const TIMERS: &[(&Setting, &str, &str)] = &[
    (&IDLE, "a kept connection without a next request", "after 5m"),
    (&READ_HEADER, "a request head that comes too slowly", "as timeouts.read_body; since 2.10 after 1m"),
    (&READ_BODY, "a request (head and body) that comes too slowly", "never"),
    (&WRITE, "an answer that takes too long from the request's head on", "never"),
    (&DIAL_TIMEOUT, "a connect to an upstream: Caddy answers 502", "after 3s"),
    (&RESPONSE_HEADER_TIMEOUT, "an upstream whose answer does not begin: Caddy answers 504", "never"),
    (&READ_TIMEOUT, "an upstream that is silent (in a tunnel, too): Caddy answers 504", "never"),
    (&WRITE_TIMEOUT, "an upstream that does not read", "never"),
    (&KEEPALIVE, "an idle connection to an upstream", "after 2m"),
    (&LB_TRY_DURATION, "the search for an upstream that takes the request: Caddy answers 503", "at once"),
];

pub(super) fn of(config: &Config, requests: &Requests) -> Vec<Timer> {
    let timer = |(setting, ends, otherwise): &(&Setting, &str, &str)| {
        let held = in_force(config, setting, requests);
        let span = value::time(&held.written).map(Into::into);
        let (value, ends) = match &held.origin {
            Origin::Default(_) => ("not set".to_owned(), format!("{ends}; not set, it ends {otherwise}")),
            _ => (held.written, (*ends).to_owned()),
        };
        Timer { setting: setting.name.to_owned(), value, origin: held.origin, span, ends }
    };
    TIMERS.iter().map(timer).collect()
}
