//! The configuration as text.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use genkai_model::units::Span;

use super::settings::Settings;
use crate::haproxy::evidence::LINE;

/// Name of the `backend` with the nodes.
pub(super) const BACKEND: &str = "nodes";
/// Name of the `frontend`.
pub(super) const FRONTEND: &str = "router";
/// Where the parts of a private copy are.
pub(super) struct Places<'a> {
    pub(super) listen: SocketAddr,
    /// Statistics socket.
    pub(super) socket: &'a Path,
    /// The answer to requests that are refused.
    pub(super) refusal: &'a Path,
}

/// The configuration of a router before `nodes`.
///
/// One line of log a session: termination state, status, requests before it in the queue, node, request target
/// (HAProxy configuration manual 8.2.6: %ts %ST %bq %s %HU).
pub(super) fn render(settings: &Settings, nodes: &[SocketAddr], places: &Places<'_>) -> String {
    let ms = |span: Span| span.duration().as_millis();
    let Settings { maxconn, queue_timeout, connect_timeout, idle_timeout, tunnel_timeout, .. } = settings;
    let mut text = format!(
        "\
# A router before nodes, written by genkai.
global
    maxconn {maxconn}
    nbthread 1
    log stdout format raw local0 info
    stats socket {socket} mode 600 level admin

defaults
    mode http
    log global
    log-format \"{LINE} %ts status=%ST queue=%bq node=%s target=%HU\"
    timeout connect {connect}ms
    timeout client {idle}ms
    timeout server {idle}ms
    timeout queue {queue}ms
    timeout tunnel {tunnel}ms
    errorfile 503 {refusal}

frontend {FRONTEND}
    bind {listen}
    default_backend {BACKEND}

backend {BACKEND}
    balance leastconn
",
        socket = places.socket.display(),
        refusal = places.refusal.display(),
        listen = places.listen,
        connect = ms(*connect_timeout),
        idle = ms(*idle_timeout),
        queue = ms(*queue_timeout),
        tunnel = ms(*tunnel_timeout),
    );
    let cap = settings.server_maxconn.map(|n| format!(" maxconn {n}")).unwrap_or_default();
    for (number, node) in (1..).zip(nodes) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    server node{number} {node}{cap}");
    }
    text
}

/// The answer to a request that no node took: HAProxy sends the file as it is (configuration manual, `errorfile`).
pub(super) fn refusal(settings: &Settings) -> String {
    let wait = settings.queue_timeout;
    let body = match settings.server_maxconn {
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

    #[test]
    fn a_cap_is_written_for_each_node_and_told_in_the_refusal() {
        let settings = Settings { server_maxconn: Some(4), ..Settings::of(100) };
        let places = Places {
            listen: "127.0.0.1:1".parse().unwrap(),
            socket: Path::new("/x/stats"),
            refusal: Path::new("/x/503.http"),
        };
        let nodes = ["127.0.0.1:2".parse().unwrap(), "127.0.0.1:3".parse().unwrap()];
        let text = render(&settings, &nodes, &places);
        assert!(
            text.contains("server node2 127.0.0.1:3 maxconn 4\n") && text.contains("timeout queue 5000ms"),
            "{text}"
        );
        assert!(!render(&Settings::of(100), &nodes, &places).contains("127.0.0.1:3 maxconn"));
        assert!(refusal(&settings).contains("4 connections") && refusal(&settings).contains("5s"));
        assert_eq!((number("node12"), number("<NOSRV>")), (Some(12), None));
    }
}
