//! nginx as a router before nodes: a configuration that is its user's file, as far as nginx's own folder is concerned.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Limit, Strength};
use genkai_model::plan;

use super::Nginx;
use super::evidence::signature;
use crate::error::TargetError;
use crate::limits::{connections, errors, log};
use crate::product::Deployment;
use genkai_place::machine::hard_descriptors;

/// Slots of a worker beside those of clients: listeners, the channel to the master, the status page.
const OWN: u32 = 64;

/// Prepares it before `nodes`, with room for so many clients in so many workers.
pub(crate) fn prepare(
    plan: &plan::Router,
    workers: u64,
    clients: u32,
    nodes: &[SocketAddr],
    dir: &Path,
) -> Result<Deployment<Nginx>, TargetError> {
    Deployment::rendered(&render(plan, workers, clients, nodes), plan.listen, dir)
}

/// A client takes two slots (one to the node). `max_conns` without a shared zone counts for a worker, of which there is one where it is given; a
/// full node is passed over, and where all are full nginx answers 502 at once (ngx_http_upstream_module, `max_conns`).
fn render(plan: &plan::Router, workers: u64, clients: u32, nodes: &[SocketAddr]) -> String {
    let cap = plan.node_connections.map(|n| format!(" max_conns={n}")).unwrap_or_default();
    let mut servers = String::new();
    for node in nodes {
        // Writing to a string cannot fail.
        let _ = writeln!(servers, "        server {node} max_fails=0{cap};");
    }
    // Whichever worker is awake takes new connections: of several each has all the room that a process may have.
    let all = clients.saturating_mul(2).saturating_add(OWN);
    let apart = if workers > 1 { " reuseport" } else { "" };
    let slots = if workers > 1 { all.min(u32::try_from(hard_descriptors()).unwrap_or(u32::MAX)) } else { all };
    format!(
        "\
# A router before nodes, written by genkai.
worker_processes {workers};
worker_rlimit_nofile {slots};
events {{
    worker_connections {slots};
}}
http {{
    upstream nodes {{
        least_conn;
{servers}    }}
    server {{
        listen 80 backlog=4096{apart};
        location / {{
            proxy_pass http://nodes;
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection \"upgrade\";
            proxy_set_header Host $host;
            proxy_read_timeout 1h;
            proxy_send_timeout 1h;
            proxy_next_upstream off;
        }}
    }}
}}
"
    )
}

/// What this configuration caps, beside nginx's own limits, which have room for all clients.
pub(crate) fn limits(plan: &plan::Router, nodes: u32) -> Vec<Limit> {
    plan.node_connections.map(|cap| max_conns(cap, nodes)).into_iter().collect()
}

fn max_conns(cap: u32, nodes: u32) -> Limit {
    Limit {
        value: cap.to_string(),
        caps: "connections a node may have at once; further requests are answered 502".to_owned(),
        law: connections(f64::from(cap), f64::from(nodes)),
        formula: format!("nodes ({nodes}) x max_conns {cap}"),
        source: "ngx_http_upstream_module, `max_conns`; src/http/modules/ngx_http_upstream_least_conn_module.c"
            .to_owned(),
        signatures: vec![log(signature::UPSTREAM_NONE_LIVE, Strength::Supports)],
        symptom: errors(&[ErrorKind::Status502]),
        ..Limit::named("nginx.upstream.max_conns", "nginx", "max_conns")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::units::Span;

    #[test]
    fn nodes_are_capped_and_clients_have_room() {
        let product = "nginx".to_owned();
        let plan = plan::Router { product, node_connections: Some(7), queue_timeout: Span::from_secs(1), listen: None };
        let text = render(&plan, 1, 100, &["127.0.0.1:2".parse().unwrap()]);
        assert!(text.contains("server 127.0.0.1:2 max_fails=0 max_conns=7;\n"), "{text}");
        assert!(text.contains("worker_connections 264;"));
    }
}
