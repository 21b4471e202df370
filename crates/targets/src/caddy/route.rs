//! Which site takes the requests under test, and which `reverse_proxy` or `php_fastcgi` passes them on.

mod matcher;
mod php;
mod way;

use std::collections::BTreeMap;

use super::config::{Config, Line, Site, Word};
use crate::files::Requests;
use genkai_place::remote;
pub(super) use matcher::matcher;
pub(super) use way::is_own;
use way::{End, Walk, insertion_sort, may_answer};

/// Where a site listens (caddyconfig/httpcaddyfile/addresses.go).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Whether it says `http` or `https`.
    pub scheme: Option<String>,
    /// Host; empty: any.
    pub host: String,
    /// Port, where it is written or follows from the scheme.
    pub port: u16,
    /// Path, with its slash; empty: any.
    pub path: String,
}

/// Ports of plain connections and of TLS, and whether names have certificates by themselves: the global options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// `http_port`.
    pub http: u16,
    /// `https_port`.
    pub https: u16,
    /// Whether `auto_https` is on.
    pub automatic: bool,
}

impl Ports {
    /// Those of a configuration.
    pub fn of(config: &Config) -> Ports {
        let option = |key| config.global().and_then(|global| global.option(key)?.arg(0));
        let port = |key, default| option(key).and_then(|word| word.value.parse().ok()).unwrap_or(default);
        let automatic = option("auto_https").is_none_or(|word| word.value != "off");
        Ports { http: port("http_port", 80), https: port("https_port", 443), automatic }
    }
}

impl Address {
    /// Reads an address of a site; none where its port is not one.
    pub fn parse(text: &str, ports: Ports) -> Option<Address> {
        let (scheme, rest) = text.split_once("://").map_or((None, text), |(scheme, rest)| (Some(scheme), rest));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = host_and_port(authority);
        let default = if scheme == Some("http") { ports.http } else { ports.https };
        let port = if port.is_empty() { default } else { port.parse().ok()? };
        Some(Address {
            scheme: scheme.map(str::to_owned),
            host: host.to_owned(),
            port,
            path: if path == "/" { String::new() } else { path.to_owned() },
        })
    }

    /// Whether a listener of it speaks TLS; `tls`: the site has a directive of that name.
    pub fn is_tls(&self, ports: Ports, tls: bool) -> bool {
        match self.scheme.as_deref() {
            Some("http") => false,
            Some("https") => true,
            _ if self.port == ports.http => false,
            _ => tls || self.port == ports.https || ports.automatic && !self.host.is_empty(),
        }
    }

    /// Whether requests are its own.
    fn takes(&self, requests: &Requests) -> bool {
        let path = self.path.is_empty() || matcher::is_path(&self.path, &requests.path) == Some(true);
        path && (self.host.is_empty() || matcher::is_host(&self.host, &requests.host))
    }
}

/// `host:port`, `[::1]:80`, `host`: without the brackets.
pub(super) fn host_and_port(text: &str) -> (&str, &str) {
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    if let Some((host, port)) = bracketed {
        return (host, port.trim_start_matches(':'));
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => (host, port),
        _ => (text, ""),
    }
}

/// Where requests go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// As written.
    pub written: String,
    /// Its host; none: a Unix socket.
    pub host: Option<String>,
}

impl Upstream {
    /// Reads one (modules/caddyhttp/reverseproxy/addresses.go: `parseUpstreamDialAddress`).
    pub fn parse(text: &str) -> Upstream {
        let plain = text.split_once("://").map_or(text, |(_, rest)| rest);
        let host = match plain.split_once('/') {
            Some((network, _)) if network.starts_with("unix") => None,
            Some((_, rest)) => Some(host_and_port(rest).0),
            None => Some(host_and_port(plain).0),
        };
        Upstream { written: text.to_owned(), host: host.map(str::to_owned) }
    }

    /// Where it is dialled: an upstream without a port has that of its scheme.
    pub fn dial(&self) -> String {
        let (scheme, plain) = self.written.split_once("://").unwrap_or(("", &self.written));
        match self.host.is_none() || plain.contains('/') || plain.contains('{') || !host_and_port(plain).1.is_empty() {
            true => plain.to_owned(),
            false => format!("{plain}:{}", if scheme == "https" { 443 } else { 80 }),
        }
    }

