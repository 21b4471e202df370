//! A plain reverse proxy, for when the user brings settings but no file.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use super::{SettingError, apply};
use crate::caddy::config::{Config, Variables, quote};
use crate::caddy::route::Scope;
use genkai_place::authority::TlsMaterial;

/// What to render.
#[derive(Clone, Debug)]
pub struct Rendering<'a> {
    /// Address of the backend.
    pub backend: SocketAddr,
    /// What its listener speaks TLS with; none: it does not.
    pub tls: Option<&'a TlsMaterial>,
    /// Settings by name, in the user's words.
    pub settings: &'a BTreeMap<String, String>,
}

/// A configuration of one file with every setting where it belongs: one site, one backend, Caddy's own defaults. Nothing is
/// written.
///
/// # Errors
/// When a setting is unknown, its value not allowed, or it has no place.
pub fn render(rendering: &Rendering<'_>) -> Result<Config, SettingError> {
    let path = |path: &Path| quote(&path.to_string_lossy());
    let site = rendering.tls.map_or_else(
        || "http://:80 {\n".to_owned(),
        |tls| format!("https://:443 {{\n\ttls {} {}\n", path(&tls.certificate), path(&tls.key)),
    );
    let text = format!(
        "# A plain reverse proxy, written by genkai.\n{{\n\tauto_https off\n}}\n\n{site}\treverse_proxy {}\n}}\n",
        rendering.backend
    );
    let main = Path::new("/Caddyfile").to_owned();
    let mut config = Config::of_texts(vec![(main, text.into_bytes())], Variables::new())?;
    for (name, value) in rendering.settings {
        config = apply(&config, name, value, &Scope { host: String::new(), path: "/".to_owned() })?;
    }
    Ok(config)
}
