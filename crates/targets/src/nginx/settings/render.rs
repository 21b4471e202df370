//! A plain reverse proxy, for when the user brings settings but no file.

use std::collections::BTreeMap;
use std::path::Path;

use super::{LISTEN_BACKLOG, Scope, SettingError, WORKER_CONNECTIONS, WORKER_PROCESSES, apply};
use crate::nginx::config::Config;
use crate::nginx::config::lexer::quote;

/// What to render.
#[derive(Clone, Debug)]
pub struct Rendering<'a> {
    /// Address of the backend, `host:port`.
    pub backend: &'a str,
    /// Port to listen on. (A private copy moves it.)
    pub port: u16,
    /// Whether WebSocket connections are passed through.
    pub websocket: bool,
    /// Settings by name, in the user's words.
    pub settings: &'a BTreeMap<String, String>,
}

/// One backend that is always tried (a failure is shown, not hidden by `max_fails` or a second try), with kept
/// connections, which need HTTP/1.1 and an empty Connection header; WebSockets need the client's (nginx.org/en/docs/http/websocket.html).
fn text(rendering: &Rendering<'_>) -> String {
    let connection = match rendering.websocket {
        false => "proxy_set_header Connection \"\";",
        true => {
            "proxy_set_header Connection upgrade;\n            proxy_set_header Upgrade $http_upgrade;\n            proxy_read_timeout 3600s;"
        }
    };
    format!(
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
        listen {port} backlog={backlog};

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
        backend = String::from_utf8_lossy(&quote(rendering.backend.as_bytes())),
        port = rendering.port,
        workers = WORKER_PROCESSES.default,
        connections = WORKER_CONNECTIONS.default,
        backlog = LISTEN_BACKLOG.default,
    )
}

/// A configuration of one file, `nginx.conf`, with every setting where it belongs. Nothing is written.
///
/// # Errors
/// When a setting is unknown, its value not allowed, or it has no place.
pub fn render(rendering: &Rendering<'_>) -> Result<Config, SettingError> {
    let text = text(rendering).into_bytes();
    let parsed = Config::of_text(Path::new("nginx.conf"), text, Path::new(""));
    let mut config = parsed.unwrap_or_else(|e| unreachable!("the text above is nginx's syntax: {e}"));
    let scope = Scope { host: None, path: "/".to_owned() };
    for (name, value) in rendering.settings {
        config = apply(&config, name, value, &scope)?;
    }
    Ok(config)
}