    /// Why requests to it may leave this machine; none where they do not, or may.
    pub fn is_remote(&self, allowed: &[String]) -> Option<(String, String)> {
        let host = self.host.as_ref()?;
        // To dial no host is to dial this machine.
        let named = if host.is_empty() { "localhost" } else { host };
        // Placeholders of Caddy's stand between braces; `remote` knows variables by `$`.
        let why = match host.contains('{') {
            true => remote::why(&format!("${host}"), allowed),
            false => remote::why(named, allowed),
        };
        why.map(|why| (host.clone(), why))
    }
}

/// The upstreams of a `reverse_proxy`, as words: its arguments, less the matcher, and those of `to`.
pub fn upstreams(proxy: &Line) -> Vec<&Word> {
    let own = proxy.args().iter().skip(usize::from(matcher(proxy).is_some()));
    let listed = proxy.inside().iter().filter(|line| line.is("to")).flat_map(Line::args);
    own.chain(listed).collect()
}

/// Whether a proxy speaks FastCGI to what stands behind it.
pub fn is_fastcgi(proxy: &Line) -> bool {
    proxy.is("php_fastcgi") || proxy.option("transport fastcgi").is_some()
}

/// Whether there are upstreams to be told apart by what they answer, and nothing takes the place in which a private copy has that written
/// (the user's name of an authentication).
pub fn answers_are_told(config: &Config) -> bool {
    fn any(lines: &[Line], is: &dyn Fn(&Line) -> bool) -> bool {
        lines.iter().any(|line| is(line) || any(line.inside(), is))
    }
    let in_sites = |is: &dyn Fn(&Line) -> bool| config.sites().iter().any(|site| any(&site.lines, is));
    in_sites(&|line| line.is("reverse_proxy") && upstreams(line).len() > 1)
        && !in_sites(&|line| line.name().contains("auth"))
}

/// The way of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route<'c> {
    /// The site that takes it.
    pub site: &'c Site,
    /// Where it listens.
    pub address: Address,
    /// Whether it speaks TLS there.
    pub tls: bool,
    /// Directives around the proxy (`handle`), the outermost first.
    pub around: Vec<&'c Line>,
    /// What passes it on; none where nothing does.
    pub proxy: Option<&'c Line>,
    /// Whether a file answers, where nothing passes it on.
    pub file: bool,
    /// `request_body` directives that it meets.
    pub bodies: Vec<&'c Line>,
    /// `forward_auth` directives that it meets.
    pub authorities: Vec<&'c Line>,
    /// Directives before it that it may meet: what decides is not in the text, or not evaluated. It is taken not to.
    pub unsure: Vec<&'c Line>,
    /// Directives that it certainly does not meet: they are for other requests.
    pub skipped: Vec<&'c Line>,
    /// Whether anything answers it, or may: else it is answered with an empty 200.
    pub answered: bool,
    /// The path that is passed on, with the query as it came; none where that is not known.
    pub path: Option<String>,
}

impl<'c> Route<'c> {
    /// The site that takes such requests, of several listeners one without TLS, that passes requests on, that names the host; and what
    /// passes them on. None when no site takes them: Caddy answers with an empty 200.
    pub fn find(config: &'c Config, requests: &Requests) -> Option<Route<'c>> {
        let ports = Ports::of(config);
        let taking = listeners(config, ports).into_values().filter_map(|sites| {
            let (site, address) = sites
                .into_iter()
                .find_map(|(site, all)| Some((site, all.into_iter().find(|one| one.takes(requests))?)))?;
            Some(Route::through(config, site, address, requests))
        });
        taking.min_by_key(|route| (route.proxy.is_none(), route.tls, route.address.host.is_empty()))
    }

    fn through(config: &'c Config, site: &'c Site, address: Address, requests: &Requests) -> Route<'c> {
        let tls = address.is_tls(Ports::of(config), site.lines.iter().any(|line| line.is("tls")));
        let mut walk = Walk::of(config, requests);
        let none = End { around: Vec::new(), proxy: None, file: false };
        let end = walk.sorted(&site.lines);
        let answered = end.is_some() || walk.unsure.iter().any(|line| may_answer(line));
        let End { mut around, proxy, file } = end.unwrap_or(none);
        around.reverse();
        Route {
            site,
            address,
            tls,
            around,
            proxy,
            file,
            bodies: walk.bodies,
            authorities: walk.authorities,
            unsure: walk.unsure,
            skipped: walk.skipped,
            answered,
            path: walk.plain.then_some(walk.path),
        }
    }

