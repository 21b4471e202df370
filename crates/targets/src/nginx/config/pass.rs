//! Where requests go: `*_pass` directives and `upstream` blocks.

use super::{Address, Config, Family, Found};

/// How nginx speaks to what is behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `proxy_pass` in `http`.
    Http,
    /// `fastcgi_pass`.
    FastCgi,
    /// `uwsgi_pass`.
    Uwsgi,
    /// `scgi_pass`.
    Scgi,
    /// `grpc_pass`.
    Grpc,
    /// `memcached_pass`.
    Memcached,
    /// `proxy_pass` in `stream`.
    Stream,
}

/// What a `*_pass` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An `upstream` block.
    Upstream(String),
    /// An address or host name.
    Address(Address),
    /// Decided by variables for each request.
    Variable,
}

/// One `*_pass` directive.
#[derive(Clone, Debug)]
pub struct Pass<'a> {
    /// Where it is.
    pub found: Found<'a>,
    /// How it speaks.
    pub protocol: Protocol,
    /// `https` or `grpcs`.
    pub tls: bool,
    /// The argument before host and port, e.g. `http://`; may be empty.
    pub scheme: String,
    /// Host and port as written.
    pub authority: String,
    /// What comes after, e.g. `/app/`; may be empty.
    pub rest: String,
    /// What it names.
    pub target: Target,
}

/// A `server` in an `upstream` block.
#[derive(Clone, Debug)]
pub struct UpstreamServer<'a> {
    /// Where it is.
    pub found: Found<'a>,
    /// Its address; none for what nginx would refuse.
    pub address: Option<Address>,
    /// Most connections at once; 0: no cap.
    pub max_conns: u64,
    /// Failures before it is left alone; 0: never.
    pub max_fails: u64,
    /// Only when the others fail.
    pub backup: bool,
    /// Never used.
    pub down: bool,
}

/// An `upstream` block.
#[derive(Clone, Debug)]
pub struct Upstream<'a> {
    /// Where it is.
    pub found: Found<'a>,
    /// `http` or `stream`.
    pub family: Family,
    /// Its name.
    pub name: String,
    /// Its servers.
    pub servers: Vec<UpstreamServer<'a>>,
    /// Idle connections kept by each worker, with the directive.
    pub keepalive: Option<(u64, Found<'a>)>,
    /// Whether its workers share one count of connections.
    pub zone: bool,
}

/// Protocol, default port and number of arguments before the target, by directive.
const PASSES: [(&str, Protocol, u16); 6] = [
    ("proxy_pass", Protocol::Http, 80),
    ("fastcgi_pass", Protocol::FastCgi, 0),
    ("uwsgi_pass", Protocol::Uwsgi, 0),
    ("scgi_pass", Protocol::Scgi, 0),
    ("grpc_pass", Protocol::Grpc, 80),
    ("memcached_pass", Protocol::Memcached, 0),
];

/// Variables with which a URI begins.
const URIS: [&str; 4] = ["request_uri", "uri", "document_uri", "is_args"];

/// Where the URI after a host and port begins.
fn uri_at(text: &str) -> Option<usize> {
    let variable = |rest: &str| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        URIS.iter().any(|name| name.eq_ignore_ascii_case(&rest[..end]))
    };
    text.char_indices()
        .find(|(at, c)| matches!(c, '/' | '?') || *c == '$' && variable(&text[at + 1..]))
        .map(|(at, _)| at)
}

/// `http://host:port/uri` in three parts; `unix:/path:/uri` too.
fn parts(argument: &str) -> (&str, &str, &str) {
    let start = argument.find("://").map_or(0, |at| at + 3);
    let (scheme, after) = argument.split_at(start);
    let end = match after.strip_prefix("unix:") {
        Some(path) => path.find(':').map(|at| at + "unix:".len()),
        None => uri_at(after),
    };
    let end = end.unwrap_or(after.len());
    (scheme, &after[..end], &after[end..])
}

/// Host and port of an argument of a `*_pass`.
pub fn authority(argument: &str) -> String {
    parts(argument).1.to_owned()
}

impl<'a> Pass<'a> {
    fn read(found: Found<'a>, upstreams: &[(Family, String)]) -> Option<Pass<'a>> {
        let (_, protocol, port) = PASSES.into_iter().find(|(name, ..)| found.directive.is(name))?;
        let family = if found.is_under("stream") { Family::Stream } else { Family::Http };
        let protocol = if family == Family::Stream { Protocol::Stream } else { protocol };
        if !(found.is_under("http") || found.is_under("stream")) || found.is_entry() {
            return None;
        }
        let argument = found.arg(0)?;
        let (scheme, authority, rest) = parts(&argument);
        let tls = matches!(scheme, "https://" | "grpcs://");
        let named = upstreams.iter().any(|(f, name)| *f == family && name.eq_ignore_ascii_case(authority));
        let target = if named {
            Target::Upstream(authority.to_owned())
        } else if authority.contains('$') {
            Target::Variable
        } else {
            Target::Address(Address::parse(authority, false, if tls { 443 } else { port })?.0)
        };
        let [scheme, authority, rest] = [scheme, authority, rest].map(str::to_owned);
        Some(Pass { found, protocol, tls, scheme, authority, rest, target })
    }
}

impl<'a> UpstreamServer<'a> {
    fn read(found: Found<'a>) -> Option<UpstreamServer<'a>> {
        let args = found.args();
        let address = Address::parse(args.first()?, false, 80).map(|(a, _)| a);
        let number = |name: &str| args.iter().find_map(|a| a.strip_prefix(name)?.parse().ok());
        let has = |name: &str| args.iter().any(|a| a == name);
        Some(UpstreamServer {
            address,
            max_conns: number("max_conns=").unwrap_or(0),
            max_fails: number("max_fails=").unwrap_or(1),
            backup: has("backup"),
            down: has("down"),
            found,
        })
    }
}

impl<'a> Upstream<'a> {
    fn read(found: Found<'a>) -> Option<Upstream<'a>> {
        let family = match (found.is_in(&["http"]), found.is_in(&["stream"])) {
            (true, _) => Family::Http,
            (_, true) => Family::Stream,
            _ => return None,
        };
        let name = found.arg(0)?;
        let inside = found.inside();
        let keepalive = inside.iter().find(|f| f.directive.is("keepalive"));
        let keepalive = keepalive.and_then(|f| Some((f.arg(0)?.parse().ok()?, f.clone())));
        let zone = inside.iter().any(|f| f.directive.is("zone"));
        let servers =
            inside.into_iter().filter(|f| f.directive.is("server")).filter_map(UpstreamServer::read).collect();
        Some(Upstream { found, family, name, servers, keepalive, zone })
    }
}

impl Config {
    /// Every `upstream` block of `http` and `stream`.
    pub fn upstreams(&self) -> Vec<Upstream<'_>> {
        self.walk().into_iter().filter(|f| f.directive.is("upstream")).filter_map(Upstream::read).collect()
    }

    /// Every `*_pass`, in order. Those whose address nginx itself would refuse are left out.
    pub fn passes(&self) -> Vec<Pass<'_>> {
        let names = self.upstream_names();
        self.walk().into_iter().filter_map(|found| Pass::read(found, &names)).collect()
    }

    /// The `*_pass` right inside a block.
    pub fn pass_in<'a>(&self, block: &Found<'a>) -> Option<Pass<'a>> {
        let names = self.upstream_names();
        block.inside().into_iter().find_map(|found| Pass::read(found, &names))
    }

    fn upstream_names(&self) -> Vec<(Family, String)> {
        self.upstreams().into_iter().map(|u| (u.family, u.name)).collect()
    }
}
