//! What is behind: kept, or replaced by one backend. What leads back into the same nginx follows its listeners in any case.

use std::net::SocketAddr;

use genkai_model::event::Rewrite;

use super::changes::Changes;
use super::listen::{Moved, Own};
use super::variable::{Variables, Way, takes};
use crate::files::{CopyError, Move};
use crate::nginx::config::{Config, Family, Pass, Protocol, Target, UpstreamServer, authority, lexer};

/// A variable of the copy's that is empty.
const NOTHING: &str = "genkai_nothing";

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
    let variables = Variables::new(config);
    let written = backend.map(|backend| backend.to_string());
    variables.change(changes, &own, written.as_deref().map(|backend| (scheme, backend)));
    let mut padded = false;
    for pass in config.passes() {
        let backend = backend.filter(|_| takes(&pass));
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
            Target::Variable => match (backend, variables.by(&pass)) {
                (Some(backend), Way::Whole) => {
                    whole(config, changes, &pass, scheme, &backend.to_string(), &mut padded)?;
                }
                (Some(_), Way::Values) if is_spoken_to(&variables, &pass) => {
                    http(changes, &pass, scheme, &pass.authority);
                }
                _ => {}
            },
            _ => {}
        }
    }
    Ok(())
}

/// A pass of which variables are the host. Its URI is passed on as it is written, and stays so: with a variable in it, which is empty.
fn whole(
    config: &Config,
    changes: &mut Changes<'_>,
    pass: &Pass<'_>,
    scheme: &str,
    authority: &str,
    padded: &mut bool,
) -> Result<(), CopyError> {
    let mut pass = pass.clone();
    if !pass.rest.is_empty() && !pass.rest.contains('$') && pass.protocol == Protocol::Http {
        pass.rest.insert_str(1, &format!("${{{NOTHING}}}"));
        if let Some(http) = super::http(config).filter(|_| !*padded) {
            let text = format!("map $pid ${NOTHING} {{ default \"\"; }}");
            changes.list(Rewrite { from: String::new(), to: text.clone(), place: http.place() });
            changes.keep(config.insert_at_start(&http, &text)?);
            *padded = true;
        }
    }
    http(changes, &pass, scheme, authority);
    Ok(())
}

/// Whether all that variables name is a backend now, which a pass with a scheme of its own must speak to as that wants it.
fn is_spoken_to(variables: &Variables<'_>, pass: &Pass<'_>) -> bool {
    let has_scheme = pass.protocol != Protocol::Http || !pass.scheme.is_empty();
    let is_own = |value: &str| authority(value).contains(':') && variables.is_inner(value);
    has_scheme && !variables.named(pass).unwrap_or_default().iter().any(|(_, value)| is_own(value))
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
        let mut to: Vec<String> = changes.rewrites.iter().map(|rewrite| rewrite.to.clone()).collect();
        to.sort();
        assert_eq!(to, ["/x 127.0.0.1:4001", "set $to http://127.0.0.1:4001"]);
    }
}
