//! Ladders of Varnish where it answers nothing itself: what it serves at once, what it lets through, and what stands behind.

use super::super::Behind::Server;
use super::super::{Case, Expect};
use super::apache::HAPROXY_OF_20;

/// Threads, the connections of the backend, and the workers behind it, which nothing here can change.
pub(super) fn cases() -> Vec<Case> {
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
    let text = "vcl 4.1;\nbackend default { .host = \"127.0.0.1\"; .port = \"{backend_port}\"; .max_connections = 12; }\nsub vcl_recv { return (pass); }\n";
    let fault = ".max_connections 12, before a HAProxy whose server has maxconn 20, thread_pool_max 100".to_owned();
    let haproxy = Case::of("varnish", "ladder-varnish-connections-haproxy-threads".to_owned(), fault)
        .flags("--users 100 --spawn-rate 6 --max-limits 5 --set thread_pools=1 --set thread_pool_max=100 --set thread_pool_min=100")
        .objective("errors < 0.1%, p99 < 450ms")
        .config(text.to_owned())
        .behind(Server(HAPROXY_OF_20, "--service-time 300ms"));
    let ids = vec![connections, "haproxy.server.maxconn", threads];
    vec![
        Case { expect: Expect::Ladder { ids }, ..haproxy },
        case("threads-connections-behind", [20, 40, 40], &[threads, connections, behind]),
        case("connections-threads-behind", [40, 12, 45], &[connections, threads, behind]),
    ]
}
