//! A plain reverse proxy, for when the user brings settings but no file.

use std::net::SocketAddr;
use std::path::Path;

use crate::caddy::config::{Config, Variables, quote};
use crate::files::ConfigError;
use genkai_place::authority::TlsMaterial;

/// Lines of `transport http` towards what takes TLS and is told this name: whatever certificate it shows, by HTTP/1.1.
pub(crate) fn secured_by(name: &str) -> impl Iterator<Item = String> {
    let named = (!name.is_empty()).then(|| format!("tls_server_name {}", quote(name)));
    ["tls", "tls_insecure_skip_verify", "versions 1.1"].map(str::to_owned).into_iter().chain(named)
}

/// A configuration of one file: one site, which speaks TLS where there is something to speak it with, one backend, Caddy's own
/// defaults. Nothing is written.
///
/// # Errors
/// None: the text is a Caddyfile.
pub fn render(
    (backend, secured): (SocketAddr, Option<&str>),
    tls: Option<&TlsMaterial>,
    http2: bool,
) -> Result<Config, ConfigError> {
    let path = |path: &Path| quote(&path.to_string_lossy());
    let site = tls.map_or_else(
        || "http://:80 {\n".to_owned(),
        |tls| format!("https://:443 {{\n\ttls {} {}\n", path(&tls.certificate), path(&tls.key)),
    );
    // With TLS it offers HTTP/2 by itself.
    let clear = http2 && tls.is_none();
    let servers = if clear { "\tservers {\n\t\tprotocols h1 h2 h2c\n\t}\n" } else { "" };
    let taken = secured.map_or_else(String::new, |name| {
        let lines: String = secured_by(name).map(|line| format!("\t\t\t{line}\n")).collect();
        format!(" {{\n\t\ttransport http {{\n{lines}\t\t}}\n\t}}")
    });
    let text = format!(
        "# A plain reverse proxy, written by genkai.\n{{\n\tauto_https off\n{servers}}}\n\n{site}\treverse_proxy {backend}{taken}\n}}\n"
    );
    Config::of_texts(vec![("/Caddyfile".into(), text.into_bytes())], Variables::new())
}
