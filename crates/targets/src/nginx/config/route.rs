//! Which `server` and `location` serve a request, by nginx's rules (`ngx_http_core_find_location`), as far as they can be
//! told without running it.

use regex::bytes::RegexBuilder;

use super::{Address, Config, Family, Found, Listen, Pass};
use crate::files::Requests;

/// The blocks that serve a request.
#[derive(Clone, Debug)]
pub struct Route<'a> {
    /// What a plain listener redirected the request with to the one it now comes in by; none: it came in here at once.
    pub redirect: Option<Found<'a>>,
    /// The `listen` it comes in by; none where the server has none and nginx makes one up.
    pub listen: Option<Listen<'a>>,
    /// The `server` block.
    pub server: Found<'a>,
    /// The `location` chosen by the request's path, with those around it, outermost first.
    pub entry: Vec<Found<'a>>,
    /// The one that answers after `try_files` and `index` (which are taken to find no file); often the same.
    pub handler: Vec<Found<'a>>,
    /// Places of regular expressions that could not be evaluated here (they need PCRE): taken not to match.
    pub unknown: Vec<String>,
}

/// Internal redirects followed; nginx gives up after 10.
const HOPS: usize = 10;

/// Directives that count a request once, wherever it goes.
const LIMITS: [&str; 2] = ["limit_conn", "limit_req"];

enum Rule {
    Exact,
    Prefix { last: bool },
    Regex { blind: bool },
    Named,
}

/// Rule and pattern of a location (`ngx_http_core_location`: the modifier may be glued to the pattern).
fn rule(location: &Found<'_>) -> Option<(Rule, Vec<u8>)> {
    let values: Vec<&[u8]> = location.directive.args().iter().map(|w| &*w.value).collect();
    let (modifier, pattern) = match values[..] {
        [modifier, pattern] => (modifier, pattern),
        [one] => {
            let length = [&b"^~"[..], b"~*", b"=", b"~"].iter().find(|m| one.starts_with(m)).map_or(0, |m| m.len());
            one.split_at(length)
        }
        _ => return None,
    };
    let rule = match modifier {
        b"=" => Rule::Exact,
        b"^~" => Rule::Prefix { last: true },
        b"~" => Rule::Regex { blind: false },
        b"~*" => Rule::Regex { blind: true },
        b"" if pattern.starts_with(b"@") => Rule::Named,
        b"" => Rule::Prefix { last: false },
        _ => return None,
    };
    Some((rule, pattern.to_vec()))
}

/// None: the pattern needs PCRE.
pub(super) fn matches(pattern: &[u8], path: &str, blind: bool) -> Option<bool> {
    let pattern = std::str::from_utf8(pattern).ok()?;
    let regex = RegexBuilder::new(pattern).case_insensitive(blind).unicode(false).build().ok()?;
    Some(regex.is_match(path.as_bytes()))
}

/// The locations of `block` that serve `path`, outermost first.
fn locate<'a>(block: &Found<'a>, path: &str, unknown: &mut Vec<String>) -> Vec<Found<'a>> {
    let locations: Vec<_> = block
        .inside()
        .into_iter()
        .filter(|f| f.directive.is("location"))
        .filter_map(|f| rule(&f).map(|(rule, pattern)| (f, rule, pattern)))
        .collect();
    let exact = locations.iter().find(|(_, rule, p)| matches!(rule, Rule::Exact) && p == path.as_bytes());
    if let Some((found, ..)) = exact {
        return vec![found.clone()];
    }
    let prefix = locations
        .iter()
        .filter(|(_, rule, p)| matches!(rule, Rule::Prefix { .. }) && path.as_bytes().starts_with(p))
        .max_by_key(|(.., p)| p.len());
    let nested = prefix.map(|(found, rule, _)| {
        let mut chain = vec![found.clone()];
        chain.extend(locate(found, path, unknown));
        (chain, matches!(rule, Rule::Prefix { last: true }))
    });
    // A regular expression wins over a prefix, but not over `^~`, nor over an exact or regular one nested in the prefix.
    let decided = |chain: &[Found<'a>]| {
        chain.iter().skip(1).any(|f| matches!(rule(f), Some((Rule::Exact | Rule::Regex { .. }, _))))
    };
    if let Some((chain, last)) = &nested
        && (*last || decided(chain))
    {
        return chain.clone();
    }
    for (found, rule, pattern) in &locations {
        let Rule::Regex { blind } = rule else { continue };
        match matches(pattern, path, *blind) {
            Some(true) => {
                let mut chain = vec![found.clone()];
                chain.extend(locate(found, path, unknown));
                return chain;
            }
            Some(false) => {}
            None => unknown.push(found.place()),
        }
    }
    nested.map(|(chain, _)| chain).unwrap_or_default()
}

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

/// Whether `return` stands right in this block.
fn returns(block: &Found<'_>) -> bool {
    block.inside().iter().any(|f| f.directive.is("return"))
}

