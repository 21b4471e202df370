//! A plain reverse proxy, for when the user brings settings but no file.

use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use genkai_place::authority::TlsMaterial;

use super::{LISTEN_BACKLOG, WORKER_CONNECTIONS, WORKER_PROCESSES};
use crate::nginx::config::{Config, lexer::quote};

/// A configuration of one file, `nginx.conf`: one backend that is always tried (a failure is shown, not hidden by `max_fails` or a
/// second try), with kept connections, which need HTTP/1.1 and an empty Connection header; WebSockets need the client's
/// (nginx.org/en/docs/http/websocket.html). With `tls` it listens with that; `http2`: whether a directive says that it speaks HTTP/2, or a word of `listen` (none: it does not). `secured`: the backend takes TLS, and is
/// told this name; its certificate is not verified (`proxy_ssl_verify`, by default). Nothing is written.
pub fn render(
    (backend, secured): (SocketAddr, Option<&str>),
    websocket: bool,
    http2: Option<bool>,
    tls: Option<&TlsMaterial>,
) -> Config {
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
        listen 80{ssl}{word} backlog={backlog};{line}{papers}

        location / {{
            proxy_pass {scheme}://backend;{named}
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
        ssl = if tls.is_some() { " ssl" } else { "" },
        word = if http2 == Some(false) { " http2" } else { "" },
        line = if http2 == Some(true) { "\n        http2 on;" } else { "" },
        papers = tls.map(papers).unwrap_or_default(),
        scheme = if secured.is_some() { "https" } else { "http" },
        named = secured.filter(|name| !name.is_empty()).map(named).unwrap_or_default(),
    );
    let parsed = Config::of_text(Path::new("nginx.conf"), text.into_bytes(), Path::new(""));
    parsed.unwrap_or_else(|e| unreachable!("the text above is nginx's syntax: {e}"))
}

/// The name that is told in the handshake.
fn named(name: &str) -> String {
    let name = String::from_utf8_lossy(&quote(name.as_bytes())).into_owned();
    format!("\n            proxy_ssl_name {name};\n            proxy_ssl_server_name on;")
}

/// The certificate and its key.
fn papers(tls: &TlsMaterial) -> String {
    let quoted = |path: &Path| String::from_utf8_lossy(&quote(path.as_os_str().as_bytes())).into_owned();
    let (certificate, key) = (quoted(&tls.certificate), quoted(&tls.key));
    format!("\n        ssl_certificate {certificate};\n        ssl_certificate_key {key};")
}
