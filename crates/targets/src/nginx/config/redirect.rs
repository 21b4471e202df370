//! Where a plain listener leads that only redirects to TLS, as certbot and most guides write it before a site.

use super::{Address, Config, Family, Found, Route, Way, asked};
use crate::files::Requests;

/// Variables that hold the name that a request came for.
const SAME_NAME: [&str; 2] = ["$host", "$http_host"];

/// Whether a status sends a client elsewhere (RFC 9110, 15.4).
fn is_redirect(status: u16) -> bool {
    matches!(status, 301..=303 | 307 | 308)
}

/// Where a redirect begins to repeat the path.
const PATH_BEGINS: [&str; 4] = ["/", "$request_uri", "$uri", "$1"];

impl Config {
    /// The route of these requests. A plain listener that only redirects them to TLS under the same name is followed to where it leads
    /// ([`Route::redirect`]).
    pub fn route_of(&self, requests: &Requests) -> Option<Route<'_>> {
        let (host, path) = asked(requests);
        let route = self.route(host, path)?;
        Some(self.secured(&route, host, path).unwrap_or(route))
    }

    /// The route behind a redirect to TLS. Of several listeners on its port, one whose server has the name comes first.
    fn secured<'a>(&'a self, plain: &Route<'a>, host: Option<&str>, path: &str) -> Option<Route<'a>> {
        if plain.listen.as_ref().is_some_and(|listen| listen.ssl) {
            return None;
        }
        let (redirect, to) = redirect(plain, host, path)?;
        let there = |address: &Address| matches!(address, Address::Inet { port, .. } if *port == to);
        let listens = self.listens().into_iter();
        let listens = listens.filter(|l| l.family == Family::Http && !l.udp && l.ssl && there(&l.address));
        let mut routes: Vec<Route<'a>> = listens.filter_map(|l| self.route_by(Some(&l.address), host, path)).collect();
        let named = host.and_then(|host| routes.iter().position(|route| super::route::is_named(&route.server, host)));
        let found = (!routes.is_empty()).then(|| routes.swap_remove(named.unwrap_or(0)))?;
        Some(Route { redirect: Some(redirect), ..found })
    }
}

/// The directive that redirects a request that came in without TLS to the same target over TLS under the same name, and the port it leads to. What leads
/// to another page is not followed: that would be another load.
fn redirect<'a>(plain: &Route<'a>, host: Option<&str>, path: &str) -> Option<(Found<'a>, u16)> {
    let [way] = &plain.ways[..] else { return None };
    let (found, _) = way.by.as_ref().filter(|(_, status)| way.status == Some(*status) && is_redirect(*status))?;
    let name = plain.server.inside().into_iter().find(|f| f.directive.is("server_name")).and_then(|f| f.arg(0));
    let url = target(found)?;
    let rest = url.strip_prefix("https://")?;
    let (authority, to) =
        rest.split_at(PATH_BEGINS.iter().filter_map(|begin| rest.find(begin)).min().unwrap_or(rest.len()));
    let (authority, port) =
        authority.rsplit_once(':').map_or((authority, Some(443)), |(name, port)| (name, port.parse().ok()));
    let same = SAME_NAME.contains(&authority)
        || (authority == "$server_name" && (host.is_none() || host == name.as_deref()))
        || host.is_some_and(|host| host.split(':').next() == Some(authority));
    let leads = led(found, way, to)? == path;
    (same && leads).then_some((found.clone(), port?))
}

/// The URL that a `return` or `rewrite` sends clients to.
fn target(found: &Found<'_>) -> Option<String> {
    let args = found.args();
    if found.directive.is("return") { args.last().cloned() } else { args.get(1).cloned() }
}