impl<'a> Route<'a> {
    /// Blocks in which a directive takes effect for the request, innermost first: location, server, http. What is checked
    /// when a request comes in (`client_*`, `limit_*`) is looked up where it enters, the rest where it is answered.
    pub fn scopes(&self, name: &str) -> Vec<Found<'a>> {
        let early = name.starts_with("client_") || name.starts_with("limit_");
        let locations = if early { &self.entry } else { &self.handler };
        let mut out: Vec<_> = locations.iter().rev().cloned().collect();
        out.push(self.server.clone());
        out.extend(self.server.parent());
        out
    }

    /// The directives of this name in force: all of the innermost block that has any. A request that no `limit_conn` or `limit_req` has
    /// counted where it came in is looked at again where an internal redirect leads (`limit_conn_status`, `limit_req_status` of a request).
    pub fn inherited(&self, name: &str) -> Vec<Found<'a>> {
        let own = |block: Found<'a>| block.inside().into_iter().filter(|f| f.directive.is(name)).collect::<Vec<_>>();
        let first = |scopes: Vec<Found<'a>>| scopes.into_iter().map(own).find(|found| !found.is_empty());
        let again = || LIMITS.contains(&name).then(|| first(self.handler.iter().rev().cloned().collect())).flatten();
        first(self.scopes(name)).or_else(again).unwrap_or_default()
    }

    /// Whether a `return` answers whatever else is written: it comes in a phase before all but other rewriting
    /// (ngx_http_rewrite_module). One within an `if` is not looked at.
    pub fn returns(&self) -> bool {
        returns(&self.server) || self.entry.last().is_some_and(returns) || self.handler.last().is_some_and(returns)
    }

    /// The `*_pass` that answers; none for files and `return`.
    pub fn pass(&self) -> Option<Pass<'a>> {
        let location = self.handler.last().filter(|_| !self.returns())?;
        location.config.pass_in(location)
    }

    fn answers(chain: &[Found<'a>]) -> bool {
        chain.last().is_some_and(|l| returns(l) || l.config.pass_in(l).is_some())
    }

    /// Where a request goes from a location without a handler: the last of `try_files`, or the index file of a folder.
    fn next(server: &Found<'a>, chain: &[Found<'a>], path: &str) -> Option<String> {
        let scopes = || chain.iter().rev().chain([server]);
        let find = |name: &'static str| {
            scopes().find_map(move |block| block.inside().into_iter().rfind(|f| f.directive.is(name)))
        };
        let tried = chain.last().unwrap_or(server).inside().into_iter().find(|f| f.directive.is("try_files"));
        if let Some(last) = tried.and_then(|f| f.args().pop()) {
            return (!last.starts_with('=')).then_some(last);
        }
        let index =
            || find("index").or_else(|| server.parent()?.inside().into_iter().find(|f| f.directive.is("index")));
        let file = path.ends_with('/').then(index).flatten()?.arg(0)?;
        Some(if file.starts_with('/') { file } else { format!("{path}{file}") })
    }

    fn follow(
        server: &Found<'a>,
        entry: &[Found<'a>],
        path: &str,
        unknown: &mut Vec<String>,
    ) -> Option<Vec<Found<'a>>> {
        let mut chain = entry.to_vec();
        let mut path = path.to_owned();
        for _ in 0..HOPS {
            if Self::answers(&chain) {
                return Some(chain);
            }
            let next = Self::next(server, &chain, &path)?;
            if next.starts_with('@') {
                let named = |f: &Found<'a>| f.directive.is("location") && f.arg(0).is_some_and(|a| a == next);
                chain = vec![server.inside().into_iter().find(named)?];
            } else {
                path = next.split('?').next().unwrap_or_default().to_owned();
                if path.contains('$') || !path.starts_with('/') {
                    return None;
                }
                chain = locate(server, &path, unknown);
            }
        }
        None
    }
}

/// Host header and path, without query, of these requests.
pub fn asked(requests: &Requests) -> (Option<&str>, &str) {
    let host = Some(requests.host.as_str()).filter(|host| !host.is_empty());
    (host, requests.path.split('?').next().unwrap_or_default())
}

impl Config {
    /// The route of a request for `path` (without query). `host`: its Host header; none: the default server answers. It
    /// comes in by the first plain `listen` (else the first TLS one) that is not a Unix socket. None: there is no server.
    pub fn route(&self, host: Option<&str>, path: &str) -> Option<Route<'_>> {
        let listens: Vec<_> = self.listens().into_iter().filter(|l| l.family == Family::Http && !l.udp).collect();
        let inet = || listens.iter().filter(|l| matches!(l.address, Address::Inet { .. }));
        let listen = inet().find(|l| !l.ssl).or_else(|| inet().next()).cloned();
        self.route_by(listen.as_ref().map(|l| &l.address), host, path)
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
        let mut unknown = Vec::new();
        let entry = locate(&server, path, &mut unknown);
        let handler = Route::follow(&server, &entry, path, &mut unknown).unwrap_or_else(|| entry.clone());
        unknown.dedup();
        Some(Route { redirect: None, listen, server, entry, handler, unknown })
    }
}
