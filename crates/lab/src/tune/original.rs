//! The user's own server of the very configuration whose private copy is under test, where it runs: a copy that answers otherwise than it says nothing
//! of it.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use genkai_engine::{Asked, ask};
use genkai_model::event::Rewrite;
use genkai_model::load::Load;
use genkai_model::plan::{Backend, ConfigSource, System};
use genkai_model::transport::{Tls, Transport};
use genkai_place::endpoint::{Endpoint, Listener};
use genkai_targets::catalog;

use super::listener::{is_listener, ports};
use crate::first::{self, WITHIN};

/// Identity of the note that tells what goes to the user's own server instead of its copy.
pub(super) use genkai_model::record::APART;

/// Whether it listens there.
fn listens(at: SocketAddr, product: &str, file: &Path) -> bool {
    matches!(Endpoint::Tcp(at).listener(), Listener::Process(pid) if catalog::runs(pid, product, file))
}

/// Where the user's server listens as its copy does at `copy`, of which these are the differences; none: it does not run, or the copy is meant to be
/// unlike it (other settings, another backend).
pub(super) fn at(system: &System, rewrites: &[Rewrite], copy: SocketAddr) -> Option<SocketAddr> {
    let System { product, config: ConfigSource::File(file), settings, backend: Backend::Kept, .. } = system else {
        return None;
    };
    if !settings.is_empty() {
        return None;
    }
    let asked = rewrites.iter().filter(|one| is_listener(one) && ports(&one.to).contains(&copy.port()));
    let written: BTreeSet<u16> = asked.flat_map(|one| numbers(&one.from)).collect();
    let places = written.into_iter().flat_map(|port| {
        [SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SocketAddr::from((Ipv6Addr::LOCALHOST, port))]
    });
    places.into_iter().find(|at| listens(*at, product, file))
}

/// The process that listens there.
pub(super) fn process(system: &System, rewrites: &[Rewrite], copy: SocketAddr) -> Option<u32> {
    match Endpoint::Tcp(at(system, rewrites, copy)?).listener() {
        Listener::Process(pid) => Some(pid),
        _ => None,
    }
}

/// The ports in the words of a listener as users write it: `80`, `*:80`, `https://a:443`.
fn numbers(text: &str) -> Vec<u16> {
    let words = text.split([' ', ',', '\t', ';', '{']);
    words.filter_map(|word| word.rsplit(':').next()?.trim_end_matches('/').parse().ok()).collect()
}

/// What is wrong where the copy at `copy` fails at one request (`said`: what it answered), and once more, and the user's server does not.
pub(super) fn otherwise(
    load: &Load,
    said: &str,
    product: &str,
    (at, copy): (SocketAddr, SocketAddr),
) -> Option<String> {
    // Its certificate is its own matter.
    let transport = match load.transport.clone() {
        Transport::Tls(tls) => Transport::Tls(Tls { insecure: true, ca: None, ..tls }),
        other => other,
    };
    let theirs = first::alike(&Load { addresses: vec![at], transport, ..load.clone() });
    let Some(Asked::Answered { status: status @ ..400, .. }) = ask(&theirs, at, WITHIN) else { return None };
    // It was started a moment ago, and may have been asked too soon.
    let again = ask(&first::alike(load), copy, WITHIN);
    (!matches!(again, Some(Asked::Answered { status: ..400, .. }))).then(|| {
        format!(
            "{product} that was started with this very file answers {} {} at {at} with {status}, and its private copy {said}: what a load on the \
             copy shows would not be so of the server\n  hint: the copy has other ports and certificates, and what it asks may be in use by the server \
             that runs (connections of a database); or the file was changed since the server was started. `genkai load` measures the server itself",
            load.request.method, load.request.path
        )
    })
}

/// What is to be said where those behind the copy ask the user's own server, at one of these places.
pub(super) fn apart(system: &System, places: &BTreeSet<Endpoint>) -> Option<String> {
    let System { product, config: ConfigSource::File(file), .. } = system else { return None };
    let own = |at: &&Endpoint| matches!(at.listener(), Listener::Process(pid) if catalog::runs(pid, product, file));
    let at = places.iter().find(own)?;
    Some(format!(
        "What stands behind {product} asks {at}, which is {product} itself, started with this very file. In this run that goes to the \
         server that runs, and not to the private copy that was loaded: of such a site it is not known what it bears, whatever is said of the copy."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_as_users_write_them() {
        for (text, expected) in [
            ("listen 127.0.0.1:32130 ssl", vec![32130]),
            ("Listen 81", vec![81]),
            ("bind *:80,:::443 accept-proxy", vec![80, 443]),
            ("listen [::]:8080;", vec![8080]),
            ("https://a.example:444 {", vec![444]),
            ("listen unix:/run/x", vec![]),
        ] {
            assert_eq!(numbers(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_file_of_the_users_or_meant_to_be_unlike_it_has_no_server() {
        let of = |system: &System| at(system, &[], ([127, 0, 0, 1], 9).into());
        let generated = System::generated("nginx");
        assert_eq!((of(&generated), apart(&generated, &BTreeSet::new())), (None, None));
        let file = System { config: ConfigSource::File("/x".into()), backend: Backend::Kept, ..generated };
        assert_eq!((of(&file), apart(&file, &BTreeSet::new())), (None, None));
    }
}
