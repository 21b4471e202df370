//! What Caddy decides by its own port or address (`{http.request.local.port}`, from 2.7 on), and by the port in the Host header (`{port}`).

use super::config::{Config, Line};
use super::route::Route;
use crate::files::{Requests, masked};
use crate::product::ByPort;

/// Placeholders of the listener's own place.
const OWN: [&str; 3] = ["{http.request.local.port}", "{http.request.local.host}", "{http.request.local}"];
/// ... and of what the Host header has of a port (modules/caddyhttp/replacer.go, caddyconfig/httpcaddyfile/shorthands.go).
const HOST: [&str; 4] = ["{http.request.port}", "{http.request.hostport}", "{port}", "{hostport}"];

/// Lines in which a value decides what comes of a request.
const DECIDES: [&str; 12] = [
    "expression",
    "vars",
    "vars_regexp",
    "map",
    "rewrite",
    "try_files",
    "reverse_proxy",
    "to",
    "root",
    "file",
    "not",
    "uri",
];

/// The first line that decides by the listener's own, in the site of these requests.
pub(super) fn by_port(config: &Config, requests: &Requests) -> Option<ByPort> {
    let route = Route::find(config, requests)?;
    let found = decides(&route, &OWN)?;
    Some(ByPort { place: config.place(found), written: config.written(found), ports: None, unsure: None })
}

/// A sentence where the site decides by the port in the Host header: clients send one, and the load has none.
pub(super) fn unsent(config: &Config, requests: &Requests) -> Option<String> {
    let route = Route::find(config, requests)?;
    let (port, usual) = (route.address.port, if route.tls { 443 } else { 80 });
    let found = decides(&route, &HOST).filter(|_| requests.port().is_none() && port != usual)?;
    Some(format!(
        "`{}` at {} decides by the port in the Host header, which clients of port {port} send, and the load sends none: \
         `-H 'Host: NAME:{port}'` sends it",
        masked(&config.written(found)),
        config.place(found)
    ))
}

/// The first line of a site that decides by one of these placeholders.
fn decides<'c>(route: &Route<'c>, placeholders: &[&str]) -> Option<&'c Line> {
    let mut first = None;
    let mut look = |line: &'c Line| {
        let has = line.args().iter().any(|word| placeholders.iter().any(|one| word.value.contains(one)));
        let is = line.name().starts_with('@') || DECIDES.contains(&line.name());
        if first.is_none() && is && has {
            first = Some(line);
        }
    };
    route.site.lines.iter().for_each(|line| line.all(&mut look));
    first
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::caddy::config::Variables;

    fn config(lines: &str) -> Config {
        let text = format!(
            "http://:8080 {{\n{lines}\nreverse_proxy 127.0.0.1:9\n}}\nhttp://:81 {{\n@x vars {{http.request.local.port}} 81\n}}\n"
        );
        Config::of_texts(vec![(Path::new("/x/Caddyfile").into(), text.into())], Variables::new()).unwrap()
    }

    #[test]
    fn a_matcher_of_the_listeners_own_port_decides_and_what_only_tells_does_not() {
        let line = |lines: &str| by_port(&config(lines), &Requests::to("localhost", "/")).map(|by| by.place);
        let at = |line: u32| Some(format!("/x/Caddyfile:{line}"));
        assert_eq!(line("@a vars {http.request.local.port} 8080\nrespond @a 403"), at(2));
        assert_eq!(line("@a {\nexpression `{http.request.local.port} == 8080`\n}\nrespond @a 403"), at(3));
        assert_eq!(line("header X {http.request.local.port}\n@a vars {http.request.uri} /x"), None);
    }

    #[test]
    fn a_port_of_the_host_header_that_the_load_does_not_send_is_told() {
        let told = |host: &str, lines: &str| unsent(&config(lines), &Requests::to(host, "/"));
        let said = told("localhost", "@a expression `{port} == 8080`\nrespond @a 403").unwrap();
        assert!(
            said.starts_with("`@a expression `{port} == 8080`` at /x/Caddyfile:2 decides by the port in the Host"),
            "{said}"
        );
        assert_eq!(told("localhost:8080", "@a expression `{port} == 8080`"), None);
        assert_eq!(told("localhost", "header X {port}"), None);
    }
}
