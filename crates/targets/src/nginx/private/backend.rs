//! What is behind: kept, or replaced by one backend. What leads back into the same nginx follows its listeners in any case.

use std::net::SocketAddr;

use super::changes::{Changes, Rewrite};
use super::error::PrivateError;
use super::listen::{Moved, Own};
use crate::nginx::config::{Config, Family, Pass, Protocol, Target, UpstreamServer, lexer};

const FOLLOWED: &str = "leads back into this nginx: follows its listener";
const REPLACED: &str = "backend replaced";
const CONVERTED: &str = "backend replaced: it speaks HTTP, so the directives of the other protocol have no effect here";

/// Points every upstream server and `*_pass` to where its target is now.
pub(super) fn redirect(
    config: &Config,
    changes: &mut Changes<'_>,
    moved: &[Moved],
    backend: Option<SocketAddr>,
) -> Result<(), PrivateError> {
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
            one_server(changes, &own, backend, server);
        }
    }
    let resolver = config.walk().iter().any(|f| f.directive.is("resolver") && !f.is_entry());
    for pass in config.passes() {
        let backend = backend.filter(|_| !matches!(pass.protocol, Protocol::Stream | Protocol::Memcached));
        match &pass.target {
            Target::Address(address) => match (own.at(address), backend) {
                (Some(new), _) => to(changes, FOLLOWED, &pass, &pass.scheme, &new.to.to_string()),
                (None, Some(backend)) => http(changes, &pass, &backend.to_string()),
                (None, None) => {}
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

fn one_server(changes: &mut Changes<'_>, own: &Own<'_>, backend: Option<SocketAddr>, server: &UpstreamServer<'_>) {
    let mut args = server.found.args();
    let new = server.address.as_ref().and_then(|a| own.at(a));
    let (what, address) = match (new, backend) {
        (Some(new), _) => (FOLLOWED, new.to.to_string()),
        (None, Some(backend)) => (REPLACED, backend.to_string()),
        (None, None) => return,
    };
    args[0] = address;
    args.retain(|a| a != "resolve" && !a.starts_with("service="));
    changes.set(what, &server.found, &args);
}

/// Passes by HTTP to `authority`, whatever the protocol was.
fn http(changes: &mut Changes<'_>, pass: &Pass<'_>, authority: &str) {
    if pass.protocol == Protocol::Http {
        return to(changes, REPLACED, pass, "http://", authority);
    }
    let argument = format!("http://{authority}");
    let found = &pass.found;
    let quoted = String::from_utf8_lossy(&lexer::quote(argument.as_bytes())).into_owned();
    let text = format!("proxy_pass {quoted};");
    changes.rewrites.push(Rewrite {
        what: CONVERTED,
        from: found.written(),
        to: text.trim_end_matches(';').to_owned(),
        place: found.place(),
    });
    changes.edit(found.replace(text.into_bytes()));
}

fn to(changes: &mut Changes<'_>, what: &'static str, pass: &Pass<'_>, scheme: &str, authority: &str) {
    // After a Unix socket a URI begins with a colon, after a port it must not.
    let rest = match (authority.starts_with("unix:"), pass.rest.strip_prefix(':')) {
        (false, Some(uri)) => uri.to_owned(),
        (true, None) if !pass.rest.is_empty() => format!(":{}", pass.rest),
        _ => pass.rest.clone(),
    };
    let mut args = pass.found.args();
    args[0] = format!("{scheme}{authority}{rest}");
    changes.set(what, &pass.found, &args);
}
