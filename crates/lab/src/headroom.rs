//! Whether a load fits this machine, and from which addresses it comes.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};

use genkai_engine::{Headroom, automatic_sources, preflight};
use genkai_model::event::Environment;
use genkai_model::load::Load;
use genkai_place::ports_in_use::ports_in_use;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::error::LabError;
use crate::scenario;

/// What this machine has for connections to `destinations`. One that is not known yet (the server is not up) is some port of
/// 127.0.0.1.
pub(crate) fn look(destinations: &[SocketAddr], environment: &Environment) -> Headroom {
    let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(environment.descriptors, |(_, hard)| hard);
    let taken = ports_in_use(destinations);
    let usual = usual(destinations);
    Headroom { descriptors, ports: environment.ports, listeners: taken.by_listeners, taken: taken.by_source, usual }
}

/// The address from which the system connects to these; to one that is not known yet from 127.0.0.1.
pub(crate) fn usual(destinations: &[SocketAddr]) -> IpAddr {
    destinations.first().and_then(|to| usual_source(*to)).unwrap_or(Ipv4Addr::LOCALHOST.into())
}

/// The address from which the system connects to `destination`. (connect(2) of a datagram socket chooses it and sends nothing.)
fn usual_source(destination: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = if destination.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(destination).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// The load as it goes to servers that listen at this address, where one is named.
pub(crate) fn listened(load: &Load, listen: Option<Ipv4Addr>) -> Load {
    listen.map_or_else(|| load.clone(), |ip| scenario::aimed(load, (ip, 80).into(), load.transport.clone()))
}

/// The load, with the source addresses it needs.
///
/// # Errors
/// When it does not fit, or a source address is not this machine's.
pub(crate) fn fit(load: &Load, room: &Headroom) -> Result<Load, LabError> {
    advised(load, room, None)
}

/// The same; `hint` is what would make it fit, where that is not what preflight names: flags of `genkai load`.
pub(crate) fn advised(load: &Load, room: &Headroom, hint: Option<&str>) -> Result<Load, LabError> {
    let mut load = load.clone();
    let known = !load.addresses.is_empty();
    if !known {
        load = scenario::aimed(&load, SocketAddr::from(([127, 0, 0, 1], 80)), load.transport.clone());
    }
    load.scale.sources = automatic_sources(&load, room);
    preflight(&load, room).map_err(|mut e| {
        e.hint = hint.map_or(e.hint, str::to_owned);
        LabError::Environment(e.to_string())
    })?;
    ours(&load)?;
    if load.locust.is_some() {
        // Its workers connect from wherever the system has them do so.
        load.scale.sources.clear();
    }
    if !known {
        load.addresses.clear();
        load.scenario.iter_mut().flat_map(|scenario| &mut scenario.targets).for_each(|target| target.addresses.clear());
    }
    Ok(load)
}

/// Whether all sources are this machine's, and of the family of the destinations.
fn ours(load: &Load) -> Result<(), LabError> {
    for source in load.scale.sources.iter().collect::<BTreeSet<_>>() {
        if let Some(other) = load.addresses.iter().find(|to| to.is_ipv4() != source.is_ipv4()) {
            return Err(LabError::Plan(format!(
                "--source {source}: cannot connect to {}, which is of another kind",
                other.ip()
            )));
        }
        TcpListener::bind((*source, 0)).map_err(|e| {
            LabError::Environment(format!(
                "--source {source}: this machine cannot use that address ({e})\n  hint: `ip address` shows those it has; all of \
                 127.0.0.0/8 are its own"
            ))
        })?;
    }
    Ok(())
}

/// Raises the soft limit on descriptors to the hard one: the generator's connections count against it. Servers under
/// test keep the limit that a server started by hand would have; they were prepared before.
pub fn raise_descriptors() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // Where it is refused, the engine reports descriptors as what ran out.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_must_be_ours_and_of_the_right_family() {
        let mut load = crate::experiment::users(2, 1.0);
        load.addresses = vec!["127.0.0.1:80".parse().unwrap()];
        let with = |source: &str| {
            let mut load = load.clone();
            load.scale.sources = vec![source.parse().unwrap()];
            ours(&load)
        };
        assert!(with("127.3.4.5").is_ok());
        assert!(matches!(with("192.0.2.7"), Err(LabError::Environment(text)) if text.contains("192.0.2.7")));
        assert!(matches!(with("::1"), Err(LabError::Plan(_))));
    }

    #[test]
    fn a_load_is_fitted_to_the_address_at_which_servers_listen() {
        let load = crate::experiment::users(2, 1.0);
        let to = |listen: Option<&str>| listened(&load, listen.map(|ip| ip.parse().unwrap())).addresses;
        assert_eq!(to(None), load.addresses);
        assert_eq!(to(Some("10.0.0.1")), ["10.0.0.1:80".parse().unwrap()]);
    }

    #[test]
    fn the_system_comes_to_loopback_from_loopback() {
        assert_eq!(usual_source("127.0.0.1:9".parse().unwrap()), Some(Ipv4Addr::LOCALHOST.into()));
    }
}