    /// The target by which what stands behind is asked where it is asked for `target`; none where that is not known.
    pub fn forwarded(config: &'c Config, requests: &Requests, target: &str) -> Option<String> {
        let route = Route::find(config, &Requests { path: target.to_owned(), ..requests.clone() })?;
        let alters = |line: &Line| line.is("rewrite") || line.is("method");
        let altered = route.proxy.is_some_and(|proxy| proxy.inside().iter().any(alters));
        let path = route.path.filter(|_| !altered && !route.site.lines.iter().any(names_another))?;
        let (own, query) = target.split_at(target.find('?').unwrap_or(target.len()));
        // What is written with escapes is matched and changed without.
        let known = path == own || !own.contains('%');
        known.then(|| format!("{path}{query}"))
    }

    /// Further sites of the configuration to which it passes requests on.
    pub fn again(&self, config: &'c Config) -> Vec<&'c Site> {
        let port = |word: &&Word| {
            let upstream = Upstream::parse(&word.value);
            let here = upstream.host.is_some() && upstream.is_remote(&[]).is_none();
            host_and_port(&upstream.dial()).1.parse::<u16>().ok().filter(|_| here)
        };
        let (to, ports): (Vec<u16>, _) = (self.upstreams().iter().filter_map(port).collect(), Ports::of(config));
        let listens = |site: &&Site| {
            let mut own = site.addresses.iter().filter_map(|one| Address::parse(&one.value, ports));
            !site.is_route() && own.any(|own| to.contains(&own.port))
        };
        config.sites().iter().filter(listens).filter(|site| !std::ptr::eq(*site, self.site)).collect()
    }

    /// Where it goes to; nothing where that is decided as it runs (`dynamic`).
    pub fn upstreams(&self) -> Vec<&'c Word> {
        self.proxy.map(upstreams).unwrap_or_default()
    }

    /// The lines in which the proxy stands: those of the innermost block around it.
    pub fn lines(&self) -> &'c [Line] {
        self.around.last().map_or(&self.site.lines, |line| line.inside())
    }
}

/// Whether a line, or one inside of it, has upstreams asked for another host.
fn names_another(line: &Line) -> bool {
    let is_host = |word: &Word| word.value.trim_start_matches(['+', '-', '?']).eq_ignore_ascii_case("host");
    let sets = matches!(line.name(), "header_up" | "request_header");
    sets && line.args().iter().take(2).any(is_host) || line.inside().iter().any(names_another)
}

/// A site with those of its addresses that belong to a listener.
type Taking<'c> = (&'c Site, Vec<Address>);

/// The sites of each listener (a port and where it is bound), in the order in which they are asked (httptype.go:
/// `serversFromPairings`): hosts without wildcards first, longer ones first, those of any host last.
fn listeners(config: &Config, ports: Ports) -> BTreeMap<(u16, String), Vec<Taking<'_>>> {
    let mut all: BTreeMap<(u16, String), Vec<Taking<'_>>> = BTreeMap::new();
    for site in config.sites().iter().filter(|site| !site.is_route()) {
        for address in site.addresses.iter().filter_map(|a| Address::parse(&a.value, ports)) {
            for bound in bound(config, site) {
                let sites = all.entry((address.port, bound)).or_default();
                match sites.iter_mut().find(|(one, _)| std::ptr::eq(*one, site)) {
                    Some((_, addresses)) => addresses.push(address.clone()),
                    None => sites.push((site, vec![address.clone()])),
                }
            }
        }
    }
    all.values_mut().for_each(|sites| insertion_sort(sites, |one, other| is_asked_before(&one.1, &other.1)));
    all
}

/// The addresses that a site is bound to: `bind`, or the option `default_bind`; else any.
pub(super) fn bound(config: &Config, site: &Site) -> Vec<String> {
    let own = site.lines.iter().find(|line| line.is("bind"));
    let line = own.or_else(|| config.global().and_then(|global| global.option("default_bind")));
    let words: Vec<String> = line.into_iter().flat_map(Line::args).map(|word| word.value.clone()).collect();
    if words.is_empty() { vec![String::new()] } else { words }
}

/// Whether the site of these addresses is asked before that of others.
fn is_asked_before(one: &[Address], other: &[Address]) -> bool {
    let longest =
        |all: &[Address], part: fn(&Address) -> &str| all.iter().map(|a| specificity(part(a))).max().unwrap_or(0);
    let host: fn(&Address) -> &str = |address| &address.host;
    let path: fn(&Address) -> &str = |address| &address.path;
    let wild = |all: &[Address]| all.iter().any(|a| a.host.contains('*') || a.host.is_empty());
    match (longest(one, host), longest(other, host), wild(one), wild(other)) {
        (0, ..) => false,
        (_, 0, ..) => true,
        (.., one, other) if one != other => other,
        (first, second, ..) if first == second => longest(one, path) > longest(other, path),
        (first, second, ..) => first > second,
    }
}

