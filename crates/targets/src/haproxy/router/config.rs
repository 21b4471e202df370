//! The configuration as text.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use genkai_model::plan;

/// Name of the `backend` with the nodes.
pub(super) const BACKEND: &str = "nodes";

/// `maxconn` of `global` for so many clients. One more, so that looking whether it is ready takes nobody's place.
pub(super) fn maxconn(clients: u32) -> u32 {
    clients + 1
}

/// The configuration of a router before `nodes`, which answers with `refusal` what it refuses: room for all clients, the timeouts of
/// Debian's haproxy.cfg where it has them (connect 5 s, client and server 50 s), open WebSocket connections of an hour.
pub(super) fn render(plan: &plan::Router, clients: u32, nodes: &[SocketAddr], refusal: &Path) -> String {
    let mut text = format!(
        "\
# A router before nodes, written by genkai.
global
    maxconn {maxconn}
    nbthread 1

defaults
    mode http
    timeout connect 5s
    timeout client 50s
    timeout server 50s
    timeout queue {queue}ms
    timeout tunnel 1h
    errorfile 503 {refusal}

frontend router
    bind 127.0.0.1:80
    default_backend {BACKEND}

backend {BACKEND}
    balance leastconn
",
        maxconn = maxconn(clients),
        queue = plan.queue_timeout.duration().as_millis(),
        refusal = refusal.display(),
    );
    let cap = plan.node_connections.map(|n| format!(" maxconn {n}")).unwrap_or_default();
    for (number, node) in (1..).zip(nodes) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    server node{number} {node}{cap}");
    }
    text
}

/// The answer to a request that no node took: HAProxy sends the file as it is (configuration manual, `errorfile`).
pub(super) fn refusal(plan: &plan::Router) -> String {
    let wait = plan.queue_timeout;
    let body = match plan.node_connections {
        Some(n) => {
            format!("refused by the router: every node has its {n} connections, and none had room within {wait}\n")
        }
        None => "refused by the router: no node took the request\n".to_owned(),
    };
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Number of a node by its name in the configuration.
pub(super) fn number(server: &str) -> Option<u32> {
    server.strip_prefix("node")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::units::Span;

    #[test]
    fn a_cap_is_written_for_each_node_and_told_in_the_refusal() {
        let product = "haproxy".to_owned();
        let free = plan::Router { product, node_connections: None, queue_timeout: Span::from_secs(5), listen: None };
        let capped = plan::Router { node_connections: Some(4), ..free.clone() };
        let nodes = ["127.0.0.1:2".parse().unwrap(), "127.0.0.1:3".parse().unwrap()];
        let text = render(&capped, 100, &nodes, Path::new("/x/503.http"));
        assert!(
            text.contains("server node2 127.0.0.1:3 maxconn 4\n") && text.contains("timeout queue 5000ms"),
            "{text}"
        );
        assert!(!render(&free, 100, &nodes, Path::new("/x/503.http")).contains("127.0.0.1:3 maxconn"));
        assert!(refusal(&capped).contains("4 connections") && refusal(&capped).contains("5s"));
        assert_eq!((number("node12"), number("<NOSRV>")), (Some(12), None));
    }
}
