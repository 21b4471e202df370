//! Faults of caches: Squid, Varnish, Traffic Server, each with a configuration of the user's.

use super::{Case, NO_NUMBER, PATIENCE};

pub(super) fn cases() -> Vec<Case> {
    [squid(), varnish(), traffic_server()].into_iter().flatten().collect()
}

/// An accelerator before one origin, with these lines.
fn accelerator(lines: &str) -> String {
    format!(
        "http_port 80 accel defaultsite=localhost no-vhost\ncache_peer 127.0.0.1 parent 9 0 no-query no-digest originserver name=o\n\
         http_access allow all\n{lines}\n"
    )
}

fn squid() -> Vec<Case> {
    let case = |name: &str, fault: &str, lines: &str| {
        Case::of("squid", name, fault).flags("--backend embedded").config(accelerator(lines))
    };
    let descriptors = |name: &str, n: u32| {
        case(name, &format!("max_filedescriptors {n}"), &format!("max_filedescriptors {n}"))
            .rising("")
            .objective("errors < 0.1%, p99 < 350ms")
            .cause("squid.max_filedescriptors")
            .off(PATIENCE)
    };
    let peer = |name: &str, fault: &str, lines: &str| {
        let capped = case(name, fault, lines).config(accelerator(lines).replace("name=o", "name=o max-conn=12"));
        capped.flags("--users 40 --spawn-rate 8 --backend-time 300ms").cause("squid.max_conn")
    };
    vec![
        descriptors("squid-descriptors", 256),
        descriptors("squid-descriptors-192", 192),
        peer("squid-max-conn", "cache_peer max-conn=12, of which idle kept connections take a part", "cache deny all"),
        peer(
            "squid-max-conn-unkept",
            "cache_peer max-conn=12, none kept",
            "cache deny all\nserver_persistent_connections off",
        ),
        case("squid-healthy", "nothing: 60 users through Squid", "")
            .flags("--users 60 --spawn-rate 30 --backend-time 100ms"),
        case(
            "ws-squid",
            "nothing: WebSockets that Squid may pass on",
            "http_upgrade_request_protocols websocket allow all",
        )
        .flags("--websocket --connections 40 --spawn-rate 20")
        .objective("connects > 99.9%, disconnects < 0.1%"),
        case(
            "ws-squid-case",
            "WebSockets, of which http_upgrade_request_protocols says WebSocket, which is not what clients say",
            "http_upgrade_request_protocols WebSocket allow all",
        )
        .flags("--websocket --connections 40 --spawn-rate 20")
        .objective("connects > 99.9%, disconnects < 0.1%")
        .cause("squid.http_upgrade_request_protocols")
        .off(NO_NUMBER),
        case("ws-squid-none", "WebSockets without http_upgrade_request_protocols", "")
            .flags("--websocket --connections 40 --spawn-rate 20")
            .objective("connects > 99.9%, disconnects < 0.1%")
            .cause("squid.http_upgrade_request_protocols")
            .off(NO_NUMBER),
    ]
}

fn varnish() -> Vec<Case> {
    let case = |name: String, fault: String| {
        Case::of("varnish", name, fault).flags("--backend embedded").config(
            "vcl 4.1;\nbackend default { .host = \"127.0.0.1\"; .port = \"9\"; }\nsub vcl_recv { return (pass); }\n",
        )
    };
    let threads = |pools: u32, most: u32| {
        case(
            format!("varnish-threads-{}", pools * most),
            format!("thread_pool_max {most} of each of {pools} thread pools"),
        )
        .flags("--users 80 --spawn-rate 10 --backend-time 200ms")
        .flags(format!("--set thread_pools={pools} --set thread_pool_max={most} --set thread_pool_min={most}"))
        .objective("errors < 0.1%, p99 < 400ms")
        .cause("varnish.thread_pool_max")
    };
    vec![
        threads(1, 20),
        threads(2, 20),
        case("varnish-healthy".to_owned(), "nothing: 60 users through Varnish".to_owned())
            .flags("--users 60 --spawn-rate 30 --backend-time 100ms"),
    ]
}

fn traffic_server() -> Vec<Case> {
    let case = |name: &str, fault: &str, records: &str| {
        Case::of("trafficserver", name, fault)
            .flags("--backend embedded")
            .config(records)
            .called("ats/records.config")
            .beside("remap.config", "map / http://127.0.0.1:9/\n")
            .beside("storage.config", "var/cache 32M\n")
            .beside("plugin.config", "")
            .beside("ip_allow.yaml", "ip_allow:\n  - {apply: in, ip_addrs: 127.0.0.1, action: allow, methods: ALL}\n")
    };
    let throttle = |name: &str, n: u32| {
        case(
            name,
            &format!("proxy.config.net.connections_throttle {n}"),
            &format!("CONFIG proxy.config.net.connections_throttle INT {n}\n"),
        )
        .rising("")
        .cause("trafficserver.connections_throttle")
    };
    vec![
        throttle("trafficserver-throttle", 150),
        throttle("trafficserver-throttle-100", 100),
        case(
            "trafficserver-healthy",
            "nothing: 60 users through Traffic Server",
            "CONFIG proxy.config.http.insert_age_in_response INT 0\n",
        )
        .flags("--users 60 --spawn-rate 30 --backend-time 100ms"),
    ]
}
