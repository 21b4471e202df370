//! Whether a load fits this machine, before it is made: descriptors of each process, local ports of each source address.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use genkai_model::http2::Http2;
use genkai_model::load::{Arrivals, Load, Protocol, Way};
use genkai_model::scenario::Target;
use genkai_model::transport::Transport;

/// Descriptors a process needs besides its connections: standard streams, the record's files, pipes of the processes it
/// started; and for each thread an epoll and a timerfd, and some to spare.
const OWN: u64 = 64;
const PER_THREAD: u64 = 8;

/// Most processes that are ever advised.
const MOST_PROCESSES: u64 = 256;

/// Most source addresses that are ever chosen.
const MOST_SOURCES: u64 = 1024;

/// What this machine has for connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Descriptors that each process may open, once its soft limit is raised as far as it may be.
    pub descriptors: u64,
    /// Local ports for outgoing connections, first and last (net.ipv4.ip_local_port_range).
    pub ports: (u16, u16),
    /// How many of them are taken for every address, by servers that listen on them.
    pub listeners: u64,
    /// How many others are taken already, of each source address, as far as is known.
    pub taken: BTreeMap<IpAddr, u64>,
    /// The source address that the system chooses.
    pub usual: IpAddr,
}

/// What a load runs out of first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// Descriptors of a process (RLIMIT_NOFILE).
    Descriptors,
    /// Local ports: one a connection for each pair of source and destination address (net.ipv4.ip_local_port_range).
    Ports,
}

/// A load with more connections than fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the load needs {asked} connections, but only {largest} fit: {limit}\n  hint: {hint}")]
pub struct TooLarge {
    /// Connections asked for.
    pub asked: u64,
    /// The largest number that fits.
    pub largest: u64,
    /// What is short.
    pub limited_by: Limiter,
    /// The limit in figures, one clause.
    pub limit: String,
    /// What would make it fit: flags, settings.
    pub hint: String,
}

impl Headroom {
    /// Ports in the range.
    fn range(&self) -> u64 {
        (u64::from(self.ports.1) + 1).saturating_sub(u64::from(self.ports.0))
    }

    /// Free ports of one address.
    fn free(&self, source: &IpAddr) -> u64 {
        self.range().saturating_sub(self.listeners + self.taken.get(source).copied().unwrap_or(0))
    }

    /// Free ports of all sources of `load`, for one destination.
    fn free_of(&self, load: &Load) -> u64 {
        let sources: BTreeSet<&IpAddr> = load.scale.sources.iter().collect();
        if sources.is_empty() { self.free(&self.usual) } else { sources.into_iter().map(|s| self.free(s)).sum() }
    }
}

/// Connections that so many of the processes of `load` need at once: processes differ by at most one connection a thread.
fn part(load: &Load, processes: u16) -> u64 {
    let (part, all) = (u64::from(processes), u64::from(load.scale.processes.max(1)));
    if part == all { asked(load) } else { (asked(load) * part).div_ceil(all) }
}

/// Connections that `load` needs at once.
fn asked(load: &Load) -> u64 {
    // More, where the server allows fewer streams a connection: that is found out in the load.
    let shared = |users: u32, http2: Http2| u64::from(users.div_ceil(http2.streams.max(1)));
    let users = match load.arrivals {
        Arrivals::Users { count, .. } => count,
        Arrivals::Rate { connections, .. } => connections,
    };
    match (&load.scenario, &load.protocol, load.arrivals) {
        // A user has a connection to each target that it asks, and a WebSocket.
        (Some(scenario), ..) => {
            let to = |target: &Target| target.http2.map_or(u64::from(users), |http2| shared(users, http2));
            let talks = if scenario.talks() { u64::from(users) } else { 0 };
            let targets = scenario.asked().into_iter().filter_map(|n| scenario.targets.get(n as usize));
            targets.map(to).sum::<u64>() + talks
        }
        (None, Protocol::Http2(http2), Arrivals::Users { .. }) => shared(users, *http2),
        _ => u64::from(users),
    }
}

