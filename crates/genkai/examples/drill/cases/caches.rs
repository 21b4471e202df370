//! Faults of caches: Squid, Varnish, Traffic Server, each with a configuration of the user's.

use super::Behind::{Pair, Two};
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

/// The same before two, in turn.
fn peers(lines: &str) -> String {
    let peer = |port: &str, name: &str| {
        format!("cache_peer 127.0.0.1 parent {port} 0 no-query no-digest originserver round-robin name={name}\n")
    };
    format!(
        "http_port 80 accel defaultsite=localhost no-vhost\n{}{}http_access allow all\n{lines}\n",
        peer("{backend_port}", "one"),
        peer("{second_port}", "two")
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
        Case::of("squid", "squid-failing-peer", "the second of two peers answers 500 to 30 % of requests at random")
            .config(peers("cache deny all"))
            .flags("--users 30 --spawn-rate 10")
            .behind(Pair("fixed --time 0.02", "errors --share 0.3 --status 500 --time 0.02 --seed 3"))
            .cause("squid.server.answers.two")
            .off(NO_NUMBER),
        case(
            "squid-reply-too-big",
            "reply_body_max_size 10 KB before answers of 20 KiB",
            "acl here src 127.0.0.1\nreply_body_max_size 10 KB here",
        )
        .flags("--users 10 --spawn-rate 10 --backend-body 20480")
        .cause("squid.answers.reply_body_max_size.5")
        .off(NO_NUMBER),
        case(
            "squid-delay-pool",
            "a delay pool of class 1 that reads 40,000 bytes a second, before answers of 20 KiB",
            "cache deny all\ndelay_pools 1\ndelay_class 1 1\ndelay_parameters 1 40000/40000\ndelay_access 1 allow all",
        )
        .flags("--users 20 --spawn-rate 4 --backend-body 20480")
        .objective("errors < 0.1%, p99 < 1s")
        .cause("squid.delay_parameters")
        .off(NO_NUMBER),
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

/// A director that asks two backends in turn.
fn directed() -> String {
    let backend = |name: &str, port: &str| format!("backend {name} {{ .host = \"127.0.0.1\"; .port = \"{port}\"; }}\n");
    format!(
        "vcl 4.1;\nimport directors;\n{}{}sub vcl_init {{ new d = directors.round_robin(); d.add_backend(one); d.add_backend(two); }}\nsub vcl_recv \
         {{ set req.backend_hint = d.backend(); return (pass); }}\n",
        backend("one", "{backend_port}"),
        backend("two", "{second_port}")
    )
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
        Case::of(
            "varnish",
            "varnish-failing-backend",
            "the second of two backends answers 500 to 30 % of requests at random",
        )
        .config(directed())
        .flags("--users 30 --spawn-rate 10")
        .behind(Pair("fixed --time 0.02", "errors --share 0.3 --status 500 --time 0.02 --seed 3"))
        .cause("varnish.server.answers.two")
        .off(NO_NUMBER),
        Case::of("varnish", "varnish-refusing-backend", "nobody listens where the second of two backends should be")
            .config(directed())
            .flags("--users 20 --spawn-rate 20")
            .behind(Two("--service-time 5ms", None))
            .cause("varnish.server.refuses.two")
            .off(NO_NUMBER),
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
