//! Which virtual host answers the requests under test, which directives are in force for them, and what stands behind.

mod documents;
mod expression;
pub(super) mod folder;
mod forwarded;
mod members;
mod proxied;
mod redirected;
pub(super) mod rewrite;
mod url;
mod workers;

pub use documents::{documents, errors_may_hide, is_url};
pub(super) use expression::{expression, is_in};
use expression::{groups as expression_groups, replaced, with_groups};
pub(super) use members::members_but;
pub use members::{Member, Members, answers_are_told, members};
pub use url::authority;
pub(super) use url::{host, socket, usual_port, without_usual};
pub use workers::{Worker, shared};

use super::config::{Config, Found};
use crate::files::Requests;

/// A `Listen` directive, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen<'a> {
    /// The directive.
    pub found: &'a Found,
    /// Address, without brackets; none: any.
    pub ip: Option<String>,
    /// Port.
    pub port: u16,
    /// Whether it asks for TLS itself (`Listen 443 https`).
    pub https: bool,
}

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route<'a> {
    /// The listener.
    pub listen: Listen<'a>,
    /// Position of the `VirtualHost` among the configuration's directives; none: the main server.
    pub host: Option<usize>,
    /// The directive by which a plain listener redirected them to the one with TLS that they now come in by; none: they came in here at once.
    pub redirect: Option<&'a Found>,
}

/// `[ADDRESS:]PORT` of a `Listen` (server/listen.c: apr_parse_addr_port).
pub fn address(text: &str) -> Option<(Option<String>, u16)> {
    match text.rsplit_once(':') {
        None => Some((None, text.parse().ok()?)),
        Some((ip, port)) => {
            let ip = ip.trim_start_matches('[').trim_end_matches(']');
            let any = matches!(ip, "*" | "0.0.0.0" | "::");
            Some(((!any).then(|| ip.to_owned()), port.parse().ok()?))
        }
    }
}

/// Every listener.
pub fn listens(config: &Config) -> Vec<Listen<'_>> {
    let read = |found| {
        let found: &Found = found;
        let (ip, port) = address(found.arg(0)?)?;
        let https = found.arg(1).is_some_and(|p| p.eq_ignore_ascii_case("https"));
        Some(Listen { found, ip, port, https })
    };
    config.named("listen").filter_map(read).collect()
}

/// Address, without brackets, and port of a `VirtualHost`.
fn ip_and_port(address_of_host: &str) -> (&str, Option<&str>) {
    let (ip, port) = match address_of_host.rsplit_once(':') {
        Some((ip, port)) if port == "*" || port.parse::<u16>().is_ok() => (ip, Some(port)),
        _ => (address_of_host, None),
    };
    (ip.trim_start_matches('[').trim_end_matches(']'), port)
}

/// Whether an address stands for all.
fn is_any(ip: &str) -> bool {
    matches!(ip, "*" | "_default_" | "0.0.0.0" | "::")
}

/// Whether an address of a `VirtualHost` takes connections of a listener.
fn takes(address_of_host: &str, listen: &Listen<'_>) -> bool {
    let (ip, port) = ip_and_port(address_of_host);
    let same_port = port.is_none_or(|p| p == "*" || p.parse() == Ok(listen.port));
    same_port && (is_any(ip) || listen.ip.is_none() || listen.ip.as_deref() == Some(ip))
}

/// Whether an address of a `VirtualHost` is the listener's own, and no wildcard.
fn is_of(address_of_host: &str, listen: &Listen<'_>) -> bool {
    let any = matches!(address_of_host.split(':').next(), Some("*" | "_default_" | "0.0.0.0"));
    takes(address_of_host, listen) && !any && listen.ip.is_some()
}

