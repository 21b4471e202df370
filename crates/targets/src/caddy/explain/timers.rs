//! Settings that end something after a time.

use std::time::Duration;

use genkai_model::explain::Timer;
use genkai_model::limit::Origin;
use genkai_model::units::Span;

use crate::caddy::config::Config;
use crate::caddy::route::Route;
use crate::caddy::settings::*;
use crate::caddy::settings::{in_force, is_had, value};
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
    (
        &LB_TRY_DURATION,
        "the search for an upstream that takes the request: Caddy answers 502 where one failed it, else 503",
        "at once",
    ),
];

pub(super) fn of(config: &Config, requests: &Requests) -> Vec<Timer> {
    let told = TIMERS.iter().filter(|(setting, ..)| is_had(config, setting, requests));
    told.map(|(setting, ends, otherwise)| timer(config, requests, setting, (ends, otherwise))).collect()
}

/// What a setting ends, and when it does so where it is not written, or 0.
fn timer(config: &Config, requests: &Requests, setting: &Setting, (ends, otherwise): (&str, &str)) -> Timer {
    let held = in_force(config, setting, requests);
    let time = |text: &str| value::time(text).map(Span::from).filter(|span| !span.is_zero());
    let is_written = !matches!(held.origin, Origin::Default(_)) && value::time(&held.written) != Some(Duration::ZERO);
    let name = setting.name.to_owned();
    if is_written {
        return Timer {
            setting: name,
            span: time(&held.written),
            value: held.written,
            origin: held.origin,
            ends: ends.to_owned(),
        };
    }
    // Any setting of idle connections takes the defaults of the others away.
    let (span, otherwise) = match setting.name == KEEPALIVE.name && has_keepalive(config, requests) {
        true => (None, "never, because other settings of idle connections are written"),
        false => (time(setting.default), otherwise),
    };
    Timer {
        setting: name,
        value: "not set".to_owned(),
        origin: held.origin,
        span,
        ends: format!("{ends}; not set, it ends {otherwise}"),
    }
}

fn has_keepalive(config: &Config, requests: &Requests) -> bool {
    let proxy = Route::find(config, requests).and_then(|route| route.proxy);
    let transport = proxy.and_then(|proxy| proxy.option("transport http"));
    transport.is_some_and(|line| line.inside().iter().any(|line| line.name().starts_with(KEEPALIVE.name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caddy::config::Variables;

    #[test]
    fn where_nothing_is_passed_on_no_upstream_has_timers() {
        let named = |lines: &str| {
            let text = format!("http://:80 {{\n\t{lines}\n}}\n");
            let config = Config::of_texts(vec![("/x".into(), text.into())], Variables::new()).unwrap();
            let all = of(&config, &Requests::to("localhost", "/"));
            all.into_iter().map(|timer| timer.setting).collect::<Vec<_>>()
        };
        let (proxied, own) = (named("reverse_proxy h:1"), named("reverse_proxy h:1\n\thandle {\n\t\trespond hi\n\t}"));
        assert_eq!((proxied.len(), own.len()), (10, 4), "{own:?}");
        assert!(own.iter().all(|name| name.starts_with("timeouts.")), "{own:?}");
        let fastcgi = "reverse_proxy h:1 {\n\t\ttransport fastcgi {\n\t\t\tread_timeout 7s\n\t\t}\n\t}";
        let to_php = named(fastcgi);
        let of_http = ["response_header_timeout", "keepalive"];
        assert!(to_php.len() == 8 && !to_php.iter().any(|name| of_http.contains(&name.as_str())), "{to_php:?}");
    }
}
