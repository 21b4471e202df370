//! What nginx decides by its own port or address (`$server_port`, `$server_addr`), at once or by variables that are made of them.

use std::collections::BTreeSet;

use super::config::{Address, Config, Found};
use super::scripts::Scripts;
use crate::files::Requests;
use crate::product::ByPort;

/// The variables.
const ADDRESS: &str = "server_addr";
const PORT: &str = "server_port";

/// What makes a variable of others: the position of its name.
const MADE: [(&str, usize); 4] = [("map", 1), ("set", 0), ("geo", 1), ("split_clients", 1)];

/// Where a value decides what comes of a request.
const DECIDES: &[&str] = &[
    "if",
    "rewrite",
    "proxy_pass",
    "fastcgi_pass",
    "uwsgi_pass",
    "scgi_pass",
    "grpc_pass",
    "try_files",
    "root",
    "alias",
    "index",
    "auth_basic",
    "limit_rate",
    "proxy_cache_bypass",
    "proxy_no_cache",
];

/// Keys by which requests are counted: the server's own port is the same for all of them, what is made of it may be empty.
const KEYS: [&str; 2] = ["limit_conn_zone", "limit_req_zone"];

/// The first line that decides so, for these requests or before their server is known.
pub(super) fn by_port(config: &Config, requests: &Requests) -> Option<ByPort> {
    let route = config.route_of(requests)?;
    let server = &route.server;
    let mine = |found: &Found<'_>| {
        let within = found.blocks.iter().find(|block| block.directive.is("server"));
        within.is_none_or(|block| (block.file, &block.directive.span) == (server.file, &server.directive.span))
    };
    let scripts = Scripts::of(config);
    let asks = |found: &Found<'_>, name: &str| scripts.ask(found, name);
    let all: Vec<Found<'_>> = config.walk().into_iter().filter(|found| found.is_under("http") && mine(found)).collect();
    // A script is told by its directive: its text may hold anything.
    let written = |found: &Found<'_>| match String::from_utf8_lossy(found.directive.name()) {
        name if name.contains("_by_lua") => name.into_owned(),
        _ => found.written(),
    };
    let first = |name: &str| decided(&all, name).or_else(|| all.iter().find(|found| asks(found, name)));
    if let Some(found) = first(ADDRESS) {
        return Some(ByPort { place: found.place(), written: written(found), ports: None, unsure: None });
    }
    // What a script loads and cannot be found may ask for either.
    let lost = || all.iter().find_map(|found| Some((found, Some(scripts.lost(found)?))));
    let (found, unsure) = first(PORT).map(|found| (found, None)).or_else(lost)?;
    let port = |address: &Address| match address {
        Address::Inet { port, .. } => Some(*port),
        Address::Unix(_) => None,
    };
    // A server without any listens at port 80, or at 8000 where nginx is not started by root.
    let made_up = if nix::unistd::geteuid().is_root() { 80 } else { 8000 };
    let ports = route.listen.as_ref().map_or(Some(made_up), |listen| port(&listen.address)).into_iter().collect();
    Some(ByPort { place: found.place(), written: written(found), ports: Some(ports), unsure })
}

/// The first of these that decides by a variable, or by one that is made of it.
fn decided<'f, 'c>(all: &'f [Found<'c>], by: &str) -> Option<&'f Found<'c>> {
    let mut made = BTreeSet::new();
    let mut own = BTreeSet::from([by.to_owned()]);
    // Variables of variables: each turn finds one more, or is the last.
    while let Some(name) = all.iter().find_map(|found| made_of(found, &own).filter(|name| !own.contains(name))) {
        own.insert(name.clone());
        made.insert(name);
    }
    all.iter().find(|found| {
        let is = |names: &[&str]| names.iter().any(|name| found.directive.is(name));
        is(DECIDES) && !redirects(found) && uses(&found.args(), &own) || is(&KEYS) && uses(&found.args(), &made)
    })
}

/// Whether a `rewrite` sends the client elsewhere (ngx_http_rewrite_module.c: ngx_http_rewrite).
fn redirects(found: &Found<'_>) -> bool {
    let (to, flag) = (found.arg(1).unwrap_or_default(), found.arg(2).unwrap_or_default());
    let away = ["http://", "https://", "$scheme"].iter().any(|start| to.starts_with(start));
    found.directive.is("rewrite") && (away || matches!(&*flag, "redirect" | "permanent"))
}

