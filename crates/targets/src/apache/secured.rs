//! The certificate that httpd shows, and what it resumes TLS sessions by: tickets that clients keep, or a cache that its children share.

use genkai_place::authority;

use super::config::Config;
use super::route::Route;
use super::settings::SSL_SESSION_TICKETS;
use crate::files::{Configuration, Requests};
use crate::product::{Certificate, Sessions};

/// What tickets take.
const PRICE: &str = "no memory: clients keep their sessions; the key of the tickets is made when httpd starts, and new visitors make full handshakes as before";

/// The user's certificate that the listener for these requests shows.
pub(super) fn certificate(config: &Config, requests: &Requests) -> Option<Certificate> {
    let route = Route::find(config, requests)?;
    let shown = route.of_host(config, &["sslcertificatefile"]).or_else(|| config.named("sslcertificatefile").next())?;
    let named = config.found().iter().filter(|f| ["servername", "serveralias"].contains(&f.name.as_str()));
    let names: Vec<String> = named.flat_map(|found| found.args.clone()).chain([requests.host.clone()]).collect();
    let names = names.iter().map(|name| authority::bare(name.rsplit("://").next().unwrap_or_default())).collect();
    let file = shown.arg(0).map(|path| config.root().join(path));
    Some(Certificate { names, file, setting: "SSLCertificateFile", place: config.place(shown) })
}

/// Whether there is a cache of sessions that all children have (`SSLSessionCache none` and `nonenotnull` are none).
fn cache(config: &Config) -> Option<&str> {
    let cache = config.named("sslsessioncache").last()?.arg(0)?;
    (!cache.to_ascii_lowercase().starts_with("none")).then_some(cache)
}

/// How sessions are resumed, from the configuration alone.
pub(super) fn told(config: &Config, requests: &Requests) -> String {
    match (cache(config), tickets(config, requests)) {
        (Some(cache), true) => format!("sessions are resumed from SSLSessionCache {cache}, or by tickets"),
        (Some(cache), false) => format!("sessions are resumed from SSLSessionCache {cache}"),
        (None, true) => "sessions are resumed by tickets (SSLSessionTickets On)".to_owned(),
        (None, false) => "no session is resumed: SSLSessionTickets Off, and there is no SSLSessionCache".to_owned(),
    }
}

fn tickets(config: &Config, requests: &Requests) -> bool {
    let value = config.value_of(SSL_SESSION_TICKETS.name, requests);
    value.is_ok_and(|(value, _)| !value.eq_ignore_ascii_case("off"))
}

/// Tickets that are off where nothing else keeps sessions. None otherwise: it is something else then that keeps sessions from being resumed.
pub(super) fn sessions(config: &Config, requests: &Requests) -> Option<Sessions> {
    let (value, origin) = config.value_of(SSL_SESSION_TICKETS.name, requests).ok()?;
    (cache(config).is_none() && !tickets(config, requests)).then(|| Sessions {
        setting: SSL_SESSION_TICKETS.name,
        value,
        origin,
        word: "On".to_owned(),
        price: PRICE,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use genkai_model::limit::Origin;

    use super::super::config::Reading;
    use super::*;

    /// httpd 2.4.68 with a client that offers its session again resumes in just these cases.
    #[test]
    fn sessions_are_resumed_by_tickets_or_from_a_cache() {
        let of = |all: &str, host: &str| {
            let text = format!(
                "Listen 443\n{all}\n<VirtualHost *:443>\nSSLEngine on\nSSLCertificateFile /c.pem\n{host}\nProxyPass / http://127.0.0.1:9/\n</VirtualHost>\n"
            );
            let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 68) };
            let config = Config::of_text(Path::new("/a.conf"), text.into(), reading).unwrap();
            let requests = Requests::to("localhost", "/");
            let sessions = sessions(&config, &requests).map(|one| (one.value, one.origin, one.word));
            (told(&config, &requests), sessions)
        };
        let at = |line| Origin::File { path: "/a.conf".into(), line };
        assert!(of("", "").0.contains("by tickets") && of("", "").1.is_none());
        for none in ["", "SSLSessionCache none", "SSLSessionCache nonenotnull"] {
            let (told, sessions) = of(none, "SSLSessionTickets off");
            assert!(told.starts_with("no session is resumed"), "{told}");
            assert_eq!(sessions, Some(("off".to_owned(), at(6), "On".to_owned())));
        }
        assert_eq!(of("SSLSessionTickets Off", "").1.map(|(_, origin, _)| origin), Some(at(2)));
        assert!(of("SSLSessionCache shmcb:/run/scache(512000)", "").0.ends_with(", or by tickets"));
        let (told, sessions) = of("SSLSessionCache shmcb:/run/scache(512000)", "SSLSessionTickets off");
        assert!(
            told.contains("from SSLSessionCache shmcb:") && sessions.is_none() && !told.contains("tickets"),
            "{told}"
        );
    }
}
