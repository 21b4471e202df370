//! A plain reverse proxy, for when the user brings settings but no file.

use std::net::SocketAddr;
use std::path::Path;

use super::{LISTEN_BACKLOG, WORKER_CONNECTIONS, WORKER_PROCESSES};
use crate::nginx::config::Config;

/// A configuration of one file, `nginx.conf`: one backend that is always tried (a failure is shown, not hidden by `max_fails` or a
/// second try), with kept connections, which need HTTP/1.1 and an empty Connection header; WebSockets need the client's
/// (nginx.org/en/docs/http/websocket.html). Nothing is written.
pub fn render(backend: SocketAddr, websocket: bool) -> Config {
    let connection = match websocket {
        false => "proxy_set_header Connection \"\";",
        true => {
            "proxy_set_header Connection upgrade;\n            proxy_set_header Upgrade $http_upgrade;\n            proxy_read_timeout 3600s;"
        }
    };
    let text = format!(
        "\
# A plain reverse proxy, written by genkai.
worker_processes {workers};

events {{
    worker_connections {connections};
}}

http {{
    upstream backend {{
        server {backend} max_fails=0;
        keepalive 16;
    }}

    server {{
        listen 80 backlog={backlog};

        location / {{
            proxy_pass http://backend;
            proxy_http_version 1.1;
            {connection}
            proxy_set_header Host $host;
            proxy_next_upstream off;
        }}
    }}
}}
",
        workers = WORKER_PROCESSES.default,
        connections = WORKER_CONNECTIONS.default,
        backlog = LISTEN_BACKLOG.default,
    );
    let parsed = Config::of_text(Path::new("nginx.conf"), text.into_bytes(), Path::new(""));
    parsed.unwrap_or_else(|e| unreachable!("the text above is nginx's syntax: {e}"))
}
