//! What a configuration means and what is wrong with it, told from its text alone: nothing is started, and HAProxy need not be
//! installed.

mod remarks;
mod timers;
mod values;

use std::path::Path;

use genkai_model::explain::{Explanation, Led};

use super::config::{Config, Reading};
use super::limits::{self, Facts};
use super::pages::{Page, Sent, pages, status_of};
use super::route::Route;
use super::secured;
use crate::error::TargetError;
use crate::explain::{Explain, explanation, in_place_of_errors};
use crate::product::explained;

/// What is taken for the version of a server that is not asked: defaults are those of HAProxy 2.6.
const VERSION: (u32, u32, u32) = (2, 6, 12);
/// What Debian's build has, as far as configurations ask for it (`haproxy -vv`).
const FEATURES: [&str; 10] =
    ["EPOLL", "GETADDRINFO", "LUA", "NS", "OPENSSL", "PCRE2", "PROMEX", "SYSTEMD", "TFO", "THREAD"];

/// Explains a configuration.
///
/// # Errors
/// A file that is missing, unreadable, or not HAProxy's syntax.
pub(crate) fn explain(what: &Explain<'_>) -> Result<Explanation, TargetError> {
    let Explain { main, requests, machine, memory } = *what;
    let reading = Reading::here(VERSION, FEATURES.map(str::to_owned).into());
    let config = Config::read(main, reading)?;
    let facts = Facts::of(&config, None, requests, machine, memory);
    let mut limits = limits::of(&facts);
    let route = Route::find(&config, requests);
    // A listener without TLS has no handshakes, whatever certificates others show.
    let shown = route.as_ref().filter(|route| route.bind.tls).and_then(|_| secured::certificate(&config, requests));
    limits.extend(explained("haproxy", shown.as_ref(), &secured::told(&config, requests)));
    let files = config.files().map(|(_, file)| file.path.clone());
    let remarks = remarks::of(&config, &facts, requests);
    let explained = explanation("haproxy", files, limits, timers::of(&config, requests), remarks);
    let explained = Explanation { led: route.as_ref().and_then(|route| led(&config, route)), ..explained };
    let pages = route.as_ref().map(|route| pages(&config, route)).unwrap_or_default();
    Ok(in_place_of_errors(explained, "HAProxy", |status| instead(&config, pages.get(&status)?, status)))
}

/// The plain listener that leads these requests to the one that is explained.
fn led(config: &Config, route: &Route<'_>) -> Option<Led> {
    let (by, bind) = (route.redirect?, route.bind.found);
    let (place, at) = (config.place(by), config.place(bind));
    Some(Led { by: by.written(), place, to: bind.written(), at })
}

/// What clients get in the place of a status; none: that status. Relative paths start where HAProxy is started, which nobody knows here.
fn instead(config: &Config, page: &Page<'_>, status: u16) -> Option<String> {
    let by = format!("({} at {})", page.line.name(), config.place(page.line));
    match &page.sent {
        Sent::Own => None,
        Sent::Elsewhere(other, to) => Some(format!("{other} to {to} {by}")),
        Sent::File(file) => match status_of(file, Path::new("/")).filter(|_| file.starts_with('/')) {
            Some(same) if same == status => None,
            Some(other) => Some(format!("{other} {by}")),
            None => Some(format!("what {file} has, which was not read {by}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::limits_of;

    fn told(text: &str) -> Vec<String> {
        limits_of(explain, text)
    }

    #[test]
    fn handshakes_are_no_limit_of_a_listener_without_tls() {
        let front =
            "frontend s\n bind :443 ssl crt /nosuch.pem\n default_backend b\nbackend b\n server s 127.0.0.1:9\n";
        let key = "haproxy.tls_key".to_owned();
        assert!(told(front).contains(&key));
        assert!(!told(&format!("frontend f\n bind :80\n default_backend b\n{front}")).contains(&key));
    }
}