fn destinations(load: &Load) -> u64 {
    let targets = load.scenario.iter().flat_map(|scenario| &scenario.targets);
    let all = load.addresses.iter().chain(targets.flat_map(|target| &target.addresses));
    all.collect::<BTreeSet<_>>().len() as u64
}

fn has_ports(load: &Load) -> bool {
    !matches!(load.transport, Transport::Unix { .. })
}

/// The sources with which `load` fits this machine's ports: those it names; or, when it names none, goes to 127.0.0.0/8 and needs
/// more ports than one address has, as many addresses of that network as keep three quarters of their ports free. (All of them
/// are this machine's, RFC 1122 section 3.2.1.3. The kernel tries every second port first, one after another from a random one on, and the
/// others only when all of these are taken: net/ipv4/inet_hashtables.c, `__inet_hash_connect`. Beyond half of the ports a
/// connection costs about 900 us of processor time instead of 15, seen on Linux 6.)
pub fn automatic_sources(load: &Load, headroom: &Headroom) -> Vec<IpAddr> {
    let v4_loopback = |ip: IpAddr| matches!(ip, IpAddr::V4(v4) if v4.is_loopback());
    let inside = !load.addresses.is_empty() && load.addresses.iter().all(|address| v4_loopback(address.ip()));
    let needed = part(load, load.scale.here()).div_ceil(destinations(load).max(1));
    let enough = headroom.free(&headroom.usual) >= needed;
    if !load.scale.sources.is_empty() || !inside || !has_ports(load) || enough || headroom.range() == 0 {
        return load.scale.sources.clone();
    }
    let first = u32::from(Ipv4Addr::LOCALHOST);
    let mut free = 0;
    let mut roomy = |source: &IpAddr| {
        let wanted = free < needed;
        free += headroom.free(source).min(headroom.range().div_ceil(4));
        wanted
    };
    let all = (first..).take(MOST_SOURCES as usize).map(|ip| IpAddr::from(Ipv4Addr::from(ip)));
    all.take_while(|source| roomy(source)).collect()
}

/// Checks what this machine makes of `load` against what it has.
///
/// # Errors
/// When the load's connections do not fit, with the largest number that does and what would make them fit.
pub fn preflight(load: &Load, headroom: &Headroom) -> Result<(), TooLarge> {
    preflight_at(load, &Way::Here, headroom)
}

/// Checks what the machine that is reached by `way` makes of `load` against what that machine has.
///
/// # Errors
/// When its part of the load's connections does not fit, with the largest load of which its part does.
pub fn preflight_at(load: &Load, way: &Way, headroom: &Headroom) -> Result<(), TooLarge> {
    let processes = load.scale.at(way);
    let (part, own) = (part(load, processes), OWN + PER_THREAD * u64::from(load.threads));
    // Threads of a process differ by at most one connection, and so do processes: see `share`.
    let each = headroom.descriptors.saturating_sub(own);
    let by_descriptors = each.saturating_mul(u64::from(processes));
    let by_ports = if has_ports(load) { headroom.free_of(load) * destinations(load) } else { u64::MAX };
    let fit = by_descriptors.min(by_ports);
    if part <= fit {
        return Ok(());
    }
    let (limited_by, limit) = if by_descriptors <= by_ports {
        (Limiter::Descriptors, descriptors_limit(processes, headroom, own))
    } else {
        (Limiter::Ports, ports_limit(load, headroom))
    };
    let (asked, all) = (asked(load), u64::from(load.scale.processes.max(1)));
    if load.scale.is_spread() {
        let who = if *way == Way::Here { "this machine" } else { way.name() };
        let limit = format!("{who} makes {part} of them and can make {fit}: {limit}");
        // Its part is rounded up, so the largest is what it has, divided by its share.
        let largest = fit.saturating_mul(all) / u64::from(processes.max(1));
        return Err(TooLarge { asked, largest, limited_by, limit, hint: elsewhere(who, limited_by) });
    }
    let more_processes = (asked > by_descriptors).then(|| more_processes(asked, each, own));
    let more_ports = (asked > by_ports).then(|| more_ports(load, headroom, asked));
    let hint: Vec<String> = more_processes.into_iter().chain(more_ports).collect();
    Err(TooLarge { asked, largest: fit, limited_by, limit, hint: hint.join("; and ") })
}