/// Path and query that a URL with this end leads to; none where that is not known. A `rewrite` adds the query unless its URL ends with `?`
/// (ngx_http_rewrite_module.c: ngx_http_rewrite).
fn led(found: &Found<'_>, way: &Way<'_>, to: &str) -> Option<String> {
    let adds = found.directive.is("rewrite") && !to.ends_with('?');
    let to = if found.directive.is("rewrite") { to.trim_end_matches('?') } else { to };
    let value = way.variables.value(to);
    let made = value.constant()?;
    let made = if made.is_empty() { "/" } else { made };
    let args = way.variables.args.as_deref().filter(|args| adds && !args.is_empty());
    let sign = if made.contains('?') { '&' } else { '?' };
    Some(args.map_or_else(|| made.to_owned(), |args| format!("{made}{sign}{args}")))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The `listen` that requests to `host` come in by, and whether a redirect led there.
    fn listen(text: &str, host: &str) -> (String, bool) {
        asking(text, host, "/blog/1")
    }

    fn asking(text: &str, host: &str, path: &str) -> (String, bool) {
        let text = format!("http {{ {text} }}").into_bytes();
        let config = Config::of_text(Path::new("/n.conf"), text, Path::new("")).unwrap();
        let route = config.route_of(&Requests::to(host, path)).unwrap();
        (route.listen.unwrap().found.args().join(" "), route.redirect.is_some())
    }

    const SITE: &str = "server { server_name a.example; listen [::]:443 ssl; listen 443 ssl; }";

    #[test]
    fn what_certbot_and_guides_write_is_followed_to_tls() {
        let plain = [
            "if ($host = a.example) { return 301 https://$host$request_uri; } return 404;",
            "return 301 https://$host$request_uri;",
            "return 302 https://a.example$request_uri;",
            "return https://$server_name$request_uri;",
            "location / { return 308 https://$http_host$request_uri; }",
            "rewrite ^ https://$host$request_uri? permanent;",
            "rewrite ^/(.*)$ https://a.example/$1 redirect;",
            "if ($scheme != \"https\") { return 301 https://$host$request_uri; } location / { }",
            "location ^~ /.well-known/ { root /x; } location / { return 301 https://$host:443$request_uri; }",
        ];
        for plain in plain {
            let text = format!("server {{ listen 80; server_name a.example; {plain} }} {SITE}");
            assert_eq!(listen(&text, "a.example"), ("[::]:443 ssl".to_owned(), true), "{plain}");
        }
    }

    #[test]
    fn what_does_more_than_redirect_to_the_same_name_is_not() {
        let plain = [
            "location / { proxy_pass http://127.0.0.1:9; }",
            "return 301 https://b.example$request_uri;",
            "return 301 http://$host$request_uri;",
            "return 301 https://$host:8443$request_uri;",
            "return 200 https://$host/;",
            "if ($host = b.example) { return 301 https://$host$request_uri; }",
            "if ($http_user_agent ~ bot) { return 301 https://$host$request_uri; }",
            "location /other { return 301 https://$host$request_uri; }",
            "rewrite ^/old https://$host/new permanent;",
            "rewrite ^/ https://$host/new permanent;",
            "return 301 https://b.example$request_uri; location / { return 301 https://$host$request_uri; }",
        ];
        for plain in plain {
            let text = format!("server {{ listen 80; server_name a.example; {plain} }} {SITE}");
            assert_eq!(listen(&text, "a.example"), ("80".to_owned(), false), "{plain}");
        }
    }

    /// A load of another page than the one asked for would be another load.
    #[test]
    fn only_what_leads_to_the_same_page_over_tls_is_followed() {
        let asked = |path: &str, plain: &str| {
            asking(&format!("server {{ listen 80; server_name a.example; {plain} }} {SITE}"), "a.example", path).1
        };
        for (path, plain, followed) in [
            ("/", "return https://$server_name/;", true),
            ("/", "return https://$host;", true),
            ("/blog/1", "return https://$server_name/;", false),
            ("/blog/1", "return https://$host;", false),
            ("/", "location = / { return 301 https://$host/app/; }", false),
            ("/a?b=c", "return 301 https://$host$request_uri;", true),
            ("/a?b=c", "return 301 https://$host$uri;", false),
            ("/a?b=c", "return 301 https://$host$uri$is_args$args;", true),
            ("/a?b=c", "rewrite ^/(.*)$ https://$host/$1 permanent;", true),
            ("/a?b=c", "rewrite ^/(.*)$ https://$host/$1? permanent;", false),
            ("/a?b=c", "rewrite ^(.*)$ https://$host$1 permanent;", true),
            ("/a", "rewrite ^/(.*)$ https://$host/new/$1 permanent;", false),
            ("/a", "return 301 https://$host$request_uri$cookie_x;", false),
        ] {
            assert_eq!(asked(path, plain), followed, "{path} {plain}");
        }
    }

    #[test]
    fn of_several_sites_the_one_with_the_name_is_reached() {
        let all = "server { listen 80 default_server; return 301 https://$host$request_uri; } \
                   server { listen 10.0.0.1:443 ssl; server_name b.example; } \
                   server { listen 443 ssl; server_name c.example; }";
        assert_eq!(listen(all, "c.example"), ("443 ssl".to_owned(), true));
        assert_eq!(listen(all, "b.example"), ("10.0.0.1:443 ssl".to_owned(), true));
    }
    #[test]
    fn of_several_listeners_the_one_whose_server_has_the_name_is_asked() {
        let first = "server { listen 8081; stub_status; }";
        assert_eq!(listen(&format!("{first} server {{ listen 8080; server_name front *.x; }}"), "front").0, "8080");
        assert_eq!(listen(&format!("{first} server {{ listen 8080; server_name front *.x; }}"), "A.X:8080").0, "8080");
        assert_eq!(listen(&format!("{first} server {{ listen 8080; server_name front; }}"), "other").0, "8081");
        assert_eq!(listen(&format!("{first} server {{ listen 443 ssl; server_name front; }}"), "front").0, "8081");
    }
}