/// Length of a host or path, less its wildcards and placeholders (httptype.go: `specificity`).
fn specificity(text: &str) -> usize {
    let mut length = text.len() - text.matches('*').count();
    let mut rest = text;
    while let Some((_, inside)) = rest.split_once('{') {
        let Some((name, after)) = inside.split_once('}') else { break };
        length -= name.len() + 2;
        rest = after;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caddy::config::Variables;

    fn config(text: &str) -> Config {
        Config::of_texts(vec![("/x".into(), text.into())], Variables::new()).unwrap()
    }

    #[test]
    fn addresses_have_the_ports_and_tls_of_caddy() {
        let ports = Ports { http: 80, https: 443, automatic: true };
        let read = |text: &str| {
            let address = Address::parse(text, ports).unwrap();
            (address.host.clone(), address.port, address.is_tls(ports, false))
        };
        let is = |host: &str, port, tls| (host.to_owned(), port, tls);
        assert_eq!(read(":80"), is("", 80, false));
        assert_eq!(read(":8080"), is("", 8080, false));
        assert_eq!(read("example.com"), is("example.com", 443, true));
        assert_eq!(read("http://example.com"), is("example.com", 80, false));
        assert_eq!(read("localhost:8443"), is("localhost", 8443, true));
        assert_eq!(read("https://:8444/a"), is("", 8444, true));
        assert_eq!(read("[::1]:80"), is("::1", 80, false));
        assert_eq!(Address::parse("a:b", ports), None);
    }

    #[test]
    fn upstreams_are_hosts_or_sockets() {
        let host = |text: &str| Upstream::parse(text).host;
        assert_eq!(host("h2c://app:80").as_deref(), Some("app"));
        assert_eq!(host("10.0.0.1:80").as_deref(), Some("10.0.0.1"));
        assert_eq!(host("tcp/[::1]:80").as_deref(), Some("::1"));
        assert_eq!((host(":80").as_deref(), host("unix//run/x.sock")), (Some(""), None));
        let remote = |text: &str| Upstream::parse(text).is_remote(&[]).is_some();
        assert!(remote("192.0.2.1:80") && remote("{http.request.host}:80") && !remote(":80") && !remote("unix//x"));
        assert!(Upstream::parse("192.0.2.1:80").is_remote(&["192.0.2.1".to_owned()]).is_none());
    }

    #[test]
    fn requests_find_their_proxy() {
        let config = config(
            "(p) {\n\treverse_proxy {args.0}\n}\na.example {\n\treverse_proxy tls:1\n}\nhttp://a.example {\n\t@api path /api/* /v1/*\n\thandle \
             @api {\n\t\timport p api:1\n\t}\n\thandle_path /sub/* {\n\t\treverse_proxy /x x:1\n\t\treverse_proxy \
             sub:1\n\t}\n\treverse_proxy /ws* ws:1\n\treverse_proxy {\n\t\tto web:1 web:2\n\t}\n}\n:81 {\n\trespond hi\n}\n",
        );
        let to = |host: &str, path: &str| {
            let route = Route::find(&config, &Requests::to(host, path))?;
            let all: Vec<&str> = route.upstreams().iter().map(|w| w.value.as_str()).collect();
            Some((route.address.port, all.join(" ")))
        };
        let is = |port, upstreams: &str| Some((port, upstreams.to_owned()));
        assert_eq!(to("a.example", "/"), is(80, "web:1 web:2"));
        assert_eq!(to("A.example:80", "/api/1?x"), is(80, "api:1"));
        assert_eq!(to("a.example", "/sub/x"), is(80, "x:1"));
        assert_eq!(to("a.example", "/sub/y"), is(80, "sub:1"));
        assert_eq!(to("a.example", "/wsx"), is(80, "ws:1"));
        assert_eq!(to("localhost", "/"), is(81, ""));
    }

    /// Where plain requests to `:8080` go, and what they may meet before.
    fn told(text: &str) -> (Vec<String>, Vec<String>) {
        let config = config(text);
        let route = Route::find(&config, &Requests::to("localhost", "/")).unwrap();
        let names = |all: Vec<&str>| all.into_iter().map(str::to_owned).collect();
        let to = route.upstreams().iter().map(|word| word.value.as_str()).collect();
        (names(to), names(route.unsure.iter().map(|line| line.name()).collect()))
    }

    #[test]
    fn a_route_that_invokes_itself_is_followed_once() {
        let proxy = ":8080 {\n\tinvoke a\n\treverse_proxy web:1\n}\n";
        let is = |to: &str, unsure: &[&str]| (vec![to.to_owned()], unsure.iter().map(|s| (*s).to_owned()).collect());
        for routes in [
            "&(a) {\n\tinvoke a\n}\n",
            "&(a) {\n\tinvoke b\n}\n&(b) {\n\troute {\n\t\tinvoke a\n\t}\n}\n",
            "&(b) {\n\trespond no\n}\n",
        ] {
            assert_eq!(told(&format!("{routes}{proxy}")), is("web:1", &["invoke"]), "{routes}");
        }
        let found = "&(a) {\n\treverse_proxy api:1\n}\n:8080 {\n\tinvoke /* a\n\treverse_proxy web:1\n}\n";
        assert_eq!(told(found), is("api:1", &[]));
        // Each of forty invokes the next one twice: as many ways as nobody can go.
        let many: String = (0..40).map(|n| format!("&(a{n}) {{\n\tinvoke a{0}\n\tinvoke a{0}\n}}\n", n + 1)).collect();
        let (to, unsure) = told(&format!("{many}:8080 {{\n\tinvoke a0\n\treverse_proxy web:1\n}}\n"));
        assert!(to == ["web:1"] && !unsure.is_empty());
    }

    #[test]
    fn what_is_passed_on_is_told_where_it_is_known() {
        let passed = |lines: &str, target: &str| {
            let config = config(&format!(":80 {{\n{lines}\n\treverse_proxy a:1\n}}\n"));
            Route::forwarded(&config, &Requests::to("localhost", "/"), target)
        };
        let is = |target: &str| Some(target.to_owned());
        assert_eq!(passed("", "/a?b=%41"), is("/a?b=%41"));
        assert_eq!(passed("", "/%61"), is("/%61"));
        assert_eq!(passed("rewrite / /slow", "/?x=1"), is("/slow?x=1"));
        assert_eq!(passed("rewrite / /slow", "/other"), is("/other"));
        assert_eq!(passed("rewrite * /v1{uri}", "/a?b"), is("/v1/a?b"));
        assert_eq!(passed("uri strip_prefix /api", "/api/x?y"), is("/x?y"));
        assert_eq!(passed("handle_path /api/* {\n\treverse_proxy b:1\n\t}", "/api/x"), is("/x"));
        for unknown in [
            "rewrite * /index?p={path}",
            "rewrite * /{host}{uri}",
            "uri replace a b",
            "method POST",
            "try_files {path} /index.html",
            "@a header X-A b\n\trewrite @a /slow",
            "@a header X-A b\n\thandle @a {\n\trewrite * /slow\n\t}",
            "reverse_proxy /* c:1 {\n\trewrite /x\n\t}",
            "uri strip_prefix /%61",
            "request_header Host b",
            "handle /x {\n\treverse_proxy b:1 {\n\theader_up -host\n\t}\n\t}",
            "rewrite /%61* /slow",
        ] {
            assert_eq!(passed(unknown, "/%61/b"), None, "{unknown}");
        }
    }

    #[test]
    fn what_nobody_answers_is_told_from_what_somebody_may() {
        let answered = |lines: &str| {
            let config = config(&format!(":80 {{\n{lines}\n}}\n"));
            Route::find(&config, &Requests::to("localhost", "/")).unwrap().answered
        };
        for lines in
            ["respond hi", "file_server", "reverse_proxy a:1", "@a header X b\nrespond @a hi", "php_fastcgi a:1"]
        {
            assert!(answered(lines), "{lines}");
        }
        for lines in ["", "header X y", "respond /other hi", "handle /api/* {\nreverse_proxy a:1\n}", "encode gzip"] {
            assert!(!answered(lines), "{lines}");
        }
    }

    #[test]
    fn what_the_method_decides_is_not_sure() {
        let config =
            config("http://a.example {\n\t@read method GET\n\treverse_proxy @read web:1\n\treverse_proxy web:2\n}\n");
        let unsure = |requests: Requests| Route::find(&config, &requests).unwrap().unsure.len();
        assert_eq!(unsure(Requests::to("a.example", "/")), 1);
        assert_eq!(unsure(Requests { websocket: true, ..Requests::to("a.example", "/") }), 0);
    }
}