/// What helps a machine among others.
fn elsewhere(who: &str, limited_by: Limiter) -> String {
    match limited_by {
        Limiter::Descriptors => format!(
            "more processes on {who} (--on), or a higher hard limit on descriptors there (ulimit -Hn, limits.conf(5)); or more machines"
        ),
        Limiter::Ports => format!("widen net.ipv4.ip_local_port_range on {who}; or name more machines (--on)"),
    }
}

fn descriptors_limit(processes: u16, headroom: &Headroom, own: u64) -> String {
    let who = match processes {
        1 => "one process".to_owned(),
        n => format!("each of {n} processes"),
    };
    format!("{who} may open {} descriptors and needs {own} for itself", headroom.descriptors)
}

fn ports_limit(load: &Load, headroom: &Headroom) -> String {
    let sources: BTreeSet<&IpAddr> = load.scale.sources.iter().collect();
    let taken: u64 = if sources.is_empty() {
        headroom.range() - headroom.free(&headroom.usual)
    } else {
        sources.iter().map(|s| headroom.range() - headroom.free(s)).sum()
    };
    format!(
        "there are {} local ports ({}-{}, net.ipv4.ip_local_port_range) for each of {} and each of {}; {taken} are taken",
        headroom.range(),
        headroom.ports.0,
        headroom.ports.1,
        counted(sources.len().max(1) as u64, "source address", "source addresses"),
        counted(destinations(load), "destination address", "destination addresses"),
    )
}

