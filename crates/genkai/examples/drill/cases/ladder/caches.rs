//! Ladders of caches that answer nothing themselves: what they hold, what they let through, and what stands behind.

use super::super::{Case, Expect};

pub(super) fn cases() -> Vec<Case> {
    [varnish(), squid()].into_iter().flatten().collect()
}

/// Threads, the connections of the backend, and the workers behind it, which nothing here can change.
fn varnish() -> Vec<Case> {
    let [threads, connections, behind] =
        ["varnish.thread_pool_max", "varnish.backend.default.max_connections", "backend.workers"];
    let case = |name: &str, of: [u32; 3], ids: &[&'static str]| {
        let [most, kept, workers] = of;
        let fault = format!("thread_pool_max {most}, .max_connections {kept}, before a backend of {workers} workers");
        let case = Case::of("varnish", format!("ladder-varnish-{name}"), fault)
            .flags("--users 120 --spawn-rate 10 --backend embedded --backend-time 200ms --max-limits 4")
            .flags(format!("--backend-workers {workers} --set thread_pools=1"))
            .flags(format!("--set thread_pool_max={most} --set thread_pool_min={most}"))
            .objective("errors < 0.1%, p99 < 400ms")
            .config(format!(
                "vcl 4.1;\nbackend default {{ .host = \"127.0.0.1\"; .port = \"9\"; .max_connections = {kept}; }}\nsub vcl_recv {{ return \
                 (pass); }}\n"
            ));
        Case { expect: Expect::Ladder { ids: ids.to_vec() }, ..case }
    };
    vec![
        case("threads-connections-behind", [20, 40, 40], &[threads, connections, behind]),
        case("connections-threads-behind", [40, 12, 45], &[connections, threads, behind]),
    ]
}

/// Descriptors, connections of an address, connections to the peer.
fn squid() -> Vec<Case> {
    let [descriptors, address, peer] =
        ["squid.max_filedescriptors", "squid.client_ip_max_connections", "squid.max_conn"];
    let case = |name: &str, of: [u32; 3], ids: &[&'static str]| {
        let [all, of_address, of_peer] = of;
        let fault = format!("max_filedescriptors {all}, client_ip_max_connections {of_address}, max-conn={of_peer}");
        let case = Case::of("squid", format!("ladder-squid-{name}"), fault)
            .flags("--users 130 --spawn-rate 10 --backend embedded --backend-time 200ms --max-limits 4")
            .objective("errors < 0.1%, p99 < 350ms")
            .config(format!(
                "http_port 80 accel defaultsite=localhost no-vhost\ncache_peer 127.0.0.1 parent 9 0 no-query no-digest originserver name=o \
                 max-conn={of_peer}\nhttp_access allow all\ncache deny all\nserver_persistent_connections off\n\
                 max_filedescriptors {all}\nclient_ip_max_connections {of_address}\n"
            ));
        Case { expect: Expect::Ladder { ids: ids.to_vec() }, ..case }
    };
    vec![
        case("address-peer-descriptors", [256, 20, 50], &[address, peer, descriptors]),
        case("peer-address-descriptors", [256, 60, 25], &[peer, address, descriptors]),
    ]
}
