//! The certificate that nginx shows, and what it resumes TLS sessions by: a cache that its workers share, or tickets that clients keep.

use crate::files::{Configuration, Requests};
use crate::nginx::config::{Config, Found, Route};
use crate::nginx::settings::{SSL_SESSION_CACHE, SSL_SESSION_TICKETS};
use crate::product::{Certificate, Sessions};
use genkai_place::authority;

/// A cache for some 40,000 sessions (4,000 a megabyte, says nginx's documentation).
const CACHE: &str = "shared:SSL:10m";
/// What it takes.
const PRICE: &str =
    "10 MB of memory for about 40,000 sessions, which workers share; new visitors make full handshakes as before";

/// The user's certificate that the listener for these requests shows.
pub(super) fn certificate(config: &Config, requests: &Requests) -> Option<Certificate> {
    let route = config.route_of(requests)?;
    let listen = route.listen.as_ref().filter(|listen| listen.ssl)?;
    let shown = route.inherited("ssl_certificate");
    let names = config.servers().into_iter().flat_map(|server| server.inside());
    let names = names.filter(|found| found.directive.is("server_name")).flat_map(|found| found.args());
    // `.name` is short for the name and all below it.
    let names = names.flat_map(|name| match name.strip_prefix('.') {
        Some(bare) => vec![bare.to_owned(), format!("*{name}")],
        None => vec![name],
    });
    let place = shown.first().map_or_else(|| listen.found.place(), Found::place);
    let file = match &shown[..] {
        [one] => one.arg(0).filter(|path| !path.contains('$')).map(|path| config.conf_prefix().join(path)),
        _ => None,
    };
    let names = names.chain([authority::bare(&requests.host)]).collect();
    Some(Certificate { names, file, setting: "ssl_certificate", place })
}

/// Whether a word of `ssl_session_cache` is a cache that all workers have.
fn is_shared(word: &str) -> bool {
    word.starts_with("shared:")
}

/// How sessions are resumed, from the configuration alone. The cache is that of the listener's default server; for tickets it depends on the version of
/// nginx which of the two counts for what, that server or the one of the name.
pub(super) fn told(config: &Config, requests: &Requests) -> String {
    let cache = config.value_of(SSL_SESSION_CACHE.name, requests).map(|(value, _)| value).unwrap_or_default();
    let on = |route: &Route<'_>| {
        let written = route.inherited(SSL_SESSION_TICKETS.directive).into_iter().next().and_then(|found| found.arg(0));
        written.is_none_or(|word| word != "off")
    };
    let own = config.route_of(requests);
    let first = own.as_ref().and_then(|route| config.first_of(route));
    let tickets = [own.as_ref().is_none_or(on), first.as_ref().is_none_or(on)];
    match (cache.split_whitespace().any(is_shared), tickets) {
        (true, [false, false]) => format!("sessions are resumed from ssl_session_cache {cache}"),
        (true, _) => format!("sessions are resumed from ssl_session_cache {cache}, or by tickets"),
        (false, [false, false]) => {
            format!(
                "no session is resumed, or by chance: ssl_session_tickets off, and ssl_session_cache {cache} is none that workers share"
            )
        }
        (false, [true, true]) => "sessions are resumed by tickets (ssl_session_tickets on)".to_owned(),
        (false, _) => {
            "whether sessions are resumed is tried then: ssl_session_tickets is off in one of two, the server of this name and the listener's default server"
                .to_owned()
        }
    }
}

/// The cache in force for these requests, with the one that would do: one that is there already, for other servers, or a new one. None where
/// workers share one: it is something else then that keeps sessions from being resumed.
pub(super) fn sessions(config: &Config, requests: &Requests) -> Option<Sessions> {
    let (value, origin) = config.value_of(SSL_SESSION_CACHE.name, requests).ok()?;
    if value.split_whitespace().any(is_shared) {
        return None;
    }
    let all = config.walk();
    let caches = all.iter().filter(|found| found.directive.is(SSL_SESSION_CACHE.directive));
    let there = caches.flat_map(|found| found.args()).find(|word| is_shared(word));
    let word = there.unwrap_or_else(|| CACHE.to_owned());
    Some(Sessions { setting: SSL_SESSION_CACHE.name, value, origin, word, price: PRICE })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use genkai_model::limit::Origin;

    use super::*;

    #[test]
    fn sessions_are_resumed_from_a_shared_cache_or_by_tickets() {
        let of = |within: &str| {
            let text = format!(
                "http {{ {within} server {{ listen 443 ssl; location / {{ proxy_pass http://127.0.0.1:9; }} }} }}"
            );
            let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/usr")).unwrap();
            let requests = Requests::to("", "/");
            (
                told(&config, &requests),
                super::sessions(&config, &requests).map(|sessions| (sessions.value, sessions.word)),
            )
        };
        let (text, sessions) = of("");
        assert!(text.contains("by tickets"), "{text}");
        assert_eq!(sessions, Some(("none".to_owned(), CACHE.to_owned())));
        let (text, sessions) = of("ssl_session_tickets off; ssl_session_cache builtin:1000;");
        assert!(text.contains("no session is resumed") && text.contains("builtin:1000"), "{text}");
        assert_eq!(sessions.map(|(value, _)| value).as_deref(), Some("builtin:1000"));
        let (text, sessions) = of("ssl_session_tickets off; ssl_session_cache builtin shared:le:5m;");
        assert!(text.contains("from ssl_session_cache builtin shared:le:5m") && sessions.is_none(), "{text}");
    }
    #[test]
    fn the_default_server_of_the_listener_has_the_cache() {
        let text = |first: &str, second: &str| {
            format!(
                "http {{ server {{ listen 443 ssl; {first} }}\nserver {{ listen 443 ssl; server_name a.test; {second} \
                 location / {{ proxy_pass http://127.0.0.1:9; }} }} }}"
            )
        };
        let config = |first: &str, second: &str| {
            Config::of_text(Path::new("/n.conf"), text(first, second).into(), Path::new("/usr")).unwrap()
        };
        let requests = Requests::to("a.test", "/");
        let (off, shared) = ("ssl_session_tickets off;", "ssl_session_tickets off; ssl_session_cache shared:x:1m;");
        let told = |first: &str, second: &str| told(&config(first, second), &requests);
        assert!(told(off, shared).starts_with("no session is resumed"), "{}", told(off, shared));
        assert!(told(shared, off).starts_with("sessions are resumed from ssl_session_cache shared:x:1m"));
        assert!(told("", "").contains("by tickets"));
        assert!(told("", off).starts_with("whether sessions are resumed is tried then"));
        assert!(super::sessions(&config(shared, off), &requests).is_none());
        let without = "ssl_session_cache off;";
        let wanting = config(without, shared);
        let sessions = super::sessions(&wanting, &requests).unwrap();
        assert_eq!((&*sessions.value, &*sessions.word), ("off", "shared:x:1m"));
        let mended = wanting.set(sessions.setting, &sessions.word, &requests).unwrap();
        assert!(super::sessions(&mended, &requests).is_none());
        let written = mended.value_of(sessions.setting, &requests).unwrap();
        assert_eq!(written, (sessions.word.clone(), Origin::File { path: "/n.conf".into(), line: 1 }));
    }
}