impl<'a> Route<'a> {
    /// The route of the requests under test: the first plain listener whose virtual host has the name asked for, else the
    /// first plain one; where all want TLS, the first of those in the same way. Of those on the port of their Host header where it has one and
    /// there are some. None when there is no listener at all.
    pub fn find(config: &'a Config, requests: &Requests) -> Option<Route<'a>> {
        let routes = listens(config).into_iter().map(|listen| Route::of(config, listen, &requests.host));
        let (mut plain, mut tls): (Vec<_>, Vec<_>) = routes.partition(|(route, _)| !route.is_tls(config));
        let asked = |(route, _): &(Route<'_>, bool)| requests.port() == Some(route.listen.port);
        match (plain.iter().any(asked), tls.iter().any(asked)) {
            (true, _) => plain.retain(asked),
            (false, true) => (plain, tls) = (Vec::new(), tls.into_iter().filter(asked).collect()),
            (false, false) => {}
        }
        let best = |all: &[(Route<'a>, bool)]| {
            let found = all.iter().find(|(_, named)| *named).or(all.first());
            found.map(|(route, _)| route.clone())
        };
        let Some(first) = best(&plain) else { return best(&tls) };
        let there = |port: u16| tls.iter().filter(|(route, _)| route.listen.port == port).cloned().collect::<Vec<_>>();
        let behind = redirected::to_tls(config, &first, requests);
        let behind = behind.and_then(|(found, port)| Some(Route { redirect: Some(found), ..best(&there(port))? }));
        Some(behind.unwrap_or(first))
    }

    /// The route of requests that come in by a listener with this Host header.
    pub fn at(config: &'a Config, listen: Listen<'a>, host: &str) -> Route<'a> {
        Route::of(config, listen, host).0
    }

    /// Whether what stands behind is told the Host header of the client.
    pub fn keeps_host(&self, config: &Config) -> bool {
        let found = self.of_host(config, &["proxypreservehost"]);
        found.is_some_and(|found| found.arg(0).is_some_and(|word| word.eq_ignore_ascii_case("on")))
    }

    /// The virtual host of a listener for a Host header, and whether it has that name: the first by name, else the first
    /// there is (httpd.apache.org/docs/2.4/vhosts/details.html).
    fn of(config: &'a Config, listen: Listen<'a>, name: &str) -> (Route<'a>, bool) {
        let hosts = hosts(config, &listen);
        let named = hosts.iter().copied().find(|host| has_name(config, *host, name));
        let host = named.or(hosts.first().copied());
        (Route { listen, host, redirect: None }, named.is_some())
    }

    /// The same before the Host header is read: by the first virtual host of the address (server/protocol.c: ap_read_request).
    pub(super) fn unnamed(&self, config: &Config) -> Route<'a> {
        Route { host: hosts(config, &self.listen).first().copied(), ..self.clone() }
    }

    /// Whether its listener wants TLS.
    pub fn is_tls(&self, config: &Config) -> bool {
        let engine = self.of_host(config, &["sslengine"]);
        self.listen.https || engine.is_some_and(|f| f.arg(0).is_some_and(|v| v.eq_ignore_ascii_case("on")))
    }

    /// The last directive with one of `names` that stands for the whole server.
    pub fn global<'c>(config: &'c Config, names: &[&str]) -> Option<&'c Found> {
        config.found().iter().rev().find(|f| f.is_global() && names.contains(&f.name.as_str()))
    }

    /// The directive in force for the virtual host: its own, or the server's.
    pub fn of_host<'c>(&self, config: &'c Config, names: &[&str]) -> Option<&'c Found> {
        let own = |f: &&Found| f.context.len() == 1 && f.host().is_some() && f.host() == self.host;
        let named = |f: &&Found| names.contains(&f.name.as_str());
        config.found().iter().rev().filter(named).find(own).or_else(|| Route::global(config, names))
    }

    /// The directive in force for the path: of a `Location` that holds it, of the virtual host, or the server's.
    pub fn of_path<'c>(&self, config: &'c Config, names: &[&str], path: &str) -> Option<&'c Found> {
        let mut best: Option<(&Found, u8)> = None;
        for found in config.found().iter().filter(|f| names.contains(&f.name.as_str())) {
            let host = found.host();
            if host.is_some() && host != self.host {
                continue;
            }
            let inner = &found.context[usize::from(host.is_some())..];
            let holds = inner.iter().all(|s| match s.name.as_str() {
                "location" | "locationmatch" => match expression(s) {
                    Some(pattern) => is_in(pattern, path) == Some(true),
                    None => s.args.first().is_some_and(|prefix| under(path, prefix)),
                },
                "proxy" => s.args.first().is_some_and(|p| p == "*"),
                "directory" => s.args.first().is_some_and(|p| p == "/"),
                _ => false,
            });
            if !holds {
                continue;
            }
            let rank = u8::from(host.is_some()) + if inner.is_empty() { 0 } else { 2 };
            if best.is_none_or(|(_, held)| rank >= held) {
                best = Some((found, rank));
            }
        }
        best.map(|(found, _)| found)
    }

    /// Where requests for the path are passed to; none: httpd answers itself.
    pub fn pass<'c>(&self, config: &'c Config, path: &str) -> Option<Pass<'c>> {
        let mine = |f: &&Found| f.host().is_none() || f.host() == self.host;
        let all: Vec<Pass<'c>> = config.found().iter().filter(mine).filter_map(Pass::read).collect();
        // Those in a Location come first (mod_proxy.c: proxy_trans), then the server's, then the virtual host's own
        // (merge_proxy_config).
        let rank = |p: &Pass<'_>| match p.found.context.iter().any(|s| s.name.starts_with("location")) {
            true => 0,
            false => 1 + usize::from(p.found.host().is_some()),
        };
        let first = (0..3).find_map(|wanted| all.iter().find(|p| rank(p) == wanted && p.holds(path)).cloned());
        first.filter(|p| p.url != "!")
    }
}

