//! What is behind: kept, or replaced by one backend. What leads back into the same httpd follows its listeners in any case.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::changes::Changes;
use super::listen::{Moved, own};
use crate::apache::config::{Config, Found};
use crate::apache::route::usual_port;
use crate::apache::settings::named;
use crate::files::{CopyError, Move};
use genkai_place::remote;

/// A URL inside a directive.
pub(super) struct Place<'c> {
    pub(super) found: &'c Found,
    /// Position of the argument with the URL.
    pub(super) index: usize,
    /// What stands before the URL in it (`proxy:`).
    pub(super) before: &'static str,
}

/// Every URL that requests are passed to.
pub(super) fn places(config: &Config) -> Vec<Place<'_>> {
    let mut all = Vec::new();
    for found in config.found() {
        let in_location = found.context.iter().any(|s| s.name.starts_with("location"));
        let index = match found.name.as_str() {
            "proxypass" | "proxypassmatch" | "proxypassreverse" => usize::from(!in_location),
            "balancermember" => usize::from(!found.context.iter().any(|s| s.name == "proxy")),
            "proxyremote" | "proxyremotematch" => 1,
            "rewriterule" if passes(found) => 1,
            "sethandler" if found.arg(0).is_some_and(|a| a.starts_with("proxy:")) => {
                all.push(Place { found, index: 0, before: "proxy:" });
                continue;
            }
            _ => continue,
        };
        all.push(Place { found, index, before: "" });
    }
    all
}

/// Whether a `RewriteRule` has the flag P.
fn passes(found: &Found) -> bool {
    let flags = found.arg(2).unwrap_or_default().trim_matches(['[', ']']);
    flags.split(',').any(|f| f.trim().eq_ignore_ascii_case("p") || f.trim().eq_ignore_ascii_case("proxy"))
}

/// Scheme, authority and the rest of a URL; none for what names no host: `!`, `balancer://`, variables, Unix sockets.
pub(super) fn parts(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    if scheme.eq_ignore_ascii_case("balancer") || scheme.starts_with("unix:") {
        return None;
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    Some((scheme, &rest[..end], &rest[end..]))
}

/// Its host and port; the scheme's usual one where it names none.
pub(super) fn host_and_port<'a>(scheme: &str, authority: &'a str) -> (&'a str, u16) {
    let default = usual_port(scheme).unwrap_or(80);
    match authority.rsplit_once(':') {
        Some((host, port)) if !authority.ends_with(']') => (host, port.parse().unwrap_or(default)),
        _ => (authority, default),
    }
}

/// Points every URL to where its target is now, and refuses those that leave this machine.
pub(super) fn redirect(
    config: &Config,
    changes: &mut Changes<'_>,
    moved: &[Moved],
    (backend, secured): (Option<SocketAddr>, Option<&str>),
    moves: &[Move],
    allowed: &[String],
) -> Result<(), CopyError> {
    let end = if secured.is_some() { "s" } else { "" };
    let backend = backend.map(|at| named(at, secured));
    for place in places(config) {
        let Some(url) = place.found.arg(place.index).and_then(|a| a.strip_prefix(place.before)) else { continue };
        let socket = url.starts_with("unix:");
        if let (None, Some(new)) = (&backend, elsewhere(moves, url)) {
            changes.set_one(place.found, place.index, format!("{}{new}", place.before));
            continue;
        }
        let Some((scheme, authority, rest)) = parts(url) else {
            if let (true, Some(backend)) = (socket, &backend) {
                changes.set_one(place.found, place.index, format!("{}http{end}://{backend}/", place.before));
            }
            continue;
        };
        let (host, port) = host_and_port(scheme, authority);
        let new = match (own(moved, host, port), &backend) {
            (Some(own), _) => format!("{}{scheme}://{own}{rest}", place.before),
            (None, Some(backend)) => {
                let scheme = if scheme.starts_with("ws") { "ws" } else { "http" };
                format!("{}{scheme}{end}://{backend}{rest}", place.before)
            }
            (None, None) if place.found.name == "proxypassreverse" => continue,
            (None, None) => {
                local_only(config, &place, host, allowed)?;
                continue;
            }
        };
        changes.set_one(place.found, place.index, new);
    }
    workers(config, changes, moved, backend.as_deref().map(|at| format!("{end}://{at}")).as_deref(), moves);
    Ok(())
}

/// A worker's URL without the socket before it.
pub(super) fn plain(url: &str) -> &str {
    url.split_once('|').map_or(url, |(_, rest)| rest)
}

