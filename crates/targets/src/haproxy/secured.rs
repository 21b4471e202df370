//! The certificate that HAProxy shows, and what it resumes TLS sessions by: tickets that clients keep, or its own cache.

use std::path::{Path, PathBuf};

use genkai_model::limit::Origin;
use genkai_place::authority;

use super::config::{Config, FileId, Found};
use super::route::{Bind, Route, binds};
use super::settings::TUNE_SSL_CACHESIZE;
use crate::files::{Configuration, Requests, number};
use crate::product::{Certificate, Sessions};

/// What a cache of HAProxy's own size takes (configuration manual 3.2: blocks of about 200 bytes).
const PRICE: &str =
    "about 4 MB of memory for 20,000 sessions, or fewer large ones; new visitors make full handshakes as before";
/// As many as without the setting.
const BLOCKS: &str = "20000";

/// The user's certificate that the listener for these requests shows.
pub(super) fn certificate(config: &Config, requests: &Requests) -> Option<Certificate> {
    let all: Vec<Bind<'_>> = config.sections().iter().filter(|s| s.is_front()).flat_map(|s| binds(config, s)).collect();
    let route = Route::find(config, requests).map(|route| route.bind).filter(|bind| bind.tls);
    let bind = route.or_else(|| all.into_iter().find(|bind| bind.tls))?;
    let base = config.global("crt-base").and_then(|found| found.arg(0)).map(PathBuf::from);
    let base = base.or_else(|| config.file(FileId::MAIN).path.parent().map(Path::to_owned)).unwrap_or_default();
    let file = bind.found.option(1, "crt").map(|word| base.join(&word.value)).filter(|path| !path.is_dir());
    let names = vec![authority::bare(&requests.host)];
    Some(Certificate { names, file, setting: "bind.crt", place: config.place(bind.found) })
}

/// Whether clients keep sessions themselves.
fn tickets(config: &Config, requests: &Requests) -> bool {
    let off = |found: &Found| found.words.iter().any(|word| word.value == "no-tls-tickets");
    let own = Route::find(config, requests).is_some_and(|route| off(route.bind.found));
    !own && !config.global("ssl-default-bind-options").is_some_and(off)
}

/// The cache, where it is off.
fn no_cache(config: &Config, requests: &Requests) -> Option<(String, Origin)> {
    let (value, origin) = config.value_of(TUNE_SSL_CACHESIZE.name, requests).ok()?;
    (number::leading(&value) == 0).then_some((value, origin))
}

/// How sessions are resumed, from the configuration alone.
pub(super) fn told(config: &Config, requests: &Requests) -> String {
    match (no_cache(config, requests), tickets(config, requests)) {
        (None, true) => "sessions are resumed from HAProxy's own cache (tune.ssl.cachesize), or by tickets".to_owned(),
        (None, false) => "sessions are resumed from HAProxy's own cache (tune.ssl.cachesize)".to_owned(),
        (Some(_), true) => "sessions are resumed by tickets".to_owned(),
        (Some(_), false) => "no session is resumed: no-tls-tickets, and tune.ssl.cachesize 0".to_owned(),
    }
}

/// A cache that is off where clients keep no sessions. None otherwise: it is something else then that keeps sessions from being resumed.
pub(super) fn sessions(config: &Config, requests: &Requests) -> Option<Sessions> {
    let (value, origin) = no_cache(config, requests).filter(|_| !tickets(config, requests))?;
    let (setting, word) = (TUNE_SSL_CACHESIZE.name, BLOCKS.to_owned());
    Some(Sessions { setting, value, origin, word, price: PRICE })
}

#[cfg(test)]
mod tests {
    use super::super::config::Reading;
    use super::*;

    /// HAProxy 2.6 with a client that offers its session again resumes in just these cases.
    #[test]
    fn sessions_are_resumed_by_tickets_or_from_the_cache() {
        let of = |global: &str, bind: &str| {
            let text = format!(
                "global\n  {global}\ndefaults\n  mode http\nfrontend f\n  bind :443 ssl crt /c.pem {bind}\n  default_backend b\nbackend b\n  server s 127.0.0.1:9\n"
            );
            let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
            let requests = Requests::to("localhost", "/");
            let sessions = sessions(&config, &requests).map(|one| (one.value, one.origin, one.word));
            (told(&config, &requests), sessions)
        };
        for (global, bind) in [("", ""), ("", "no-tls-tickets"), ("tune.ssl.cachesize 0", "")] {
            let (told, sessions) = of(global, bind);
            assert!(told.starts_with("sessions are resumed") && sessions.is_none(), "{told}");
            assert_eq!(told.contains("tickets"), bind.is_empty(), "{told}");
        }
        let at = Origin::File { path: "/x".into(), line: 2 };
        let off = ("0".to_owned(), at, "20000".to_owned());
        let (told, sessions) = of("tune.ssl.cachesize 0", "no-tls-tickets");
        assert!(told.starts_with("no session is resumed"), "{told}");
        assert_eq!(sessions, Some(off.clone()));
        let all = of("tune.ssl.cachesize 0\n  ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets", "").1;
        assert_eq!(all, Some(off));
    }
}