/// Whether a path is a prefix itself or below it.
pub(super) fn under(path: &str, prefix: &str) -> bool {
    let prefix = prefix.trim_end_matches('/');
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

/// The virtual hosts of a listener: those of the very address come before those of any (server/vhost.c: ap_update_vhost_given_ip).
fn hosts(config: &Config, listen: &Listen<'_>) -> Vec<usize> {
    let all =
        config.found().iter().enumerate().filter(|(_, f)| {
            f.name == "virtualhost" && f.section && f.args.iter().any(|address| takes(address, listen))
        });
    let all: Vec<usize> = all.map(|(i, _)| i).collect();
    let exact = |host: &usize| config.found()[*host].args.iter().any(|a| is_of(a, listen));
    if all.iter().any(exact) { all.into_iter().filter(exact).collect() } else { all }
}

fn has_name(config: &Config, host: usize, name: &str) -> bool {
    let name = name.rsplit_once(':').filter(|(_, p)| p.parse::<u16>().is_ok()).map_or(name, |(name, _)| name);
    let bare = |text: &str| {
        let text = text.split_once("://").map_or(text, |(_, rest)| rest);
        text.rsplit_once(':').filter(|(_, p)| p.parse::<u16>().is_ok()).map_or(text, |(n, _)| n).to_ascii_lowercase()
    };
    let own = |name: &'static str| {
        config.found().iter().filter(move |f| f.host() == Some(host) && f.context.len() == 1 && f.name == name)
    };
    let named = match own("servername").next_back() {
        Some(found) => found.arg(0).map(str::to_owned),
        None => unnamed(config, host),
    };
    let aliases = own("serveralias").flat_map(|f| f.args.clone());
    named.into_iter().chain(aliases).any(|pattern| like(&bare(&pattern), &name.to_ascii_lowercase()))
}

/// The name of a virtual host that says none (server/vhost.c: ap_fini_vhost_config): with an address that is a wildcard the server's, else the
/// one that its first address has, which is known of this machine's own only.
fn unnamed(config: &Config, host: usize) -> Option<String> {
    let addresses = &config.found()[host].args;
    if addresses.iter().any(|address| is_any(ip_and_port(address).0)) {
        return Route::global(config, &["servername"])?.arg(0).map(str::to_owned);
    }
    let first = ip_and_port(addresses.first()?).0;
    matches!(first, "127.0.0.1" | "::1").then(|| "localhost".to_owned())
}

/// `*` stands for any characters, `?` for one (server/util.c: ap_strcasecmp_match).
pub(super) fn like(pattern: &str, name: &str) -> bool {
    let Some(first) = pattern.chars().next() else { return name.is_empty() };
    let rest = &pattern[first.len_utf8()..];
    let mut after = name.chars();
    match (first, after.next()) {
        ('*', _) => (0..=name.len()).any(|i| name.is_char_boundary(i) && like(rest, &name[i..])),
        ('?', Some(_)) => like(rest, after.as_str()),
        (c, next) => next == Some(c) && like(rest, after.as_str()),
    }
}

