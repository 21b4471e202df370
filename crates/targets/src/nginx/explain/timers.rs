//! Settings that end something after a time.

use genkai_model::explain::Timer;
use genkai_model::limit::Origin;
use genkai_model::units::Span;

use crate::files::{Configuration, Requests};
use crate::nginx::config::Config;
use crate::nginx::limits::{named, prefix};
use crate::nginx::settings::{PROXY_CONNECT_TIMEOUT, PROXY_READ_TIMEOUT, Setting, value};
use crate::settings::SourcedValue;

/// Those towards clients, each with what it ends.
const OF_CLIENTS: &[(&str, &str)] = &[
    ("keepalive_timeout", "a kept connection without a next request"),
    (
        "client_header_timeout",
        "a request head that comes too slowly: nginx closes the connection without an answer (its access log says 408)",
    ),
    (
        "client_body_timeout",
        "a request body that pauses for so long: nginx closes the connection (of HTTP/2 the stream) without an answer (its access log says 408)",
    ),
    ("send_timeout", "a client that takes no byte for so long"),
];

/// Those towards an upstream; each way there has them by names of its own.
const OF_UPSTREAMS: &[(&Setting, &str)] = &[
    (&PROXY_CONNECT_TIMEOUT, "an upstream that does not accept: nginx answers 504"),
    (&PROXY_READ_TIMEOUT, "an upstream that is silent: nginx answers 504"),
];

pub(super) fn of(config: &Config, requests: &Requests) -> Vec<Timer> {
    let keeps_for_none = config.value_of("keepalive_requests", requests).is_ok_and(|(most, _)| most == "0");
    let clients = OF_CLIENTS.iter().filter_map(|(name, ends)| {
        let (written, origin) = config.value_of(name, requests).ok()?;
        let none = *name == "keepalive_timeout" && (first(&written).is_some_and(|span| span.0 == 0) || keeps_for_none);
        Some(timer(written, origin, name, if none { "each connection after its response: none is kept" } else { ends }))
    });
    let route = config.route_of(requests);
    let upstream = route.as_ref().and_then(|route| Some((route, route.pass()?)));
    let upstreams = upstream.into_iter().flat_map(|(route, pass)| {
        let instead = route.ways.iter().find(|way| way.pass().is_some()).map(|way| way.refused(504).in_place_of(504));
        let instead = instead.unwrap_or_default();
        OF_UPSTREAMS.iter().map(move |(setting, ends)| {
            let name = named(setting, prefix(Some(&pass)));
            let found = route.inherited(&name).into_iter().next();
            let held = found.and_then(|f| {
                let path = config.file(f.file).path.clone();
                Some((f.arg(0)?, Origin::File { path, line: f.line() }))
            });
            let (written, origin) = held.unwrap_or_else(|| setting.default_value().in_words());
            let closed = if setting.name == PROXY_READ_TIMEOUT.name && name == setting.name {
                ", and an upgraded connection (WebSocket) is closed"
            } else {
                ""
            };
            timer(written, origin, &name, &format!("{ends}{instead}{closed}"))
        })
    });
    clients.chain(upstreams).collect()
}

/// The first of two times: the second is what clients are told.
fn first(written: &str) -> Option<Span> {
    value::time(written.split_ascii_whitespace().next().unwrap_or_default()).map(Span::from_millis)
}

fn timer(written: String, origin: Origin, name: &str, ends: &str) -> Timer {
    let value = first(&written);
    SourcedValue { value, written, origin }.timer(name, ends)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_ends_towards_clients_is_told_as_nginx_does_it() {
        let of = |within: &str| {
            let text =
                format!("http {{ {within} server {{ listen 80; location / {{ proxy_pass http://127.0.0.1:9; }} }} }}");
            let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/usr")).unwrap();
            of(&config, &Requests::to("", "/"))
        };
        let ends = |within: &str, name: &str| {
            of(within).into_iter().find(|timer| timer.setting == name).map(|timer| timer.ends).unwrap()
        };
        assert_eq!(ends("", "keepalive_timeout"), "a kept connection without a next request");
        assert_eq!(ends("keepalive_timeout 5 60;", "keepalive_timeout"), "a kept connection without a next request");
        for none in ["keepalive_timeout 0;", "keepalive_timeout 0 60;", "keepalive_requests 0;"] {
            assert_eq!(ends(none, "keepalive_timeout"), "each connection after its response: none is kept");
        }
        assert!(ends("", "client_header_timeout").contains("without an answer (its access log says 408)"));
        assert!(ends("", "client_body_timeout").contains("the connection (of HTTP/2 the stream) without an answer"));
    }
}
