//! Which `server` and `location` serve a request, by nginx's rules (`ngx_http_core_find_location`), as far as they can be
//! told without running it.

use super::flow::{Way, ways};
use super::location::matches;
use super::variables::Variables;
use super::{Address, Config, Family, Found, Listen, Pass, Protocol};
use crate::files::{Requests, port_of};

/// The blocks that serve a request.
#[derive(Clone, Debug)]
pub struct Route<'a> {
    /// What a plain listener redirected the request with to the one it now comes in by; none: it came in here at once.
    pub redirect: Option<Found<'a>>,
    /// The `listen` it comes in by; none where the server has none and nginx makes one up.
    pub listen: Option<Listen<'a>>,
    /// The `server` block.
    pub server: Found<'a>,
    /// The ways that it may take: more than one where something decides that the configuration does not tell. The first is that of
    /// conditions that do not hold; what follows is read from it.
    pub ways: Vec<Way<'a>>,
    /// What is not decided.
    pub doubts: Vec<String>,
}

/// The version from which connections to servers of a group are kept without being asked for (CHANGES: HTTP/1.1 without `Connection`, and 32 of them).
pub const KEPT_SINCE: (u32, u32, u32) = (1, 29, 7);

/// Directives that count a request once, wherever it goes.
const LIMITS: [&str; 2] = ["limit_conn", "limit_req"];

/// Whether a `server_name` argument is this host, and how well: exact names win over `*.suffix` over `prefix.*` over
/// regular expressions; longer wildcards win over shorter ones.
fn names(argument: &str, host: &str) -> Option<(u8, usize)> {
    let name = argument.to_ascii_lowercase();
    if name == host {
        return Some((4, 0));
    }
    if let Some(pattern) = argument.strip_prefix('~') {
        return matches(pattern.as_bytes(), host, true)?.then_some((1, 0));
    }
    if let Some(suffix) = name.strip_prefix('*').or(name.strip_prefix('.').map(|_| &*name)) {
        let whole = name.starts_with('.') && host == &name[1..];
        return (whole || host.ends_with(suffix)).then_some((3, suffix.len()));
    }
    let prefix = name.strip_suffix('*')?;
    host.starts_with(prefix).then_some((2, prefix.len()))
}

fn name_score(server: &Found<'_>, host: &str) -> Option<(u8, usize)> {
    let named = server.inside().into_iter().filter(|f| f.directive.is("server_name"));
    named.flat_map(|f| f.args()).filter_map(|argument| names(&argument, host)).max()
}

/// Whether a server has this name (`host` in lower case, without port).
pub(super) fn is_named(server: &Found<'_>, host: &str) -> bool {
    name_score(server, host).is_some()
}

impl<'a> Route<'a> {
    /// The `location` chosen by the request's path, with those around it, outermost first.
    pub fn entry(&self) -> &[Found<'a>] {
        &self.ways[0].entry
    }

    /// The one that answers, after rewriting, `try_files` and `index` (no file is taken to be found); often the same.
    pub fn handler(&self) -> &[Found<'a>] {
        &self.ways[0].handler
    }