/// A directive that passes requests to a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass<'a> {
    /// The directive.
    pub found: &'a Found,
    /// Path it is for; a regular expression where `pattern`.
    pub path: String,
    /// Whether the path is a regular expression.
    pub pattern: bool,
    /// Where to, e.g. `http://127.0.0.1:8080/`; `!` for nowhere.
    pub url: String,
    /// Position of the URL among the arguments.
    pub index: usize,
    /// The file for which a handler asks (`SetHandler`): its path comes after the URL; none: it is no handler.
    pub file: Option<String>,
}

impl<'a> Pass<'a> {
    /// Reads `ProxyPass` and `ProxyPassMatch`, in and outside of a `Location`.
    pub fn read(found: &'a Found) -> Option<Pass<'a>> {
        let pattern = match found.name.as_str() {
            "proxypass" => false,
            "proxypassmatch" => true,
            _ => return None,
        };
        let location = found.context.iter().rev().find(|s| s.name == "location" || s.name == "locationmatch");
        let (path, index) = match location {
            Some(section) => (expression(section).or(section.args.first().map(String::as_str))?.to_owned(), 0),
            None => (found.arg(0)?.to_owned(), 1),
        };
        let pattern = pattern || location.is_some_and(|section| expression(section).is_some());
        Some(Pass { found, path, pattern, url: found.arg(index)?.to_owned(), index, file: None })
    }

    fn holds(&self, path: &str) -> bool {
        if self.pattern {
            // With one that the library does not take httpd does not start, and one that it gives up is not found.
            return is_in(&self.path, path) == Some(true);
        }
        // Whole names count (mod_proxy.c: alias_match): `/a` does not hold `/api`.
        let rest = path.strip_prefix(self.path.as_str());
        rest.is_some_and(|rest| rest.is_empty() || self.path.ends_with('/') || rest.starts_with(['/', '?']))
    }

    /// A `key=value` of its own after the URL: keys have no case, and of several the last counts (mod_proxy.c: `apr_table_setn`).
    pub fn parameter(&self, key: &str) -> Option<&str> {
        let rest = self.found.args.get(self.index + 1..)?;
        let value =
            |a: &'a String| a.split_once('=').filter(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, v)| v);
        rest.iter().rev().find_map(value)
    }

    /// The same by another copy of its directive.
    pub(super) fn of<'c>(self, found: &'c Found) -> Pass<'c> {
        let Pass { path, pattern, url, index, file, .. } = self;
        Pass { found, path, pattern, url, index, file }
    }

    /// A handler that passes all that it has for a file to a URL.
    pub fn handled(found: &'a Found, url: &str, file: String) -> Pass<'a> {
        Pass { found, path: String::new(), pattern: false, url: url.to_owned(), index: 0, file: Some(file) }
    }

    /// The URL that is asked for a path which it holds; none: that is not known.
    pub fn asked(&self, path: &str) -> Option<String> {
        let after = match &self.file {
            Some(file) => file.as_str(),
            None if self.pattern => {
                return replaced(&self.path, path, &self.url);
            }
            None => path.strip_prefix(self.path.as_str())?,
        };
        Some(format!("{}{after}", self.url))
    }

    /// Scheme and authority of the URL, e.g. `("http", "127.0.0.1:8080")`.
    pub fn authority(&self) -> (&str, &str) {
        authority(&self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apache::config::Reading;
    use std::path::Path;

    fn config(text: &str) -> Config {
        let reading =
            Reading { root: "/etc/apache2".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        Config::of_text(Path::new("/x/httpd.conf"), text.into(), reading).unwrap()
    }

    fn requests(host: &str) -> Requests {
        Requests::to(host, "/app/x")
    }

    const TWO: &str = "Listen 443 https\nListen 80\nTimeout 60\n\
        <VirtualHost *:80>\n ServerName one.example\n ProxyPass /app http://one:1/ max=7\n Timeout 5\n</VirtualHost>\n\
        <VirtualHost *:80>\n ServerName two.example\n ServerAlias *.two.example\n <Location /app>\n  ProxyPass http://two:2/\n\
         LimitRequestBody 9\n </Location>\n</VirtualHost>\n";

    #[test]
    fn hosts_are_found_by_name_and_the_first_is_the_default() {
        let config = config(TWO);
        let pass = |host: &str| {
            let route = Route::find(&config, &requests(host)).unwrap();
            assert_eq!(route.listen.port, 80, "plain before TLS");
            route.pass(&config, "/app/x").unwrap().url
        };
        assert_eq!(pass("one.example"), "http://one:1/");
        assert_eq!(pass("www.TWO.example:80"), "http://two:2/");
        assert_eq!(pass("other"), "http://one:1/");
        let port = |host: &str| Route::find(&config, &requests(host)).unwrap().listen.port;
        assert_eq!(
            (port("one.example:443"), port("one.example:99")),
            (443, 80),
            "the port that is asked for, if it is there"
        );
        let secured = format!("{TWO}<VirtualHost *:443>\nServerName one.example\n</VirtualHost>\n");
        let to = " ServerName one.example\n Redirect / https://one.example/\n";
        let redirected = self::config(&secured.replacen(" ServerName one.example\n", to, 1));
        let route = Route::find(&redirected, &Requests::to("one.example:80", "/other")).unwrap();
        assert_eq!((route.listen.port, route.redirect.is_some()), (443, true), "a redirect to TLS is followed");
    }

    #[test]
    fn a_worker_is_of_an_address_and_of_who_names_it_first() {
        let config = config(
            "Listen 80\nProxyPass /a http://one:1/ max=5\nProxyPass /b http://one:1/ max=8\nProxyPass /c http://one:1/c max=4\n\
             ProxyPass /d http://one:12/ max=3\nProxyPassMatch ^/m/(.*)$ http://two:2/$1 max=5\n",
        );
        let route = Route::find(&config, &Requests::to("x", "/")).unwrap();
        let most = |path: &str| {
            let worker = route.worker(&config, &route.pass(&config, path).unwrap(), path);
            worker.map(|worker| worker.parameter("max").unwrap().1.to_owned())
        };
        let own = |text: &str| Some(text.to_owned());
        assert_eq!(["/a", "/b", "/c", "/d"].map(most), ["5", "5", "5", "3"].map(own));
        // A name that is longer than the URL is none of its workers' (measured on 2.4.71: 25 at once with `max=5`).
        assert_eq!(["/m/x", "/m/xy"].map(most), [None, own("5")]);
    }

    #[test]
    fn hosts_are_those_of_the_very_address_and_only_those_of_any_inherit_the_servers_name() {
        let config = config(
            "ServerName main\nListen 10.0.0.1:80\n<VirtualHost *:80>\n ServerName x\n</VirtualHost>\n<VirtualHost 10.0.0.1:80>\n ServerName \
             y\n ServerAlias w?w.*\n</VirtualHost>\n<VirtualHost 10.0.0.1:80>\n Timeout 7\n</VirtualHost>\n",
        );
        let line = |host: &str| Route::find(&config, &requests(host)).and_then(|r| Some(config.found()[r.host?].line));
        assert_eq!([line("x"), line("www.a"), line("ww.a"), line("main")], [Some(6), Some(6), Some(6), Some(6)]);
        let of = |address: &str, host: &str| {
            let unnamed = format!("<VirtualHost {address}>\n Timeout 7\n</VirtualHost>\n");
            let text = format!(
                "ServerName main\nListen 127.0.0.1:80\n<VirtualHost {address}>\n ServerName x\n</VirtualHost>\n{unnamed}"
            );
            let config = self::config(&text);
            Route::find(&config, &requests(host)).and_then(|r| Some(config.found()[r.host?].line))
        };
        assert_eq!(
            [of("*:80", "main"), of("_default_:80", "main"), of("127.0.0.1:80", "main")],
            [Some(6), Some(6), Some(3)]
        );
        assert_eq!([of("127.0.0.1:80", "localhost"), of("*:80", "localhost")], [Some(6), Some(3)]);
    }

    /// httpd 2.4.71, by the counts of its balancer-manager.
    #[test]
    fn spares_take_the_place_of_members_that_are_not_usable() {
        let of = |members: &[&str]| {
            let lines: String =
                members.iter().enumerate().map(|(n, more)| format!("BalancerMember http://m{n}:1 {more}\n")).collect();
            let config = config(&format!("Listen 80\n<Proxy balancer://b>\n{lines}</Proxy>\n"));
            let urls = super::members(&config, "balancer://b/").unwrap().first.into_iter().map(|member| member.url);
            urls.map(|url| url["http://m".len()..][..1].to_owned()).collect::<String>()
        };
        assert_eq!(of(&["", "status=+R"]), "0");
        assert_eq!(of(&["", "status=D", "status=+R", "status=+R"]), "02");
        assert_eq!(of(&["", "status=+N", "lbset=1"]), "0");
        assert_eq!(of(&["status=D", "lbset=1", "lbset=1 status=+H"]), "1");
        assert_eq!(of(&["status=D", "status=+H", "lbset=2"]), "1", "a standby comes before the next set");
        assert_eq!(of(&["status=+N", "status=+R"]), "1", "one that drains has a spare, too");
    }

    #[test]
    fn what_is_in_force_is_the_innermost() {
        let config = config(TWO);
        let value = |host: &str, name: &str| {
            let route = Route::find(&config, &requests(host)).unwrap();
            route.of_path(&config, &[name], "/app/x").map(|f| f.args[0].clone())
        };
        assert_eq!(value("one.example", "timeout").as_deref(), Some("5"));
        assert_eq!(value("two.example", "timeout").as_deref(), Some("60"));
        assert_eq!(value("two.example", "limitrequestbody").as_deref(), Some("9"));
        assert_eq!(value("one.example", "limitrequestbody"), None);
    }

    #[test]
    fn parameters_and_exceptions_of_a_pass() {
        let config = config("Listen 80\nProxyPass /static !\nProxyPass / http://[::1]:8/ max=7 acquire=5\n");
        let route = Route::find(&config, &requests("x")).unwrap();
        assert_eq!(route.pass(&config, "/static/a"), None);
        let pass = route.pass(&config, "/a").unwrap();
        let worker = route.worker(&config, &pass, "/a").unwrap();
        assert_eq!((worker.parameter("MAX").map(|(_, value)| value), worker.parameter("timeout")), (Some("7"), None));
        assert_eq!(pass.authority(), ("http", "[::1]:8"));
        assert!(Route::find(&self::config("Timeout 5\n"), &requests("x")).is_none());
        let secure = self::config(
            "Listen 443 https\nListen 8443\n<VirtualHost *:8443>\n ServerName b\n SSLEngine on\n</VirtualHost>\n",
        );
        let port = |host: &str| Route::find(&secure, &requests(host)).map(|r| (r.listen.port, r.is_tls(&secure)));
        assert_eq!([port("a"), port("b")], [Some((443, true)), Some((8443, true))], "TLS where there is nothing else");
    }

    #[test]
    fn members_of_a_balancer_are_those_that_take_requests() {
        let config = config(
            "Listen 80\nProxyPass / balancer://Pool/\n<Proxy balancer://pool>\n BalancerMember http://a:1 max=5 MAX=7 timeout=3\n \
             BalancerMember http://b:1 status=+H\n BalancerMember http://c:1 status=D\n</Proxy>\nBalancerMember balancer://pool http://d:1 \
             status=+D status=-D\nBalancerMember balancer://other http://e:1\n<Proxy http://d:1>\n ProxySet max=2\n</Proxy>\n",
        );
        let told = |url: &str| {
            let all = members(&config, url)?.first;
            let of = |m: &Member<'_>| (m.url.clone(), m.parameter("max").map(str::to_owned));
            Some(all.iter().map(of).collect::<Vec<_>>())
        };
        let (a, d) = (("http://a:1".to_owned(), Some("7".to_owned())), ("http://d:1".to_owned(), Some("2".to_owned())));
        assert_eq!(told("balancer://Pool/x"), Some(vec![a, d]));
        assert_eq!((told("balancer://none/"), told("http://a:1/")), (Some(Vec::new()), None));
    }
}
