//! A plain reverse proxy, for when the user brings settings but no file.

use std::net::SocketAddr;
use std::path::Path;

use crate::caddy::config::{Config, Variables, quote};
use crate::files::ConfigError;
use genkai_place::authority::TlsMaterial;

/// A configuration of one file: one site, which speaks TLS where there is something to speak it with, one backend, Caddy's own
/// defaults. Nothing is written.
///
/// # Errors
/// None: the text is a Caddyfile.
pub fn render(backend: SocketAddr, tls: Option<&TlsMaterial>, http2: bool) -> Result<Config, ConfigError> {
    let path = |path: &Path| quote(&path.to_string_lossy());
    let site = tls.map_or_else(
        || "http://:80 {\n".to_owned(),
        |tls| format!("https://:443 {{\n\ttls {} {}\n", path(&tls.certificate), path(&tls.key)),
    );
    // With TLS it offers HTTP/2 by itself.
    let clear = http2 && tls.is_none();
    let servers = if clear { "\tservers {\n\t\tprotocols h1 h2 h2c\n\t}\n" } else { "" };
    let text = format!(
        "# A plain reverse proxy, written by genkai.\n{{\n\tauto_https off\n{servers}}}\n\n{site}\treverse_proxy {backend}\n}}\n"
    );
    Config::of_texts(vec![("/Caddyfile".into(), text.into_bytes())], Variables::new())
}
