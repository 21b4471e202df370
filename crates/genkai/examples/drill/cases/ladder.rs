//! Several limits, one behind the other: told in order, each where it is met once the one before it is lifted.

use super::{Case, Expect};

pub(super) fn cases() -> Vec<Case> {
    [haproxy(), nginx()].into_iter().flatten().collect()
}

fn ladder(product: &'static str, name: &str, fault: String, ids: &[&'static str]) -> Case {
    let case = Case::of(product, format!("ladder-{product}-{name}"), fault).rising("--backend embedded --max-limits 4");
    Case { expect: Expect::Ladder { ids: ids.to_vec() }, ..case }
}

/// Global, frontend, server: who waits for the server is refused after 50 ms.
fn haproxy() -> Vec<Case> {
    let [global, front, server] = ["haproxy.maxconn", "haproxy.frontend.maxconn", "haproxy.server.maxconn"];
    let case = |name: &str, of: [u32; 3], ids: &[&'static str]| {
        let [all, of_front, of_server] = of;
        let fault = format!("maxconn {all} of global, {of_front} of the frontend, {of_server} of the server");
        ladder("haproxy", name, fault, ids).config(format!(
            "global\n  maxconn {all}\ndefaults\n  mode http\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\n  \
             timeout queue 50ms\nfrontend f\n  bind :80\n  maxconn {of_front}\n  default_backend b\nbackend b\n  \
             server s 127.0.0.1:9 maxconn {of_server}\n"
        ))
    };
    vec![
        case("global-frontend-server", [40, 60, 80], &[global, front, server]),
        case("frontend-global-server", [55, 35, 80], &[front, global, server]),
        case("server-global-frontend", [75, 110, 40], &[server, global, front]),
        case("global-server-frontend", [30, 110, 60], &[global, server, front]),
        case("frontend-server-global", [120, 40, 70], &[front, server, global]),
    ]
}

/// Connections of a worker, of an address, of the server behind. A client takes two connections of a worker.
fn nginx() -> Vec<Case> {
    let [worker, address, behind] = ["nginx.worker_connections", "nginx.limit_conn", "nginx.upstream.max_conns"];
    let case = |name: &str, of: [u32; 3], ids: &[&'static str]| {
        let [of_worker, of_address, of_server] = of;
        let fault = format!("worker_connections {of_worker}, limit_conn {of_address}, max_conns {of_server}");
        ladder("nginx", name, fault, ids).config(format!(
            "worker_processes 1;\nevents {{ worker_connections {of_worker}; }}\nhttp {{\n  \
             limit_conn_zone $binary_remote_addr zone=a:1m;\n  upstream u {{ zone u 64k; server 127.0.0.1:9 max_conns={of_server}; }}\n  \
             server {{\n    listen 8080;\n    location / {{ limit_conn a {of_address}; proxy_pass http://u; }}\n  }}\n}}\n"
        ))
    };
    vec![
        case("worker-address-server", [90, 70, 110], &[worker, address, behind]),
        case("address-server-worker", [220, 30, 60], &[address, behind, worker]),
        case("server-worker-address", [130, 100, 30], &[behind, worker, address]),
        case("address-worker-server", [140, 40, 110], &[address, worker, behind]),
        case("server-address-worker", [230, 70, 40], &[behind, address, worker]),
    ]
}
