//! What a configuration means and what is wrong with it, told from its text alone: nothing is started, and httpd need not be
//! installed.

mod clamped;
mod refused;
mod remarks;
mod timers;

use std::collections::BTreeSet;
use std::path::Path;

use genkai_model::explain::{Explanation, Led, Remark, RemarkKind};

use super::config::{Config, Found, Reading};
use super::handler::{self, Goes};
use super::lifecycle::environment;
use super::limits::{self, Facts};
use super::overrides::Overrides;
use super::route::rewrite::leading;
use super::route::{Route, is_url};
use super::secured;
use super::within::document;
use crate::error::TargetError;
use crate::explain::{Explain, explanation, in_place_of_errors, remark};
use crate::files::Requests;
use crate::product::explained;

/// What is taken for the version of a server that is not asked: defaults are those of httpd 2.4.68.
const VERSION: (u32, u32, u32) = (2, 4, 68);

/// Explains a configuration.
///
/// # Errors
/// A file that is missing, unreadable, or not httpd's syntax.
pub(crate) fn explain(what: &Explain<'_>) -> Result<Explanation, TargetError> {
    let Explain { main, requests, machine, .. } = *what;
    let folder = main.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    // Debian's HTTPD_ROOT is the main file's folder; others say ServerRoot.
    let reading =
        Reading { root: folder, environment: environment(Some(main)), defines: BTreeSet::new(), version: VERSION };
    let config = Config::read(main, reading)?;
    let facts = Facts::of(&config, requests, machine);
    let mut limits = limits::of(&facts);
    let route = Route::find(&config, requests);
    // A listener without TLS has no handshakes, whatever certificates others show.
    let shown =
        route.as_ref().filter(|route| route.is_tls(&config)).and_then(|_| secured::certificate(&config, requests));
    limits.extend(explained("apache", shown.as_ref(), &secured::told(&config, requests)));
    let files = config.files().filter(|(id, _)| !config.is_use(*id)).map(|(_, file)| file.path.clone());
    let mut remarks = remarks::of(&config, &facts);
    remarks.extend(route.as_ref().map(|route| led(&config, route, requests)).unwrap_or_default());
    remarks.extend(route.as_ref().and_then(|route| unopened(&config, route, requests)));
    let explained = explanation("apache", files, limits, timers::of(&config, &facts, requests), remarks);
    let explained = Explanation { led: route.as_ref().and_then(|route| redirected(&config, route)), ..explained };
    Ok(in_place_of_errors(explained, "Apache", |status| {
        let document = document(&config, route.as_ref()?, requests, status)?;
        instead(&config, route.as_ref()?, document)
    }))
}

/// The plain listener that leads these requests to the one that is explained.
fn redirected(config: &Config, route: &Route<'_>) -> Option<Led> {
    let (by, listen) = (route.redirect?, route.listen.found);
    let (place, at) = (config.place(by), config.place(listen));
    Some(Led { by: by.written(), place, to: listen.written(), at })
}

/// Rules and handlers that may lead these requests elsewhere.
fn led(config: &Config, route: &Route<'_>, requests: &Requests) -> Vec<Remark> {
    let say = |found: &Found| {
        let text = "may lead these requests elsewhere than their path says, and is not followed: the limits and timers of what it leads to (max= of a \
                    worker, its connections) are not among those below";
        remark(RemarkKind::Unsure, Some(config.place(found)), &found.words[0].value, text.to_owned(), None)
    };
    let by_handler = match handler::goes(config, route, requests) {
        Goes::Untold(found) => Some(found),
        _ => None,
    };
    let led = leading(config, route, requests).into_iter().chain(by_handler).map(say);
    led.chain(overridden(config, route, requests)).collect()
}

/// Files of folders that count for these requests.
fn overridden(config: &Config, route: &Route<'_>, requests: &Requests) -> Option<Remark> {
    let overrides = Overrides::of(config, route, requests);
    let by = overrides.files.first()?.by;
    let read = match overrides.merged {
        Some(_) => "of what they say, only where it leads these requests, and whether it denies them, is evaluated",
        None => "what they say is not evaluated",
    };
    let text = format!("lets {} count for these requests: {read}", overrides.paths());
    Some(remark(RemarkKind::Unsure, Some(config.place(by)), &by.words[0].value, text, None))
}

