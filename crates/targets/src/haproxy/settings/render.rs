//! A plain reverse proxy, for when the user brings settings but no file.

use std::net::SocketAddr;

use crate::files::ConfigError;
use crate::haproxy::config::{Config, Reading, quote};
use genkai_place::authority::TlsMaterial;

/// A configuration of one file: a listener, which speaks TLS where there is something to speak it with, and HTTP/2 where that is wanted, one backend, the timeouts
/// of Debian's haproxy.cfg (which has none for tunnels; an idle one may live for an hour here). `secured`: the backend takes
/// TLS, and is told this name; its certificate is not verified. Nothing is written.
///
/// # Errors
/// None: the text is HAProxy's syntax.
pub fn render(
    (backend, secured): (SocketAddr, Option<&str>),
    tls: Option<&TlsMaterial>,
    http2: bool,
    reading: Reading,
) -> Result<Config, ConfigError> {
    let bind = tls.map_or_else(
        || format!("*:80{}", if http2 { " proto h2" } else { "" }),
        |material| {
            let alpn = if http2 { " alpn h2,http/1.1" } else { "" };
            format!("*:443 ssl crt {}{alpn}", quote(&material.both.to_string_lossy()))
        },
    );
    let taken = secured.map_or_else(String::new, |name| match name {
        "" => " ssl verify none".to_owned(),
        name => format!(" ssl verify none sni {}", quote(&format!("str({name})"))),
    });
    let text = format!(
        "# A plain reverse proxy, written by genkai.\n\
         global\n    maxconn 2000\n\n\
         defaults\n    mode http\n    timeout connect 5s\n    timeout client 50s\n    timeout server 50s\n    \
         timeout tunnel 1h\n\n\
         frontend proxy\n    bind {bind}\n    default_backend application\n\n\
         backend application\n    server one {backend}{taken}\n"
    );
    Config::of_texts(vec![("/haproxy.cfg".into(), text.into_bytes())], reading)
}
