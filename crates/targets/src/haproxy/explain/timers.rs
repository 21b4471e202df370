//! Settings that end something after a time.

use genkai_model::explain::Timer;
use genkai_model::limit::Origin;
use genkai_model::units::Span;

use crate::files::Requests;
use crate::haproxy::config::Config;
use crate::haproxy::proxy::mode;
use crate::haproxy::route::Route;
use crate::haproxy::settings::{
    Setting, TIMEOUT_CLIENT, TIMEOUT_CONNECT, TIMEOUT_HTTP_KEEP_ALIVE, TIMEOUT_HTTP_REQUEST, TIMEOUT_QUEUE,
    TIMEOUT_SERVER, TIMEOUT_TUNNEL, value, written,
};

/// Each with what it ends in HTTP mode and, where that is something else, in TCP mode (where HAProxy answers nothing itself; empty:
/// there is no such timer), and what counts where it is not written (configuration manual 4.2).
const TIMERS: &[(Setting, [&str; 2], &str)] = &[
    (TIMEOUT_CLIENT, ["a client that neither takes nor sends a byte"; 2], "never"),
    (
        TIMEOUT_CONNECT,
        [
            "a server that does not accept: HAProxy answers 503 once its retries are used up",
            "a server that does not accept: HAProxy closes the connection once its retries are used up",
        ],
        "never",
    ),
    (
        TIMEOUT_SERVER,
        ["a server that is silent: HAProxy answers 504", "a server that is silent: HAProxy closes the connection"],
        "never",
    ),
    (
        TIMEOUT_QUEUE,
        [
            "a request that waits for a server: HAProxy answers 503",
            "a connection that waits for a server: HAProxy closes it",
        ],
        "like timeout connect",
    ),
    (
        TIMEOUT_TUNNEL,
        ["a tunnel (WebSocket) in which both sides are silent", "a connection in which both sides are silent"],
        "at the shorter of timeout client and timeout server",
    ),
    (TIMEOUT_HTTP_REQUEST, ["a request head that comes too slowly: HAProxy answers 408", ""], "like timeout client"),
    (TIMEOUT_HTTP_KEEP_ALIVE, ["a kept connection without a next request", ""], "like timeout http-request"),
];

/// Those of the way to servers.
const OF_SERVERS: [Setting; 4] = [TIMEOUT_CONNECT, TIMEOUT_SERVER, TIMEOUT_QUEUE, TIMEOUT_TUNNEL];

pub(super) fn of(config: &Config, requests: &Requests) -> Vec<Timer> {
    let Some(route) = Route::find(config, requests) else { return Vec::new() };
    let mode = mode(config, route.front) as usize;
    let timer = |(setting, ends, otherwise): &(Setting, [&str; 2], &str)| {
        timer(config, requests, setting, ends[mode], otherwise)
    };
    // Where no request reaches a server there is nothing that these could end.
    let alone = route.is_served(config) == Some(false);
    let told = TIMERS.iter().filter(|(setting, ends, _)| {
        !(ends[mode].is_empty() || alone && OF_SERVERS.iter().any(|one| one.name == setting.name))
    });
    told.map(timer).collect()
}

fn timer(config: &Config, requests: &Requests, setting: &Setting, ends: &str, otherwise: &str) -> Timer {
    match written(config, setting, requests) {
        Some(time) => {
            let span = value::lenient_time(&time.written).map(|(milliseconds, _)| Span::from_millis(milliseconds));
            time.map(|()| span).timer(setting.directive, ends)
        }
        None => Timer {
            setting: setting.directive.to_owned(),
            value: "not set".to_owned(),
            origin: Origin::Default("HAProxy configuration manual 4.2: there is none".to_owned()),
            span: None,
            ends: format!("{ends}; not set, it ends {otherwise}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    #[test]
    fn where_no_request_reaches_a_server_no_server_has_timers() {
        let told = |rules: &str| {
            let text = format!(
                "defaults\n mode http\nfrontend f\n bind :80\n{rules} default_backend b\nbackend b\n server s 127.0.0.1:1\n"
            );
            let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
            let requests = Requests::to("localhost", "/");
            let served = Route::find(&config, &requests).unwrap().is_served(&config);
            let all = of(&config, &requests);
            (served, all.iter().any(|timer| timer.setting == "timeout server"), all.len())
        };
        assert_eq!(told(""), (Some(true), true, 7));
        assert_eq!(told(" http-request return status 200\n"), (Some(false), false, 3));
        assert_eq!(told(" http-request deny if { path_reg ^/(?!api) }\n"), (Some(false), false, 3));
        assert_eq!(told(" http-request deny if { path_reg ^/(?=api) }\n"), (Some(true), true, 7));
        assert_eq!(told(" http-request deny if { src 10.0.0.0/8 }\n"), (None, true, 7));
    }
}
