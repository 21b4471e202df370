//! Which site takes the requests under test, and which `reverse_proxy` passes them on.

use super::config::{Config, Line, Site, Word};
use crate::files::Requests;
use genkai_place::remote;

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

    /// Whether requests to `host` are its own.
    fn takes(&self, host: &str) -> bool {
        let host = host_and_port(host).0;
        match self.host.strip_prefix("*.") {
            _ if self.host.is_empty() => true,
            Some(domain) => host.split_once('.').is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(domain)),
            None => self.host.eq_ignore_ascii_case(host),
        }
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

/// The matcher of a directive: its first argument, where that is one.
pub(super) fn matcher(line: &Line) -> Option<&str> {
    let first = line.arg(0)?.value.as_str();
    (first == "*" || first.starts_with(['/', '@'])).then_some(first)
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
}

impl<'c> Route<'c> {
    /// The first site for the host (plain connections before TLS, those that pass requests on before others), and its
    /// `reverse_proxy` for the path. None when no site takes such requests: Caddy answers them with an empty 200.
    pub fn find(config: &'c Config, requests: &Requests) -> Option<Route<'c>> {
        let ports = Ports::of(config);
        let addresses = |site: &'c Site| site.addresses.iter().filter_map(move |a| Address::parse(&a.value, ports));
        let sites = config.sites().iter().filter(|site| !site.is_route());
        let all = sites.flat_map(|site| addresses(site).map(move |address| (site, address)));
        let taking =
            all.filter(|(_, a)| a.takes(&requests.host) && requests.path.starts_with(a.path.trim_end_matches('*')));
        let route = |(site, address): (&'c Site, Address)| {
            let tls = address.is_tls(ports, site.lines.iter().any(|line| line.is("tls")));
            let (mut around, proxy) = way(&site.lines, requests, &requests.path).unwrap_or_default();
            around.reverse();
            Route { site, address, tls, around, proxy }
        };
        taking.map(route).min_by_key(|route| (route.proxy.is_none(), route.tls, route.address.host.is_empty()))
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

/// The `reverse_proxy` for a path, with the blocks around it, the innermost first. `handle` and its like come before, and the longest
/// path wins (caddyconfig/httpcaddyfile/directives.go: `sortRoutes`).
type Way<'c> = (Vec<&'c Line>, Option<&'c Line>);

fn way<'c>(lines: &'c [Line], requests: &Requests, path: &str) -> Option<Way<'c>> {
    let holding = |names: &[&str]| {
        let mut all: Vec<(usize, &'c Line)> = lines
            .iter()
            .filter(|line| names.contains(&line.name()))
            .filter_map(|line| Some((holds(lines, matcher(line).unwrap_or("*"), requests, path)?, line)))
            .collect();
        all.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        all
    };
    for (length, line) in holding(&["handle", "handle_path", "route"]) {
        let rest = if line.is("handle_path") {
            format!("/{}", path[length..].trim_start_matches('/'))
        } else {
            path.to_owned()
        };
        if let Some((mut around, proxy)) = way(line.inside(), requests, &rest) {
            around.push(line);
            return Some((around, proxy));
        }
        if !line.is("route") {
            // Of several `handle`, only one is taken.
            return None;
        }
    }
    let (_, proxy) = holding(&["reverse_proxy"]).into_iter().next()?;
    Some((Vec::new(), Some(proxy)))
}

/// Whether a matcher holds, and how long its path is. One that cannot be told from host and path alone is taken not to hold.
fn holds(lines: &[Line], matcher: &str, requests: &Requests, path: &str) -> Option<usize> {
    if !matcher.starts_with('@') {
        return path_length(matcher, path);
    }
    let line = lines.iter().find(|line| line.name() == matcher)?;
    let each = |words: &[Word]| {
        let mut args = words.iter().skip(1).map(|word| word.value.as_str());
        match words.first()?.value.as_str() {
            "path" => args.filter_map(|pattern| path_length(pattern, path)).max(),
            "host" => args.any(|host| host.eq_ignore_ascii_case(host_and_port(&requests.host).0)).then_some(0),
            "method" => args.any(|method| method == "GET").then_some(0),
            _ => None,
        }
    };
    if line.block.is_none() {
        return each(line.args());
    }
    line.inside().iter().map(|line| each(&line.words)).try_fold(0, |longest, one| Some(longest.max(one?)))
}

/// How much of `path` a pattern is; none where it is another's (modules/caddyhttp/matchers.go: `MatchPath`).
fn path_length(pattern: &str, path: &str) -> Option<usize> {
    let path = path.split('?').next().unwrap_or(path).to_ascii_lowercase();
    let pattern = pattern.to_ascii_lowercase();
    match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
        (Some(begin), _) => path.starts_with(begin).then_some(begin.len()),
        (None, Some(end)) => path.ends_with(end).then_some(end.len()),
        (None, None) => (path == pattern).then_some(pattern.len()),
    }
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
}