/// The variable that a directive makes of one of these.
fn made_of(found: &Found<'_>, of: &BTreeSet<String>) -> Option<String> {
    let (_, at) = MADE.iter().find(|(name, _)| found.directive.is(name))?;
    let args = found.args();
    let name = args.get(*at)?.strip_prefix('$')?.to_owned();
    let mut rest: Vec<String> =
        args.iter().enumerate().filter(|(i, _)| i != at).map(|(_, text)| text.clone()).collect();
    // Values within a block may be made of them, too.
    rest.extend(found.inside().iter().flat_map(Found::args));
    uses(&rest, of).then_some(name)
}

/// Whether one of the variables is in one of the texts.
fn uses(texts: &[String], variables: &BTreeSet<String>) -> bool {
    let in_text = |text: &String| {
        text.split('$').skip(1).any(|rest| {
            let rest = rest.strip_prefix('{').unwrap_or(rest);
            let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            variables.contains(&name)
        })
    };
    texts.iter().any(in_text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn line(http: &str, server: &str) -> Option<(String, Option<Vec<u16>>)> {
        let text = format!(
            "events {{}}\nhttp {{\n{http}\nserver {{ listen 8080;\n{server}\n}}\nserver {{ listen 81;\nif ($server_port = 81) {{ return 403; }}\n}}\n}}\n"
        );
        let config = Config::of_text(Path::new("/x/nginx.conf"), text.into(), Path::new("/x")).unwrap();
        by_port(&config, &Requests::to("x", "/")).map(|by| (by.place.rsplit(':').next().unwrap().to_owned(), by.ports))
    }

    #[test]
    fn what_is_decided_by_the_servers_own_port_is_found() {
        let at = |line: &str| Some((line.to_owned(), Some(vec![8080])));
        assert_eq!(line("", "if ($server_port = 80) { return 301 https://$host$request_uri; }"), at("5"));
        assert_eq!(
            line("map $server_port $to { 8080 a; default b; }", "location / { proxy_pass http://$to; }"),
            at("5")
        );
        let inner = "map $arg_x $mode { 1 $server_port; default off; }";
        assert_eq!(line(inner, "if ($mode = 80) { return 403; }"), at("5"));
        assert_eq!(line(inner, "add_header X $mode;"), None);
        assert_eq!(line("", "rewrite ^/(.*)$ /$server_port/$1 last;"), at("5"));
        assert_eq!(line("", "rewrite ^ https://x:$server_port/ permanent;"), None);
        assert_eq!(line("", "rewrite ^ /on-$server_port redirect;"), None);
        assert_eq!(line("", "access_by_lua_block { if ngx.var.server_port ~= '80' then ngx.exit(403) end }"), at("5"));
        assert_eq!(line("", "content_by_lua 'ngx.say(ngx.var[\"server_port\"])';"), at("5"));
        assert_eq!(line("", "access_by_lua_block { if ngx.var.host == 'x' then ngx.exit(403) end }"), None);
        assert_eq!(line("", "set $p x${server_port};\nif ($p = x80) { return 403; }"), at("6"));
        assert_eq!(
            line(
                "map $server_port $key { 80 \"\"; default $binary_remote_addr; }\nlimit_req_zone $key zone=z:1m rate=1r/s;",
                ""
            ),
            at("4")
        );
        let none = line("", "if ($server_addr = 127.0.0.1) { return 403; }\nif ($server_port = 80) { return 403; }");
        assert_eq!(none, Some(("5".to_owned(), None)), "no copy has that address");
    }

    #[test]
    fn who_only_tells_others_of_it_decides_nothing() {
        let told = "location / { proxy_pass http://127.0.0.1:9; proxy_set_header X-Forwarded-Port $server_port; fastcgi_param SERVER_PORT \
                    $server_port; add_header X $server_addr; return 301 https://$host:$server_port/; }";
        assert_eq!(line("log_format x $server_port; limit_req_zone $server_port zone=z:1m rate=1r/s;", told), None);
        assert_eq!(line("map $server_port $p { default 1; }", "add_header X $p;"), None);
    }
}