/// Workers that a `<Proxy>` or a `ProxySet` names by their URL go where their requests do: what they have of parameters is in force there, too.
fn workers(config: &Config, changes: &mut Changes<'_>, moved: &[Moved], backend: Option<&str>, moves: &[Move]) {
    // A path is as it is written; the server's name has no case.
    let server = |url: &str| {
        parts(plain(url)).map(|(scheme, authority, _)| format!("{scheme}://{authority}").to_ascii_lowercase())
    };
    let asked = |place: &Place<'_>| server(place.found.arg(place.index)?.strip_prefix(place.before)?);
    let servers: BTreeSet<String> = places(config).iter().filter_map(asked).collect();
    let is_one = servers.iter().filter_map(|url| Some(parts(url)?.1)).collect::<BTreeSet<_>>().len() == 1;
    let names = |found: &&Found| {
        found.section && found.name == "proxy"
            || found.name == "proxyset" && !found.context.iter().any(|s| s.name.starts_with("proxy"))
    };
    for found in config.found().iter().filter(names) {
        let Some(url) = found.arg(0).filter(|url| server(url).is_some_and(|of| servers.contains(&of))) else {
            continue;
        };
        let Some((scheme, authority, rest)) = parts(plain(url)) else { continue };
        let (scheme, authority) = (scheme.to_ascii_lowercase(), authority.to_ascii_lowercase());
        let (host, port) = host_and_port(&scheme, &authority);
        // Servers that are one now would share a worker: what one has of parameters would be in force for all.
        let new = match (own(moved, host, port), backend) {
            (Some(own), _) => Some(format!("{scheme}://{own}{rest}")),
            (None, Some(backend)) => {
                is_one.then(|| format!("{}{backend}{rest}", if scheme.starts_with("ws") { "ws" } else { "http" }))
            }
            (None, None) => elsewhere(moves, url),
        };
        if let Some(new) = new {
            changes.set_one(found, 0, new);
        }
    }
}

/// A URL with what is there instead of its server; none: it stays. (`unix:PATH|URL`: mod_proxy, `ap_proxy_de_socketfy`.)
fn elsewhere(moves: &[Move], url: &str) -> Option<String> {
    if let Some((socket, rest)) = url.split_once('|') {
        return Some(format!("{}|{rest}", Move::of(moves, socket)?));
    }
    let (scheme, authority, rest) = parts(url)?;
    Some(format!("{scheme}://{}{rest}", Move::of(moves, authority)?))
}

/// Refuses a host that is not this machine, unless the user named it.
fn local_only(config: &Config, place: &Place<'_>, host: &str, allowed: &[String]) -> Result<(), CopyError> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let written = || format!("{}: `{}`", config.place(place.found), place.found.written());
    remote::check(bare, allowed, written).map_err(CopyError::Remote)
}

#[cfg(test)]
mod tests {
    use genkai_place::endpoint::Endpoint;

    use super::*;
    use crate::apache::config::Reading;

    #[test]
    fn urls_come_apart() {
        assert_eq!(parts("http://a:1/b?c"), Some(("http", "a:1", "/b?c")));
        assert_eq!(parts("fcgi://[::1]:9"), Some(("fcgi", "[::1]:9", "")));
        assert_eq!((parts("balancer://x/"), parts("!"), parts("unix:/s|http://h/")), (None, None, None));
        assert_eq!(host_and_port("wss", "h"), ("h", 443));
        assert_eq!(host_and_port("http", "[::1]:9"), ("[::1]", 9));
        assert_eq!(host_and_port("http", "[::1]"), ("[::1]", 80));
    }

    #[test]
    fn only_what_is_moved_goes_elsewhere() {
        let at = |text: &str| Endpoint::parse(text).unwrap();
        let moves = [
            Move { from: at("unix:/run/a.sock"), to: at("unix:/x/pool.sock") },
            Move { from: at("127.0.0.1:9000"), to: at("127.0.0.1:40000") },
        ];
        let new = |url: &str| elsewhere(&moves, url);
        assert_eq!(
            new("unix:/run/a.sock|fcgi://localhost/var/www/").as_deref(),
            Some("unix:/x/pool.sock|fcgi://localhost/var/www/")
        );
        for local in ["127.0.0.1", "localhost"] {
            let url = format!("fcgi://{local}:9000/var/www/$1");
            assert_eq!(new(&url).as_deref(), Some("fcgi://127.0.0.1:40000/var/www/$1"));
        }
        assert_eq!((new("unix:/run/b.sock|fcgi://h/"), new("http://127.0.0.1:9001/"), new("!")), (None, None, None));
    }

    /// A path has its case, as the requests have that go there; a host and a scheme have none.
    #[test]
    fn a_worker_goes_where_its_requests_do() {
        let text =
            "Listen 80\n<Proxy HTTP://Localhost:9/Api>\nProxySet max=3\n</Proxy>\nProxyPass / http://localhost:9/\n";
        let reading = Reading { root: "/".into(), environment: [].into(), defines: [].into(), version: (2, 4, 71) };
        let config = Config::of_text(std::path::Path::new("/x/httpd.conf"), text.into(), reading).unwrap();
        let mut changes = Changes::new(&config, std::path::Path::new("/copy"));
        workers(&config, &mut changes, &[], Some("://127.0.0.1:40000"), &[]);
        let new: Vec<String> =
            changes.edits.iter().map(|edit| String::from_utf8_lossy(&edit.with).into_owned()).collect();
        assert!(new.len() == 1 && new[0].contains("http://127.0.0.1:40000/Api"), "{new:?}");
    }
}