/// A pass by which no WebSocket is opened: by `http:` one is where the worker has `upgrade=` (httpd 2.4.47 and later; proxy_util.c:
/// ap_proxy_worker_can_upgrade), and by `ws:` in any case.
fn unopened(config: &Config, route: &Route<'_>, requests: &Requests) -> Option<Remark> {
    let led = || route.rewritten(config, requests).is_some() || !leading(config, route, requests).is_empty();
    let pass = route.pass(config, &requests.path).filter(|_| requests.websocket && !led())?;
    let plain = ["http://", "https://"].iter().any(|scheme| pass.url.to_ascii_lowercase().starts_with(scheme));
    let worker = route.worker(config, &pass, &requests.path);
    let upgrades = worker.as_ref().is_some_and(|worker| worker.parameter("upgrade").is_some());
    (plain && !upgrades).then(|| {
        let text = "no WebSocket is opened through it: a client's `Upgrade` header is not passed on without upgrade=, so the server behind takes its \
                    request for a plain one";
        let hint = Some("upgrade=websocket (httpd 2.4.47 and later), or a ws: URL with mod_proxy_wstunnel".to_owned());
        remark(RemarkKind::Ignored, Some(config.place(pass.found)), &pass.found.words[0].value, text.to_owned(), hint)
    })
}

/// What clients get by an `ErrorDocument`, where that is not the error's status, or may not be: what a path answers keeps it, unless a script or a server that it
/// is passed to says otherwise.
fn instead(config: &Config, route: &Route<'_>, document: &Found) -> Option<String> {
    let (page, place) = (document.arg(1)?, config.place(document));
    let is_text = |page: &str| [".html", ".htm", ".txt"].iter().any(|end| page.to_ascii_lowercase().ends_with(end));
    match page {
        _ if is_url(page) => Some(format!("302 to {page} (ErrorDocument at {place})")),
        _ if !page.starts_with('/') => None,
        _ if route.pass(config, page).is_some() => Some(format!("what {page} is answered (ErrorDocument at {place})")),
        _ if is_text(page) => None,
        _ => Some(format!(
            "what {page} answers, with another status if it is a script that says one (ErrorDocument at {place})"
        )),
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
    fn a_rule_that_may_lead_a_request_elsewhere_is_told_and_no_other() {
        let told = |rules: &str, path: &str| {
            let reading = Reading { root: "/x".into(), environment: [].into(), defines: [].into(), version: VERSION };
            let text = format!("Listen 80\nRewriteEngine On\n{rules}");
            let config = Config::of_text(Path::new("/x/httpd.conf"), text.into(), reading).unwrap();
            let requests = Requests::to("x", path);
            led(&config, &Route::find(&config, &requests).unwrap(), &requests).len()
        };
        let to_server = "RewriteRule ^/api/(.*)$ http://127.0.0.1:9/$1 [P]\n";
        assert_eq!((told(to_server, "/api/x"), told(to_server, "/other")), (0, 0), "it is followed");
        let open = "RewriteRule ^/api/(.*)$ http://%{ENV:TO}/$1 [P]\n";
        assert_eq!((told(open, "/api/x"), told(open, "/other")), (1, 0));
        let inner = format!("<Location /api>\n{to_server}</Location>\n");
        assert_eq!((told(&inner, "/api/x"), told(&inner, "/other")), (1, 0));
        let handler = "<If \"true\">\nSetHandler \"proxy:http://127.0.0.1:9\"\n</If>\n";
        assert_eq!(told(handler, "/other"), 1);
        let to_path = "RewriteRule ^/api/(.*)$ /px/$1 [PT]\n";
        let pass = "ProxyPass /px/ http://127.0.0.1:9/ max=3\n";
        assert_eq!(told(&format!("{to_path}{pass}"), "/api/x"), 1);
        assert_eq!(told(to_path, "/api/x"), 0, "nothing stands behind any path");
        let second = format!("{to_path}RewriteRule ^/px/(.*)$ http://127.0.0.1:9/$1 [P]\n");
        assert_eq!(told(&second, "/api/x"), 1, "the path is another one behind the first");
        let refused = format!("RewriteRule ^/api/ - [F]\n{to_server}");
        assert_eq!((told(&refused, "/api/x"), told("RewriteRule ^/api http://x/ [R]\n", "/api")), (0, 0));
        let unsure = format!("RewriteCond %{{HTTP:Cookie}} a\n{to_server}");
        assert_eq!(told(&unsure, "/api/x"), 1);
    }

    #[test]
    fn handshakes_are_no_limit_of_a_listener_without_tls() {
        let secured = "<VirtualHost *:443>\nSSLEngine on\nSSLCertificateFile /nosuch.pem\n</VirtualHost>\n";
        let key = "apache.tls_key".to_owned();
        assert!(told(&format!("Listen 443\n{secured}")).contains(&key));
        assert!(!told(&format!("Listen 80\nListen 443\n{secured}")).contains(&key));
    }
}
