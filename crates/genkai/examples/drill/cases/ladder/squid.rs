//! Ladders of Squid: connections of one address, those to its peer, descriptors, and what stands behind.

use super::super::Behind::{Origin, Server};
use super::super::{Between, Case, Expect};
use super::apache::{HAPROXY_OF_20, HAPROXY_OF_40, HAPROXY_OF_60};

const ADDRESS: &str = "squid.client_ip_max_connections";
const RULE: &str = "squid.maxconn";
const PEER: &str = "squid.max_conn";
const DESCRIPTORS: &str = "squid.max_filedescriptors";
const BEHIND: &str = "haproxy.server.maxconn";

/// Squid with these lines before one peer with so many connections, none of which is kept.
fn case(name: &str, fault: String, peer: u32, lines: &str, ids: &[&'static str]) -> Case {
    let case = Case::of("squid", format!("ladder-squid-{name}"), fault)
        .flags("--users 100 --spawn-rate 6 --max-limits 5")
        .objective("errors < 0.1%, p99 < 450ms")
        .config(format!(
            "http_port 80 accel defaultsite=localhost no-vhost\ncache_peer 127.0.0.1 parent {{backend_port}} 0 no-query no-digest originserver \
             name=o max-conn={peer}\n{lines}\nhttp_access allow all\ncache deny all\nserver_persistent_connections off\n"
        ))
        .behind(Origin("--service-time 300ms"));
    Case { expect: Expect::Ladder { ids: ids.to_vec() }, ..case }
}

pub(super) fn cases() -> Vec<Case> {
    [before_haproxy(), of_rule(), with_descriptors()].into_iter().flatten().collect()
}

/// Connections of an address, of which one more is let in than is written.
fn before_haproxy() -> Vec<Case> {
    let one = |name: &str, of: [u32; 2], server: Between, ids: &[&'static str]| {
        let [address, peer] = of;
        let fault = format!("client_ip_max_connections {address}, max-conn={peer}, before a HAProxy");
        case(name, fault, peer, &format!("client_ip_max_connections {address}"), ids)
            .behind(Server(server, "--service-time 300ms"))
    };
    vec![
        one("address-peer-behind", [19, 40], HAPROXY_OF_60, &[ADDRESS, PEER, BEHIND]),
        one("peer-behind-address", [59, 20], HAPROXY_OF_40, &[PEER, BEHIND, ADDRESS]),
        one("behind-address-peer", [39, 60], HAPROXY_OF_20, &[BEHIND, ADDRESS, PEER]),
    ]
}

/// The same by a rule that refuses.
fn of_rule() -> Vec<Case> {
    let one = |name: &str, of: [u32; 2], server: Between, ids: &[&'static str]| {
        let [most, peer] = of;
        let fault = format!("acl maxconn {most}, max-conn={peer}, before a HAProxy");
        case(name, fault, peer, &format!("acl crowd maxconn {most}\nhttp_access deny crowd"), ids)
            .behind(Server(server, "--service-time 300ms"))
    };
    vec![
        one("rule-behind-peer", [20, 60], HAPROXY_OF_40, &[RULE, BEHIND, PEER]),
        one("peer-rule-behind", [40, 20], HAPROXY_OF_60, &[PEER, RULE, BEHIND]),
    ]
}

/// Descriptors: of 192 a quarter is kept back, and a request takes two.
fn with_descriptors() -> Vec<Case> {
    let (address, peer, descriptors) = (19, 40, 192);
    let fault = format!("client_ip_max_connections {address}, max-conn={peer}, max_filedescriptors {descriptors}");
    let lines = format!("client_ip_max_connections {address}\nmax_filedescriptors {descriptors}");
    vec![case("address-peer-descriptors", fault, peer, &lines, &[ADDRESS, PEER, DESCRIPTORS])]
}
