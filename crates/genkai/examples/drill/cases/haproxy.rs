//! Faults of HAProxy.

use super::Behind::{Nobody, Pair, Scripted, Two};
use super::{AT_ONCE, Case, HANGS, KEPT, NO_NUMBER, SIZE, SLOW, TWO_ENDS};

fn case(name: impl Into<String>, fault: impl Into<String>) -> Case {
    Case::of("haproxy", name, fault)
}

/// A configuration with these lines for the frontend and the backend.
fn cfg(front: &str, back: &str) -> String {
    format!(
        "defaults\n  mode http\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\n  timeout queue 500ms\n\
         frontend f\n  bind :80\n  {front}\n  default_backend b\nbackend b\n  {back}\n"
    )
}

pub(super) fn cases() -> Vec<Case> {
    [connections(), servers(), queues(), times(), others()].into_iter().flatten().collect()
}

fn connections() -> Vec<Case> {
    let maxconn = |name: &str, n: u32| {
        case(name, format!("maxconn {n} of global")).rising(&format!("--set maxconn={n}")).cause("haproxy.maxconn")
    };
    let frontend = |name: &str, n: u32| {
        case(name, format!("maxconn {n} of the frontend"))
            .rising(&format!("--set frontend.maxconn={n}"))
            .cause("haproxy.frontend.maxconn")
    };
    vec![
        maxconn("haproxy-maxconn", 100),
        maxconn("haproxy-maxconn-50", 50),
        frontend("haproxy-frontend", 100),
        frontend("haproxy-frontend-60", 60),
        case("haproxy-named-defaults", "maxconn 50 of a defaults section that another takes over")
            .rising("--backend embedded")
            .config(
                "defaults base\n  mode http\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\n  maxconn 50\n\
                 defaults special from base\n  timeout queue 2s\nfrontend f from special\n  bind :80\n  default_backend b\n\
                 backend b from special\n  server s 127.0.0.1:9\n",
            )
            .cause("haproxy.frontend.maxconn"),
        case("haproxy-queue-full", "maxqueue 8 beside maxconn 10 of the one server that a source has")
            .rising("--backend embedded")
            .config(cfg("", "balance source\n  timeout queue 20s\n  server s 127.0.0.1:9 maxconn 10 maxqueue 8"))
            .cause("haproxy.server.maxqueue"),
        case("haproxy-rate", "rate-limit sessions 30 under 60 new connections/s")
            .flags("--rate 60 --ramp 6s --new-connections --backend embedded --backend-time 10ms --connections 400")
            .objective("errors < 0.1%, p99 < 700ms")
            .config(cfg("rate-limit sessions 30", "server s 127.0.0.1:9"))
            .cause("haproxy.rate-limit.sessions")
            .off(HANGS),
    ]
}

fn servers() -> Vec<Case> {
    let one = |name: &str, n: u32| {
        case(name, format!("maxconn {n} of the only server, timeout queue 500ms"))
            .rising(&format!("--set server.maxconn={n} --set timeout.queue=500ms"))
            .cause("haproxy.server.maxconn")
    };
    let several = |name: &str, fault: &str, servers: &str| {
        case(name, fault).rising("--backend embedded").config(cfg("", servers)).cause("haproxy.server.maxconn")
    };
    vec![
        one("haproxy-server", 20),
        one("haproxy-server-10", 10),
        one("haproxy-server-30", 30),
        several(
            "haproxy-servers",
            "maxconn 10 and 15 of two servers, timeout queue 500ms",
            "server a 127.0.0.1:9 maxconn 10\n  server b 127.0.0.1:9 maxconn 15",
        ),
        several(
            "haproxy-minconn",
            "minconn 10 of a server with maxconn 60 and fullconn 1000: 10 are in force",
            "fullconn 1000\n  server a 127.0.0.1:9 minconn 10 maxconn 60",
        )
        .cause("haproxy.server.minconn"),
        several(
            "haproxy-maxqueue",
            "maxconn 15, maxqueue 5 of the only server",
            "server a 127.0.0.1:9 maxconn 15 maxqueue 5",
        ),
    ]
}

fn queues() -> Vec<Case> {
    let name = |n: u32| if n == 4 { "haproxy-backlog".to_owned() } else { format!("haproxy-backlog-{n}") };
    let one = |n: u32| {
        case(name(n), format!("backlog {n}, 600 clients at once"))
            .flags("--set maxconn=4000 --users 600 --spawn-rate 100000 --backend-time 20ms --new-connections")
            .flags(format!("--set backlog={n}"))
            .objective("errors < 0.1%, p99 < 700ms")
            .cause("haproxy.backlog")
            .off(AT_ONCE)
    };
    [4, 16].map(one).into()
}

