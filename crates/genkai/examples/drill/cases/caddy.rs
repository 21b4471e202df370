//! Faults of Caddy.

use super::Behind::Nobody;
use super::{Case, KEPT, NO_NUMBER, PATIENCE, SIZE, SLOW, TWO_ENDS};

fn case(name: impl Into<String>, fault: impl Into<String>) -> Case {
    Case::of("caddy", name, fault)
}

pub(super) fn cases() -> Vec<Case> {
    let connections = |name: &str, n: u32| {
        case(name, format!("max_conns_per_host {n}"))
            .rising(&format!("--set max_conns_per_host={n}"))
            .objective("errors < 0.1%, p99 < 700ms")
            .cause("caddy.max_conns_per_host")
            .off(PATIENCE)
    };
    let requests = |name: &str, n: u32| {
        case(name, format!("unhealthy_request_count {n}"))
            .rising(&format!("--set unhealthy_request_count={n} --set max_fails=1"))
            .cause("caddy.unhealthy_request_count")
    };
    let time = |name: &str, allowed: &str, takes: &str| {
        case(name, format!("a backend of {takes} behind response_header_timeout {allowed}"))
            .flags("--users 20 --spawn-rate 20")
            .flags(format!("--set response_header_timeout={allowed} --backend-time {takes}"))
            .either(&["caddy.response_header_timeout", "backend.service_time"], TWO_ENDS)
            .off(SLOW)
    };
    vec![
        connections("caddy-connections", 20),
        connections("caddy-connections-10", 10),
        connections("caddy-connections-30", 30),
        requests("caddy-requests", 20),
        requests("caddy-requests-40", 40),
        time("caddy-timeout", "1s", "1500ms"),
        time("caddy-timeout-500", "500ms", "900ms"),
        case("caddy-body", "request_body max_size 8kB, bodies of 20k")
            .flags("--users 10 --spawn-rate 10 --body-size 20k --backend embedded --backend-time 20ms")
            .config("http://:80 {\n\trequest_body {\n\t\tmax_size 8kB\n\t}\n\treverse_proxy 127.0.0.1:9\n}\n")
            .cause("caddy.request_body.max_size")
            .off(SIZE),
        case("caddy-keep-alive", "timeouts.idle 500ms, and users who come back after 500 ms and ask once")
            .flags(KEPT)
            .flags("--think 500ms")
            .config("{\n\tservers {\n\t\ttimeouts {\n\t\t\tidle 500ms\n\t\t}\n\t}\n}\nhttp://:80 {\n\treverse_proxy 127.0.0.1:9\n}\n")
            .cause("caddy.timeouts.idle")
            .off(SLOW),
        case("caddy-no-failure-allowed", "unhealthy_request_count 8 without max_fails: every upstream counts as down (Caddy 2.6)")
            .flags("--users 20 --spawn-rate 10 --backend embedded --backend-time 100ms")
            .config("http://:80 {\n\treverse_proxy 127.0.0.1:9 {\n\t\tunhealthy_request_count 8\n\t}\n}\n")
            .cause("caddy.max_fails")
            .then(&["caddy.unhealthy_request_count"])
            .off(NO_NUMBER),
        case("caddy-refused", "nobody listens where the upstream should be")
            .flags("--users 20 --spawn-rate 20")
            .config("http://:80 {\n\treverse_proxy {backend}\n}\n")
            .behind(Nobody)
            .cause("caddy.upstream.address")
            .off(NO_NUMBER),
    ]
}
