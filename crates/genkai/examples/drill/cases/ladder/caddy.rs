//! Ladders of Caddy: requests and connections that its upstream gets, and what that allows.

use super::super::Behind::Server;
use super::super::{Between, Case, Expect};
use super::apache::{HAPROXY_OF_20, HAPROXY_OF_40, HAPROXY_OF_60};

pub(super) fn cases() -> Vec<Case> {
    let [requests, connections, behind] =
        ["caddy.unhealthy_request_count", "caddy.max_conns_per_host", "haproxy.server.maxconn"];
    let case = |name: &str, of: [u32; 2], server: Between, ids: &[&'static str]| {
        let [at_once, kept] = of;
        let fault = format!("unhealthy_request_count {at_once}, max_conns_per_host {kept}, before a HAProxy");
        let case = Case::of("caddy", format!("ladder-caddy-{name}"), fault)
            .flags("--users 100 --spawn-rate 6 --max-limits 5")
            .objective("errors < 0.1%, p99 < 700ms")
            .config(format!(
                "http://:80 {{\n\treverse_proxy {{backend}} {{\n\t\tunhealthy_request_count {at_once}\n\t\tmax_fails 1\n\t\ttransport \
                 http {{\n\t\t\tmax_conns_per_host {kept}\n\t\t}}\n\t}}\n}}\n"
            ))
            .behind(Server(server, "--service-time 600ms"));
        Case { expect: Expect::Ladder { ids: ids.to_vec() }, ..case }
    };
    vec![
        case("requests-connections-behind", [20, 40], HAPROXY_OF_60, &[requests, connections, behind]),
        case("connections-requests-behind", [40, 20], HAPROXY_OF_60, &[connections, requests, behind]),
        case("requests-behind-connections", [20, 60], HAPROXY_OF_40, &[requests, behind, connections]),
        case("connections-behind-requests", [60, 20], HAPROXY_OF_40, &[connections, behind, requests]),
        case("behind-requests-connections", [40, 60], HAPROXY_OF_20, &[behind, requests, connections]),
        case("behind-connections-requests", [60, 40], HAPROXY_OF_20, &[behind, connections, requests]),
    ]
}