fn counted(n: u64, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

fn more_processes(asked: u64, each: u64, own: u64) -> String {
    let processes = if each == 0 { u64::MAX } else { asked.div_ceil(each) };
    if processes <= MOST_PROCESSES {
        return format!(
            "--processes {processes} makes it fit, or `ulimit -n {}` where the hard limit allows it",
            asked + own
        );
    }
    format!("raise the hard limit on descriptors (`ulimit -n {}`, which needs root)", asked + own)
}

fn more_ports(load: &Load, headroom: &Headroom, asked: u64) -> String {
    let addresses = asked.div_ceil(headroom.range().max(1) * destinations(load).max(1));
    format!(
        "--source with {addresses} addresses of this machine makes it fit (on loopback e.g. --source 127.0.0.0/26), or widen \
         net.ipv4.ip_local_port_range"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::load::{Way, Workplace};
    use genkai_model::scenario::Scenario;
    use genkai_model::units::Spread;
    use proptest::prelude::*;
    use std::net::SocketAddr;

    const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn load(count: u32, addresses: &[&str]) -> Load {
        let addresses = addresses.iter().map(|a| a.parse().unwrap()).collect();
        Load { addresses, threads: 2, ..Load::users(count, 1.0) }
    }

    fn headroom(descriptors: u64, ports: (u16, u16)) -> Headroom {
        Headroom { descriptors, ports, listeners: 0, taken: BTreeMap::new(), usual: LOCAL }
    }

    fn refused(load: &Load, headroom: &Headroom) -> TooLarge {
        preflight(load, headroom).unwrap_err()
    }

    #[test]
    fn the_largest_fits_and_one_more_does_not() {
        let one = ["127.0.0.1:80"];
        let range = (32768, 60999);
        let many = headroom(1 << 20, range);
        let short = refused(&load(30_000, &one), &many);
        assert_eq!((short.largest, short.limited_by), (28_232, Limiter::Ports));
        assert_eq!(preflight(&load(28_232, &one), &many), Ok(()));
        let few = headroom(1024, range);
        let short = refused(&load(30_000, &one), &few);
        assert_eq!((short.largest, short.limited_by), (944, Limiter::Descriptors));
        assert_eq!(preflight(&load(944, &one), &few), Ok(()));
        assert!(refused(&load(945, &one), &few).to_string().contains("ulimit -n 1025"));
        assert_eq!(refused(&load(1, &one), &headroom(10, range)).largest, 0);
    }

    #[test]
    fn each_destination_and_each_source_has_all_ports() {
        let mut load = load(700, &["127.0.0.1:80", "127.0.0.1:81", "127.0.0.1:81"]);
        let mut headroom = headroom(1 << 20, (1000, 1099));
        assert_eq!(refused(&load, &headroom).largest, 200);
        load.scale.sources = ["127.0.0.2", "127.0.0.3", "127.0.0.3"].map(|ip| ip.parse().unwrap()).to_vec();
        assert_eq!(refused(&load, &headroom).largest, 400);
        headroom.taken = [("127.0.0.3".parse().unwrap(), 30), ("127.0.0.9".parse().unwrap(), 99)].into();
        let short = refused(&load, &headroom);
        assert_eq!(short.largest, 340);
        assert!(short.to_string().contains("30 are taken"), "{short}");
        assert!(short.to_string().contains("--source with 4 addresses"), "{short}");
    }

    #[test]
    fn the_flags_advised_make_it_fit() {
        let mut load = load(100_000, &["127.0.0.1:80"]);
        let headroom = headroom(20_000, (32768, 60999));
        let short = refused(&load, &headroom);
        assert_eq!((short.largest, short.limited_by), (19_920, Limiter::Descriptors));
        assert!(short.hint.contains("--processes 6") && short.hint.contains("--source with 4 addresses"), "{short}");
        load.scale.processes = 6;
        assert_eq!(refused(&load, &headroom).limited_by, Limiter::Ports);
        load.scale.sources = automatic_sources(&load, &headroom);
        // A quarter of 28,232 ports is used of each.
        assert_eq!(load.scale.sources.len(), 15);
        assert_eq!(preflight(&load, &headroom), Ok(()));
        load.scale.processes = 5;
        assert_eq!(refused(&load, &headroom).largest, 99_600);
    }

    #[test]
    fn users_of_a_scenario_need_a_connection_to_each_target_they_ask() {
        let target = |port: u16, http2: Option<u32>| {
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            serde_json::json!({ "name": port.to_string(), "url": "", "host": "a", "addresses": [address.to_string()],
                "http2": http2.map(|streams| serde_json::json!({ "streams": streams })) })
        };
        let ask = |target: u32| serde_json::json!({ "do": "request", "name": 0, "target": target, "method": "GET", "path": "/" });
        let rounds =
            serde_json::json!({ "do": "loop", "times": { "count": 3 }, "variable": "n", "steps": [ask(1), ask(0)] });
        let connect = serde_json::json!({ "do": "connect", "name": 0, "target": 3, "path": "/", "subprotocols": [] });
        let scenario = |steps: serde_json::Value| {
            let targets = [target(80, None), target(81, None), target(82, Some(10)), target(83, None)];
            serde_json::from_value::<Scenario>(serde_json::json!({ "targets": targets, "names": ["a"], "drain": "0s",
                "flows": [{ "name": "a", "weight": 1, "steps": steps }] }))
            .unwrap_or_else(|e| panic!("{e}"))
        };
        let needed = |steps: serde_json::Value| {
            asked(&Load { scenario: Some(Box::new(scenario(steps))), ..load(95, &["127.0.0.1:80"]) })
        };
        assert_eq!(needed(serde_json::json!([ask(0), ask(0)])), 95);
        assert_eq!(needed(serde_json::json!([rounds])), 2 * 95);
        assert_eq!(needed(serde_json::json!([ask(2)])), 10);
        assert_eq!(needed(serde_json::json!([ask(0), ask(2), connect])), 95 + 10 + 95);
    }

    #[test]
    fn sources_are_chosen_on_loopback_only_and_by_need_only() {
        let headroom = headroom(1 << 20, (32768, 60999));
        assert_eq!(automatic_sources(&load(28_232, &["127.0.0.1:80"]), &headroom), [] as [IpAddr; 0]);
        assert_eq!(automatic_sources(&load(28_233, &["127.0.0.1:80"]), &headroom).len(), 4 + 1);
        for elsewhere in ["10.0.0.1:80", "[::1]:80"] {
            assert_eq!(automatic_sources(&load(50_000, &[elsewhere]), &headroom), [] as [IpAddr; 0], "{elsewhere}");
        }
        let mut named = load(50_000, &["127.0.0.1:80"]);
        named.scale.sources = vec!["127.0.0.7".parse().unwrap()];
        assert_eq!(automatic_sources(&named, &headroom), named.scale.sources);
    }

    #[test]
    fn a_machine_among_others_is_asked_for_its_part() {
        let way = |host: &str| Way::Ssh { command: vec!["ssh".into()], host: host.into() };
        let mut load = load(3_000, &["192.0.2.1:80"]);
        load.scale.processes = 3;
        load.scale.workplaces =
            vec![Workplace { by: way("a"), processes: 1 }, Workplace { by: way("b"), processes: 2 }];
        let room = headroom(1_000, (32768, 60999));
        assert_eq!(preflight(&load, &room), Ok(()), "none of it is made here");
        let short = preflight_at(&load, &way("b"), &room).unwrap_err();
        assert_eq!((short.asked, short.largest, short.limited_by), (3_000, 2_760, Limiter::Descriptors));
        assert!(short.limit.starts_with("b makes 2000 of them and can make 1840: each of 2 processes"), "{short}");
        let with = |count: u32| Load {
            arrivals: Arrivals::Users { count, spawn_rate: 1.0, think: Spread::default() },
            ..load.clone()
        };
        assert_eq!(preflight_at(&with(2_760), &way("b"), &room), Ok(()));
        assert!(preflight_at(&with(2_761), &way("b"), &room).is_err());
        let ports = preflight_at(&load, &way("a"), &headroom(9_000, (1_000, 1_099))).unwrap_err();
        assert_eq!((ports.largest, ports.limited_by), (300, Limiter::Ports));
        assert!(!ports.to_string().contains("--source"), "{ports}");
    }

    #[test]
    fn what_other_machines_make_needs_nothing_here() {
        let mut load = load(30_000, &["192.0.2.1:80"]);
        let headroom = headroom(20_000, (32768, 60999));
        assert_eq!(refused(&load, &headroom).limited_by, Limiter::Descriptors);
        let way = Way::Ssh { command: Vec::new(), host: "load1".to_owned() };
        let part = |by: &Way, processes| Workplace { by: by.clone(), processes };
        load.scale.processes = 3;
        load.scale.workplaces = vec![part(&Way::Here, 1), part(&way, 2)];
        assert_eq!(preflight(&load, &headroom), Ok(()));
        load.scale.workplaces = vec![part(&Way::Here, 3)];
        assert_eq!(refused(&load, &headroom).limited_by, Limiter::Ports);
        load.scale.workplaces = vec![part(&way, 3)];
        assert_eq!(preflight(&load, &super::tests::headroom(0, (1, 1))), Ok(()));
    }

    proptest! {
        /// What is chosen fits, whatever is taken.
        #[test]
        fn chosen_sources_suffice(count in 1u32..400_000, listeners in 0u64..300, taken in 0u64..28_232) {
            let mut load = load(count, &["127.0.0.1:80"]);
            let taken = [(LOCAL, taken)].into();
            let headroom = Headroom { descriptors: 1 << 20, ports: (32768, 60999), listeners, taken, usual: LOCAL };
            load.scale.sources = automatic_sources(&load, &headroom);
            prop_assert_eq!(preflight(&load, &headroom), Ok(()));
        }
    }
}
