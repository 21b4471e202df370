//! What Apache decides by its own port or address: `%{SERVER_PORT}` and `%{SERVER_ADDR}` in a condition.

use genkai_model::load::host_sent;

use super::config::{Config, Found};
use super::route::Route;
use crate::files::{Requests, port_of};
use crate::product::ByPort;

/// How the two are called in conditions.
const ADDRESS: [&str; 1] = ["%{server_addr}"];
const PORT: [&str; 2] = ["%{server_port}", "%{env:server_port}"];

/// The first line that decides so, for the virtual host of these requests or for all.
pub(super) fn by_port(config: &Config, requests: &Requests) -> Option<ByPort> {
    let route = Route::find(config, requests)?;
    let mine = |found: &&Found| found.host().is_none() || found.host() == route.host;
    let first = |names: &[&str]| config.found().iter().filter(mine).find(|found| decides(found, names));
    let by_address = first(&ADDRESS);
    let physical =
        config.named("usecanonicalphysicalport").any(|f| f.arg(0).is_some_and(|on| on.eq_ignore_ascii_case("on")));
    // Nor is it the listener's where the virtual host has a name: without a port in that, it is the scheme's usual one (measured on 2.4.71). Nor where the
    // server's name or the one that is asked for has a port.
    let has_port = |name: &str| port_of(name.rsplit('/').next().unwrap_or(name)).is_some();
    let name = route.of_host(config, &["servername"]);
    let named = name.is_some_and(|found| found.host().is_some() || found.arg(0).is_some_and(has_port));
    let written = named || port_of(host_sent(&requests.host, route.is_tls(config))).is_some();
    let (found, ports) = match by_address {
        Some(found) => (found, None),
        // The server's own is the port of its virtual host, or of `ServerName` (server/core.c: ap_get_server_port); the listener's where that is asked for.
        None if !physical && (route.host.is_none() || written) => return None,
        None => (first(&PORT)?, Some(vec![route.listen.port])),
    };
    Some(ByPort {
        place: config.place(found),
        written: std::iter::once(found.words[0].value.as_str())
            .chain(found.args.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join(" "),
        ports,
        unsure: None,
    })
}

/// Whether something comes of one of these names.
fn decides(found: &Found, names: &[&str]) -> bool {
    let has =
        |texts: &[String]| texts.iter().any(|text| names.iter().any(|name| text.to_ascii_lowercase().contains(name)));
    match found.name.as_str() {
        "if" | "elseif" | "rewritecond" | "require" | "requirenot" | "setenvifexpr" | "redirectmatch" => {
            has(&found.args)
        }
        // Where it is passed to.
        "rewriterule" | "proxypassmatch" | "proxypass" => {
            has(&found.args) && !found.args.get(2).is_some_and(|flags| redirects(flags))
        }
        "setenvif" | "setenvifnocase" => {
            found.arg(0).is_some_and(|name| names == ADDRESS && name.eq_ignore_ascii_case("server_addr"))
        }
        _ => false,
    }
}

/// Whether flags of a `RewriteRule` send the client elsewhere.
fn redirects(flags: &str) -> bool {
    let each = flags.trim_matches(['[', ']']).split(',').map(|flag| flag.split('=').next().unwrap_or(flag).trim());
    each.into_iter().any(|flag| flag == "R" || flag.eq_ignore_ascii_case("redirect"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::apache::config::Reading;

    fn line(host: &str) -> Option<(String, Option<Vec<u16>>)> {
        let reading =
            Reading { root: "/etc/apache2".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        let text = format!(
            "Listen 8080\nListen 81\n<VirtualHost *:8080>\n{host}\n</VirtualHost>\n<VirtualHost *:81>\nRewriteCond %{{SERVER_PORT}} 80\n</VirtualHost>\n"
        );
        let config = Config::of_text(Path::new("/x/httpd.conf"), text.into(), reading).unwrap();
        by_port(&config, &Requests::to("x", "/")).map(|by| (by.place.rsplit(':').next().unwrap().to_owned(), by.ports))
    }

    #[test]
    fn what_is_decided_by_the_servers_own_port_is_found_and_what_is_told_others_is_not() {
        let at = |line: &str| Some((line.to_owned(), Some(vec![8080])));
        assert_eq!(line("RewriteEngine On\nRewriteCond %{SERVER_PORT} !^443$\nRewriteRule ^ https://x/ [R]"), at("5"));
        assert_eq!(line("<If \"%{SERVER_PORT} == 80\">\nRequire all denied\n</If>"), at("4"));
        assert_eq!(line("RewriteRule ^/(.*) http://127.0.0.1:9/%{SERVER_PORT}/$1 [P]"), at("4"));
        assert_eq!(
            line("ServerName x\nRewriteEngine On\nRewriteCond %{SERVER_PORT} !^443$\nRewriteRule ^ - [F]"),
            None,
            "it is 80"
        );
        assert_eq!(line("SetEnvIf Server_Addr ^10 inner"), Some(("4".to_owned(), None)), "no copy has that address");
        assert_eq!(
            line("RequestHeader set X-Port %{SERVER_PORT}s\nRewriteRule ^ https://x:%{SERVER_PORT}/ [R,L]"),
            None
        );
    }
}