fn times() -> Vec<Case> {
    let one = |name: &str, allowed: &str, takes: &str| {
        case(name, format!("a backend of {takes} behind timeout server {allowed}"))
            .flags("--users 20 --spawn-rate 20")
            .flags(format!("--set timeout.server={allowed} --backend-time {takes}"))
            .either(&["haproxy.timeout.server", "backend.service_time"], TWO_ENDS)
            .off(SLOW)
    };
    vec![
        one("haproxy-timeout", "1s", "1500ms"),
        one("haproxy-timeout-500", "500ms", "900ms"),
        case("haproxy-keep-alive", "timeout http-keep-alive 500ms, and users who come back after 500 ms and ask once")
            .flags(KEPT)
            .flags("--think 500ms")
            .config(cfg("timeout http-keep-alive 500ms", "server s 127.0.0.1:9"))
            .cause("haproxy.timeout.http-keep-alive")
            .off(SLOW),
    ]
}

fn others() -> Vec<Case> {
    vec![
        case("haproxy-refused", "nobody listens where the server should be")
            .flags("--users 20 --spawn-rate 20")
            .config(cfg("", "server s {backend}"))
            .behind(Nobody)
            .cause("haproxy.server.address")
            .off(NO_NUMBER),
        case(
            "haproxy-silent-drop",
            "a rule that drops requests beyond 10 at once without a word, before one quick and one slow server",
        )
        .flags("--users 40 --spawn-rate 10 --timeout 5s")
        .config(cfg(
            "http-request silent-drop if { be_conn(b) gt 10 }",
            "balance leastconn\n  server quick {backend}\n  server late {second}",
        ))
        .behind(Two("--service-time 20ms", Some("--service-time 400ms")))
        .cause("haproxy.answers.http-request-silent-drop.9")
        .off(NO_NUMBER),
        case("haproxy-check", "a health check that no answer of the server passes, though it answers requests")
            .flags("--users 20 --spawn-rate 20")
            .config(cfg(
                "",
                "option httpchk GET /\n  http-check expect status 299\n  server s {backend} check inter 500ms",
            ))
            .behind(Scripted("fixed --time 0.01"))
            .cause("haproxy.check")
            .off(NO_NUMBER),
        case("haproxy-check-refused", "nobody listens where the server should be, and its health check finds that")
            .flags("--users 20 --spawn-rate 20")
            .config(cfg("", "option httpchk GET /\n  server s {backend} check inter 500ms"))
            .behind(Nobody)
            .cause("haproxy.server.address")
            .off(NO_NUMBER),
        case("haproxy-slow-server", "one of two servers takes 400 ms, the other 5 ms")
            .flags("--users 20 --spawn-rate 20")
            .objective("p99 < 300ms")
            .config(cfg("", "balance roundrobin\n  server quick {backend}\n  server late {second}"))
            .behind(Two("--service-time 5ms", Some("--service-time 400ms")))
            .cause("haproxy.server.slow.late")
            .off(SLOW),
        case("haproxy-refusing-server", "nobody listens where the second of two servers should be")
            .flags("--users 20 --spawn-rate 20")
            .config(cfg("", "balance roundrobin\n  retries 0\n  server here {backend}\n  server gone {second}"))
            .behind(Two("--service-time 5ms", None))
            .cause("haproxy.server.refuses.gone")
            .then(&["haproxy.backend"])
            .off(NO_NUMBER),
        case("haproxy-failing-server", "the second of two servers answers 500 to 30 % of requests at random")
            .flags("--users 30 --spawn-rate 10")
            .config(cfg("", "balance roundrobin\n  server well {backend}\n  server ill {second}"))
            .behind(Pair("fixed --time 0.02", "errors --share 0.3 --status 500 --time 0.02 --seed 3"))
            .cause("haproxy.server.answers.ill")
            .off(NO_NUMBER),
        case("haproxy-failing-servers", "both servers answer 500 to 30 % of requests at random")
            .flags("--users 30 --spawn-rate 10")
            .config(cfg("", "balance roundrobin\n  server one {backend}\n  server two {second}"))
            .behind(Pair(
                "errors --share 0.3 --status 500 --time 0.02 --seed 3",
                "errors --share 0.3 --status 500 --time 0.02 --seed 5",
            ))
            .cause("haproxy.server.answers")
            .off(NO_NUMBER),
        case("haproxy-bufsize", "a response head of 20 kB, larger than tune.bufsize takes")
            .flags("--users 10 --spawn-rate 10")
            .config(cfg("", "server s {backend}"))
            .behind(Scripted("headers --fields 1 --size 20000 --time 0.01"))
            .cause("haproxy.response")
            .off(SIZE),
    ]
}