    /// Blocks in which a directive takes effect for the request, innermost first: location, server, http. What is checked when a
    /// request comes in (`client_*`) is looked up where it enters, limits where they are looked at first, the rest where it is answered.
    pub fn scopes(&self, name: &str) -> Vec<Found<'a>> {
        let limits = name.starts_with("limit_conn") || name.starts_with("limit_req");
        let looked = self.ways[0].looked.first();
        self.around(match looked {
            _ if name.starts_with("client_") => self.entry(),
            Some(stage) if limits => &stage.chain,
            None if limits => self.entry(),
            _ => self.handler(),
        })
    }

    fn around(&self, chain: &[Found<'a>]) -> Vec<Found<'a>> {
        let mut out: Vec<_> = chain.iter().rev().cloned().collect();
        out.push(self.server.clone());
        out.extend(self.server.parent());
        out
    }

    /// The directives of this name in force: all of the innermost block that has any. A request that no `limit_conn` or `limit_req` has
    /// counted where it came in is looked at again where an internal redirect leads (`limit_conn_status`, `limit_req_status` of a request).
    pub fn inherited(&self, name: &str) -> Vec<Found<'a>> {
        let found = first(self.scopes(name), name);
        if !found.is_empty() || !LIMITS.contains(&name) {
            return found;
        }
        let again = self.ways[0].looked.iter().map(|stage| self.inherited_at(&stage.chain, name));
        again.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// Whether a server of a group is asked to close the connection after its response, as this version of nginx asks (before 1.29.7 by HTTP/1.0 and
    /// `Connection: close`, unless it is told otherwise; FastCGI: `fastcgi_keep_conn`; uwsgi and SCGI have no other way).
    pub fn closes(&self, version: (u32, u32, u32)) -> bool {
        let Some(pass) = self.pass() else { return false };
        let last = |name: &str| self.inherited(name).last().and_then(|found| found.arg(0));
        match pass.protocol {
            Protocol::Http => {
                let old = version < KEPT_SINCE;
                let first = last("proxy_http_version").map_or(old, |version| version == "1.0");
                let headers = self.inherited("proxy_set_header");
                let of = |found: &Found<'_>| found.arg(0).is_some_and(|name| name.eq_ignore_ascii_case("connection"));
                let asks = headers
                    .iter()
                    .rfind(|found| of(found))
                    .map_or(old, |found| found.arg(1).is_some_and(|value| value.eq_ignore_ascii_case("close")));
                first || asks
            }
            Protocol::FastCgi => last("fastcgi_keep_conn").is_none_or(|word| word != "on"),
            Protocol::Uwsgi | Protocol::Scgi => true,
            Protocol::Grpc | Protocol::Memcached | Protocol::Stream => false,
        }
    }

    /// The directives of this name in force at a location.
    pub fn inherited_at(&self, chain: &[Found<'a>], name: &str) -> Vec<Found<'a>> {
        first(self.around(chain), name)
    }

    /// The target by which the upstream is asked where nginx is asked for this one: `proxy_pass` with a path puts that in the place of the
    /// location's (ngx_http_proxy_module.c: ngx_http_proxy_create_request). None where the configuration does not tell.
    pub fn forwarded(&self, target: &str) -> Option<String> {
        let ways = self.ways.iter().filter_map(|way| Some((way, way.pass()?)));
        let mut all = ways.map(|(way, pass)| self.passed_on(way, &pass, target));
        let first = all.next().flatten()?;
        all.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }

    /// The same for one of its ways.
    pub(super) fn passed_on(&self, way: &Way<'a>, pass: &Pass<'a>, target: &str) -> Option<String> {
        let rewrites = |chain: &[Found<'a>]| !self.inherited_at(chain, "rewrite").is_empty();
        let written = pass.found.arg(0).unwrap_or_default();
        if rewrites(&way.entry) || rewrites(&way.handler) || written.contains('$') {
            return None;
        }
        if pass.rest.is_empty() {
            return Some(target.to_owned());
        }
        let location = way.handler.iter().rev().find(|block| block.directive.is("location"))?;
        let path = target.split('?').next().unwrap_or_default();
        // `= /x` and `=/x` are the same.
        let written = location.args().concat();
        let name = ["=", "^~"].iter().find_map(|sign| written.strip_prefix(sign)).unwrap_or(&written);
        path.starts_with(name).then(|| format!("{}{}", pass.rest, &target[name.len()..]))
    }

    /// The `*_pass` that answers; none for files and `return`.
    pub fn pass(&self) -> Option<Pass<'a>> {
        self.ways[0].pass()
    }
}

/// The directives of this name in the first of these blocks that has any.
fn first<'a>(scopes: Vec<Found<'a>>, name: &str) -> Vec<Found<'a>> {
    let own = |block: Found<'a>| block.inside().into_iter().filter(|f| f.directive.is(name)).collect::<Vec<_>>();
    scopes.into_iter().map(own).find(|found| !found.is_empty()).unwrap_or_default()
}

/// Host header and path, with its query, of these requests.
pub fn asked(requests: &Requests) -> (Option<&str>, &str) {
    (Some(requests.host.as_str()).filter(|host| !host.is_empty()), requests.path.as_str())
}

impl Config {
    /// The route of a request for `path` (with its query). `host`: its Host header; none: the default server answers. It
    /// comes in by the first plain `listen` of a server of that name, else by the first plain one (else the first TLS one) that is not a Unix
    /// socket; of those on the header's port where it has one and there are some. None: there is no server.
    pub fn route(&self, host: Option<&str>, path: &str) -> Option<Route<'_>> {
        let listens: Vec<_> = self.listens().into_iter().filter(|l| l.family == Family::Http && !l.udp).collect();
        let on = |l: &Listen<'_>, to: u16| matches!(l.address, Address::Inet { port, .. } if port == to);
        let port = host.and_then(port_of).filter(|port| listens.iter().any(|l| on(l, *port)));
        let inet = || {
            let inet = listens.iter().filter(|l| matches!(l.address, Address::Inet { .. }));
            inet.filter(|l| port.is_none_or(|port| on(l, port)))
        };
        let plain = || inet().filter(|l| !l.ssl);
        let by = |listen: &Listen<'_>| self.route_by(Some(&listen.address), host, path);
        let name = host.and_then(|host| host.split(':').next()).map(str::to_ascii_lowercase);
        let named = name.and_then(|name| plain().filter_map(by).find(|route| is_named(&route.server, &name)));
        named.or_else(|| {
            let listen = plain().next().or_else(|| inet().next());
            self.route_by(listen.map(|l| &l.address), host, path)
        })
    }

    /// The route of a request that comes in as this one, whose name no server has: by the default server of its listener.
    pub fn first_of(&self, route: &Route<'_>) -> Option<Route<'_>> {
        self.route_by(route.listen.as_ref().map(|listen| &listen.address), None, "/")
    }

    /// The route of a request that comes in by `address`; none: by the one that nginx makes up for servers without any.
    pub fn route_by(&self, address: Option<&Address>, host: Option<&str>, path: &str) -> Option<Route<'_>> {
        let host = host.map(|h| h.split(':').next().unwrap_or(h).to_ascii_lowercase());
        let mut candidates: Vec<(Found<'_>, Option<Listen<'_>>)> = Vec::new();
        for server in self.servers() {
            let listens = self.listens_of(&server);
            let listen = listens.iter().find(|l| Some(&l.address) == address && !l.udp).cloned();
            if listen.is_some() || (listens.is_empty() && address.is_none()) {
                candidates.push((server, listen));
            }
        }
        let default = candidates.iter().position(|(_, l)| l.as_ref().is_some_and(|l| l.default_server)).unwrap_or(0);
        let score = |i: &usize| host.as_deref().and_then(|h| name_score(&candidates[*i].0, h));
        let best = (0..candidates.len()).rev().filter(|i| score(i).is_some()).max_by_key(score).unwrap_or(default);
        let (server, listen) = candidates.into_iter().nth(best)?;
        let tls = listen.as_ref().is_some_and(|l| l.ssl);
        let variables = Variables::new(server.clone(), tls, host.as_deref(), path);
        let (ways, doubts) = ways(&variables, false);
        Some(Route { redirect: None, listen, server, ways, doubts })
    }
}
