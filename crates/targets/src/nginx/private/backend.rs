//! What is behind: kept, or replaced by one backend. What leads back into the same nginx follows its listeners in any case.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use genkai_model::event::Rewrite;

use super::changes::Changes;
use super::listen::{Moved, Own};
use crate::files::{CopyError, Move};
use crate::nginx::config::{Address, Config, Family, Pass, Protocol, Target, UpstreamServer, authority, lexer};
use crate::nginx::remote::values;

/// Points every upstream server and `*_pass` to where its target is now.
pub(super) fn redirect(
    config: &Config,
    changes: &mut Changes<'_>,
    moved: &[Moved],
    (backend, secured): (Option<SocketAddr>, Option<&str>),
    moves: &[Move],
) -> Result<(), CopyError> {
    if let Some(name) = secured.filter(|name| !name.is_empty()) {
        named(config, changes, name)?;
    }
    let scheme = if secured.is_some() { "https://" } else { "http://" };
    let own = Own::new(moved);
    // Names of the groups of which every server is this nginx itself: they keep their protocol.
    let mut inner = Vec::new();
    for upstream in config.upstreams() {
        let backend = backend.filter(|_| upstream.family == Family::Http);
        let all_own = upstream.servers.iter().all(|s| s.address.as_ref().is_some_and(|a| own.at(a).is_some()));
        if all_own {
            inner.push(upstream.name.to_ascii_lowercase());
        }
        for server in &upstream.servers {
            one_server(changes, &own, backend, moves, server);
        }
    }
    variables(config, changes, &own);
    let resolver = config.walk().iter().any(|f| f.directive.is("resolver") && !f.is_entry());
    for pass in config.passes() {
        let backend = backend.filter(|_| !matches!(pass.protocol, Protocol::Stream | Protocol::Memcached));
        match &pass.target {
            Target::Address(address) => match (own.at(address), backend) {
                (Some(new), _) => to(changes, &pass, &pass.scheme, &new.to.to_string()),
                (None, Some(backend)) => http(changes, &pass, scheme, &backend.to_string()),
                (None, None) => {
                    if let Some(new) = Move::of(moves, &pass.authority) {
                        to(changes, &pass, &pass.scheme, &new);
                    }
                }
            },
            Target::Upstream(name) if backend.is_some() && !inner.contains(&name.to_ascii_lowercase()) => {
                http(changes, &pass, scheme, &pass.authority);
            }
            // Without a resolver, variables can only name upstream groups (whose servers are replaced) and addresses.
            Target::Variable if resolver => {
                if let Some(backend) = backend {
                    http(changes, &pass, scheme, &backend.to_string());
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Listeners of its own that a variable names by which a pass is chosen: requests would reach the user's server there.
fn variables(config: &Config, changes: &mut Changes<'_>, own: &Own<'_>) {
    let passes = config.passes();
    let named = passes.iter().filter(|pass| pass.target == Target::Variable);
    let names: BTreeSet<&str> = named.filter_map(|pass| pass.authority.strip_prefix('$')).collect();
    for (found, value) in names.into_iter().flat_map(|name| values(config, name)) {
        let authority = authority(&value);
        // A name alone may be that of a group.
        let address = Address::parse(&authority, false, 80).filter(|_| authority.contains(':'));
        let Some(new) = address.and_then(|(address, _)| own.at(&address)) else { continue };
        let mut args = found.args();
        if let Some(last) = args.last_mut() {
            *last = value.replacen(&authority, &new.to.to_string(), 1);
        }
        changes.set(&found, &args);
    }
}

fn one_server(
    changes: &mut Changes<'_>,
    own: &Own<'_>,
    backend: Option<SocketAddr>,
    moves: &[Move],
    server: &UpstreamServer<'_>,
) {
    let mut args = server.found.args();
    let new = server.address.as_ref().and_then(|a| own.at(a));
    let address = match (new, backend) {
        (Some(new), _) => new.to.to_string(),
        (None, Some(backend)) => backend.to_string(),
        (None, None) => match args.first().and_then(|written| Move::of(moves, written)) {
            Some(new) => new,
            None => return,
        },
    };
    args[0] = address;
    args.retain(|a| a != "resolve" && !a.starts_with("service="));
    changes.set(&server.found, &args);
}

/// Tells what takes TLS its name in the handshake, where the configuration says nothing of names.
fn named(config: &Config, changes: &mut Changes<'_>, name: &str) -> Result<(), CopyError> {
    let says = |of: &str| config.walk().iter().any(|found| found.directive.is(of));
    let Some(http) = super::http(config).filter(|_| !says("proxy_ssl_name")) else { return Ok(()) };
    let name = String::from_utf8_lossy(&lexer::quote(name.as_bytes())).into_owned();
    let told = if says("proxy_ssl_server_name") { "" } else { " proxy_ssl_server_name on;" };
    let text = format!("proxy_ssl_name {name};{told}");
    changes.list(Rewrite { from: String::new(), to: text.clone(), place: http.place() });
    changes.keep(config.insert_at_start(&http, &text)?);
    Ok(())
}

/// Passes by HTTP to `authority`, whatever the protocol was: directives of the other protocol have no effect then.
fn http(changes: &mut Changes<'_>, pass: &Pass<'_>, scheme: &str, authority: &str) {
    if pass.protocol == Protocol::Http {
        return to(changes, pass, scheme, authority);
    }
    let argument = format!("{scheme}{authority}");
    let found = &pass.found;
    let quoted = String::from_utf8_lossy(&lexer::quote(argument.as_bytes())).into_owned();
    let text = format!("proxy_pass {quoted};");
    changes.list(Rewrite { from: found.written(), to: text.trim_end_matches(';').to_owned(), place: found.place() });
    changes.keep(found.replace(text.into_bytes()));
}

fn to(changes: &mut Changes<'_>, pass: &Pass<'_>, scheme: &str, authority: &str) {
    // After a Unix socket a URI begins with a colon, after a port it must not.
    let rest = match (authority.starts_with("unix:"), pass.rest.strip_prefix(':')) {
        (false, Some(uri)) => uri.to_owned(),
        (true, None) if !pass.rest.is_empty() => format!(":{}", pass.rest),
        _ => pass.rest.clone(),
    };
    let mut args = pass.found.args();
    args[0] = format!("{scheme}{authority}{rest}");
    changes.set(&pass.found, &args);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::nginx::config::{Address, Family, Host};
    use crate::nginx::private::listen::At;

    #[test]
    fn what_a_variable_names_of_its_own_follows_its_listener() {
        let text = "events {} http { map $uri $b { /x 127.0.0.1:8081; default 127.0.0.1:9; } server { listen 8081; location / { set $to \
                    http://127.0.0.1:8081; proxy_pass $to; } location /b { proxy_pass http://$b; } } }";
        let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/usr")).unwrap();
        let moved = Moved {
            place: String::new(),
            from: "8081".to_owned(),
            address: Address::Inet { host: Host::V4(std::net::Ipv4Addr::UNSPECIFIED), port: 8081 },
            to: At::Inet("127.0.0.1:4001".parse().unwrap()),
            family: Family::Http,
            ssl: false,
            http2: false,
            udp: false,
            merged: false,
        };
        let mut changes = Changes::new(&config, Path::new("/d"));
        redirect(&config, &mut changes, &[moved], (None, None), &[]).unwrap();
        let to: Vec<String> = changes.rewrites.iter().map(|rewrite| rewrite.to.clone()).collect();
        assert_eq!(to, ["/x 127.0.0.1:4001", "set $to http://127.0.0.1:4001"]);
    }
}
