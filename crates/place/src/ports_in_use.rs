//! Local ports that are taken, before a load needs them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use crate::diag::{self, Question, TCP_LISTEN, TCP_TIME_WAIT, ends};
use crate::machine;

/// Ports of the range for outgoing connections that cannot be had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortsInUse {
    /// By servers that listen on them: whatever the address, connect(2) passes them over (`__inet_hash_connect`,
    /// net/ipv4/inet_hashtables.c).
    pub by_listeners: u64,
    /// By connections to the destination to which most are taken, of each source address.
    pub by_source: BTreeMap<IpAddr, u64>,
}

/// Looks which ports are taken for connections to `destinations`. Ports in TIME_WAIT count unless the kernel gives them to
/// new connections (net.ipv4.tcp_tw_reuse: 1 always, 2 on loopback). What cannot be told is not counted.
pub fn ports_in_use(destinations: &[SocketAddr]) -> PortsInUse {
    let range = machine::local_ports();
    let inside = |port: u16| (range.0..=range.1).contains(&port);
    let mut listening = BTreeSet::new();
    let mut pairs: BTreeMap<(IpAddr, SocketAddr), u64> = BTreeMap::new();
    for family in [libc::AF_INET, libc::AF_INET6].map(|family| family as u8) {
        let listeners = Question { family, states: 1 << TCP_LISTEN, memory: false, info: false, to: 0 };
        let _ = diag::dump(listeners, |payload| {
            listening.extend(ends(payload).map(|(local, _)| local.port()).filter(|port| inside(*port)));
        });
    }
    for destination in destinations.iter().collect::<BTreeSet<_>>() {
        let family = if destination.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 } as u8;
        let free_again = reuses_time_wait(destination);
        let states = !(1 << TCP_LISTEN | if free_again { 1 << TCP_TIME_WAIT } else { 0 });
        let connected = Question { family, states, memory: false, info: false, to: destination.port() };
        let _ = diag::dump(connected, |payload| {
            if let Some((local, remote)) = ends(payload)
                && remote == *destination
                && inside(local.port())
            {
                *pairs.entry((local.ip(), remote)).or_default() += 1;
            }
        });
    }
    let mut by_source = BTreeMap::new();
    for ((source, _), count) in pairs {
        let most: &mut u64 = by_source.entry(source).or_default();
        *most = count.max(*most);
    }
    PortsInUse { by_listeners: listening.len() as u64, by_source }
}

fn reuses_time_wait(destination: &SocketAddr) -> bool {
    match std::fs::read_to_string("/proc/sys/net/ipv4/tcp_tw_reuse").unwrap_or_default().trim() {
        "1" => true,
        "2" => destination.ip().is_loopback(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn connections_and_listeners_are_counted_where_they_are() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let destination = listener.local_addr().unwrap();
        assert_eq!(ports_in_use(&[destination]).by_source, BTreeMap::new());
        let clients: Vec<TcpStream> = (0..5).map(|_| TcpStream::connect(destination).unwrap()).collect();
        let seen = ports_in_use(&[destination, destination]);
        assert_eq!(seen.by_source, [(destination.ip(), 5)].into());
        let range = machine::local_ports();
        if (range.0..=range.1).contains(&destination.port()) {
            assert!(seen.by_listeners >= 1);
        }
        drop(clients);
    }
}
