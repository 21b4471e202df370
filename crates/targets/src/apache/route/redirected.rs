//! Where a plain listener leads that only redirects to TLS, as certbot and most guides write it before a site.

use genkai_model::load::host_sent;

use super::rewrite::{Asked, Rule, Sent, answers, rules};
use super::{Route, expression};
use crate::apache::config::{Config, Found};
use crate::files::Requests;

/// The directive by which requests on a plain listener are surely redirected to the same target over TLS under the same name, and the port there. What
/// leads to another page is not followed: that would be another load.
pub(super) fn to_tls<'c>(config: &'c Config, plain: &Route<'_>, requests: &Requests) -> Option<(&'c Found, u16)> {
    let asked = Asked { host: host_sent(&requests.host, plain.is_tls(config)), path: &requests.path, method: None };
    let first = answers(config, plain, asked).into_iter().next().filter(|sent| sent.certain)?;
    let url = target(config, plain, &first, asked)?;
    let rest = url.strip_prefix("https://")?;
    let (authority, to) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) => (name, port.parse().ok()?),
        None => (authority, 443),
    };
    let own = asked.host.split(':').next().unwrap_or_default();
    let to = if to.starts_with('/') { to.to_owned() } else { format!("/{to}") };
    (name.eq_ignore_ascii_case(own) && to == asked.path).then_some((first.found, port))
}

/// The URL that a client is sent to; none where that is not known.
fn target(config: &Config, route: &Route<'_>, sent: &Sent<'_>, asked: Asked<'_>) -> Option<String> {
    let (path, query) = asked.path.split_once('?').map_or((asked.path, None), |(path, query)| (path, Some(query)));
    let to = sent.to?;
    let (url, drops) = match sent.found.name.as_str() {
        "rewriterule" => {
            let rule = rules(config, route, asked).into_iter().find(|rule| std::ptr::eq(rule.found, sent.found))?;
            // With a `?` at its end it has no query (modules/mappers/mod_rewrite.c: splitout_queryargs).
            let bare = to.strip_suffix('?');
            let drops = bare.is_some() || rule.has(&["qsd", "qsdiscard"]);
            (route.made(config, &Rule { to: bare.or(Some(to)), ..rule }, asked)?, drops)
        }
        "redirectmatch" => (expression::replaced(pattern(sent.found)?, path, to)?, false),
        _ => (format!("{to}{}", path.strip_prefix(pattern(sent.found)?)?), false),
    };
    // The query follows by itself where the URL has none (modules/mappers/mod_alias.c: fixup_redir).
    match query.filter(|query| !drops && !query.is_empty()) {
        Some(_) if url.contains('?') => None,
        Some(query) => Some(format!("{url}?{query}")),
        None => Some(url),
    }
}

/// What a `Redirect` or `RedirectMatch` looks for: the word before the last.
fn pattern(found: &Found) -> Option<&str> {
    found.args.iter().rev().nth(1).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::apache::config::Reading;

    #[test]
    fn only_what_leads_to_the_same_page_over_tls_is_followed() {
        let followed = |path: &str, lines: &str| {
            let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
            let tls = "<VirtualHost *:443>\nServerName a.example\nSSLEngine on\n</VirtualHost>\n";
            let text = format!(
                "Listen 80\nListen 443\n<VirtualHost *:80>\nServerName a.example\n{lines}\n</VirtualHost>\n{tls}"
            );
            let config = Config::of_text(Path::new("/x/httpd.conf"), text.into(), reading).unwrap();
            let route = Route::find(&config, &Requests::to("a.example", path)).unwrap();
            (route.listen.port == 443, route.redirect.is_some())
        };
        let rule = |to: &str| format!("RewriteEngine on\nRewriteRule {to}");
        for (path, lines, expected) in [
            ("/blog/1", "Redirect permanent / https://a.example/".to_owned(), true),
            ("/a?b=c", "Redirect / https://A.example/".to_owned(), true),
            ("/", "Redirect / https://a.example".to_owned(), true),
            ("/blog/1", "Redirect / https://a.example/app/".to_owned(), false),
            ("/blog/1", "Redirect / https://b.example/".to_owned(), false),
            ("/blog/1", "RedirectMatch ^/(.*)$ https://a.example/$1".to_owned(), true),
            ("/blog/1", "RedirectMatch ^/ https://a.example/".to_owned(), false),
            ("/", "RedirectMatch ^/$ https://a.example/app/".to_owned(), false),
            ("/a?b=c", rule("^ https://%{SERVER_NAME}%{REQUEST_URI} [END,NE,R=permanent]"), true),
            ("/a?b=c", rule("^/?(.*) https://%{HTTP_HOST}/$1 [R=301,L]"), true),
            ("/a?b=c", rule("^/?(.*) https://%{HTTP_HOST}/$1? [R=301,L]"), false),
            ("/a?b=c", rule("^/?(.*) https://%{HTTP_HOST}/$1 [R=301,QSD]"), false),
            ("/blog/1", rule("^ https://a.example/ [R]"), false),
            ("/blog/1", rule("^ https://%{ENV:NAME}%{REQUEST_URI} [R]"), false),
            ("/blog/1", rule("^/other https://a.example%{REQUEST_URI} [R]"), false),
        ] {
            assert_eq!(followed(path, &lines), (expected, expected), "{path} {lines}");
        }
    }
}
