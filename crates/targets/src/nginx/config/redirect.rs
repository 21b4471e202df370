//! Where a plain listener leads that only redirects to TLS, as certbot and most guides write it before a site.

use super::location::matches;
use super::{Address, Config, Family, Found, Route, asked};
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

/// The directive that redirects a request that came in without TLS to TLS under the same name, and the port it leads to.
fn redirect<'a>(plain: &Route<'a>, host: Option<&str>, path: &str) -> Option<(Found<'a>, u16)> {
    let [way] = &plain.ways[..] else { return None };
    if !way.status.is_some_and(is_redirect) {
        return None;
    }
    let name = plain.server.inside().into_iter().find(|f| f.directive.is("server_name")).and_then(|f| f.arg(0));
    let blocks = std::iter::once(&plain.server).chain(plain.handler().last());
    blocks.flat_map(|block| answers(block)).find_map(|found| {
        let to = target(&found, path)?;
        let (authority, port) = to.rsplit_once(':').map_or((&*to, Some(443)), |(name, port)| (name, port.parse().ok()));
        let same = SAME_NAME.contains(&authority)
            || (authority == "$server_name" && (host.is_none() || host == name.as_deref()))
            || host.is_some_and(|host| host.split(':').next() == Some(authority));
        same.then_some((found, port?))
    })
}

/// The `return` and `rewrite` of a block and of the `if` in it.
fn answers<'a>(block: &Found<'a>) -> Vec<Found<'a>> {
    let own = |f: &Found<'_>| f.directive.is("return") || f.directive.is("rewrite");
    let within = |f: Found<'a>| if f.directive.is("if") { f.inside() } else { vec![f] };
    block.inside().into_iter().flat_map(within).filter(own).collect()
}

/// The authority of the `https://` address that a `return` or `rewrite` sends a request for `path` to.
fn target(found: &Found<'_>, path: &str) -> Option<String> {
    let args = found.args();
    let url = if found.directive.is("return") {
        let code = args.first()?.parse::<u16>().ok();
        if code.is_some_and(|code| !is_redirect(code)) {
            return None;
        }
        args.last()?.clone()
    } else {
        let all = matches(args.first()?.as_bytes(), path, false) == Some(true);
        args.get(1).filter(|_| all)?.clone()
    };
    let rest = url.strip_prefix("https://")?;
    let end = PATH_BEGINS.iter().filter_map(|begin| rest.find(begin)).min().unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The `listen` that requests to `host` come in by, and whether a redirect led there.
    fn listen(text: &str, host: &str) -> (String, bool) {
        let text = format!("http {{ {text} }}").into_bytes();
        let config = Config::of_text(Path::new("/n.conf"), text, Path::new("")).unwrap();
        let route = config.route_of(&Requests::to(host, "/blog/1")).unwrap();
        (route.listen.unwrap().found.args().join(" "), route.redirect.is_some())
    }

    const SITE: &str = "server { server_name a.example; listen [::]:443 ssl; listen 443 ssl; }";

    #[test]
    fn what_certbot_and_guides_write_is_followed_to_tls() {
        let plain = [
            "if ($host = a.example) { return 301 https://$host$request_uri; } return 404;",
            "return 301 https://$host$request_uri;",
            "return 302 https://a.example$request_uri;",
            "return https://$server_name/;",
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
        ];
        for plain in plain {
            let text = format!("server {{ listen 80; server_name a.example; {plain} }} {SITE}");
            assert_eq!(listen(&text, "a.example"), ("80".to_owned(), false), "{plain}");
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
