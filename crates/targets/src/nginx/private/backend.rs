//! What is behind: kept, or replaced by one backend. What leads back into the same nginx follows its listeners in any case.

use std::net::SocketAddr;

use genkai_model::event::Rewrite;

use super::changes::Changes;
use super::listen::{Moved, Own};
use crate::files::{CopyError, Move};
use crate::nginx::config::{Config, Family, Pass, Protocol, Target, UpstreamServer, lexer};

/// Points every upstream server and `*_pass` to where its target is now.
pub(super) fn redirect(
    config: &Config,
    changes: &mut Changes<'_>,
    moved: &[Moved],
    backend: Option<SocketAddr>,
    moves: &[Move],
) -> Result<(), CopyError> {
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
    let resolver = config.walk().iter().any(|f| f.directive.is("resolver") && !f.is_entry());
    for pass in config.passes() {
        let backend = backend.filter(|_| !matches!(pass.protocol, Protocol::Stream | Protocol::Memcached));
        match &pass.target {
            Target::Address(address) => match (own.at(address), backend) {
                (Some(new), _) => to(changes, &pass, &pass.scheme, &new.to.to_string()),
                (None, Some(backend)) => http(changes, &pass, &backend.to_string()),
                (None, None) => {
                    if let Some(new) = Move::of(moves, &pass.authority) {
                        to(changes, &pass, &pass.scheme, &new);
                    }
                }
            },
            Target::Upstream(name) if backend.is_some() && !inner.contains(&name.to_ascii_lowercase()) => {
                http(changes, &pass, &pass.authority);
            }
            // Without a resolver, variables can only name upstream groups (whose servers are replaced) and addresses.
            Target::Variable if resolver => {
                if let Some(backend) = backend {
                    http(changes, &pass, &backend.to_string());
                }
            }
            _ => {}
        }
    }
    Ok(())
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

/// Passes by HTTP to `authority`, whatever the protocol was: directives of the other protocol have no effect then.
fn http(changes: &mut Changes<'_>, pass: &Pass<'_>, authority: &str) {
    if pass.protocol == Protocol::Http {
        return to(changes, pass, "http://", authority);
    }
    let argument = format!("http://{authority}");
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
