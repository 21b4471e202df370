//! A plain reverse proxy, for when the user brings settings but no file.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use super::{SettingError, apply};
use crate::haproxy::config::{Config, Reading, quote};
use crate::haproxy::route::Scope;
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
    /// How the text is to be read.
    pub reading: Reading,
}

/// A configuration of one file with every setting where it belongs: one backend, the timeouts of Debian's haproxy.cfg (which
/// has none for tunnels; an idle one may live for an hour here). Nothing is written.
///
/// # Errors
/// When a setting is unknown, its value not allowed, or it has no place.
pub fn render(rendering: &Rendering<'_>) -> Result<Config, SettingError> {
    let bind = rendering.tls.map_or_else(
        || "*:80".to_owned(),
        |material| format!("*:443 ssl crt {}", quote(&material.both.to_string_lossy())),
    );
    let text = format!(
        "# A plain reverse proxy, written by genkai.\n\
         global\n    maxconn 2000\n\n\
         defaults\n    mode http\n    timeout connect 5s\n    timeout client 50s\n    timeout server 50s\n    \
         timeout tunnel 1h\n\n\
         frontend proxy\n    bind {bind}\n    default_backend application\n\n\
         backend application\n    server one {}\n",
        rendering.backend
    );
    let path = Path::new("/haproxy.cfg").to_owned();
    let mut config = Config::of_texts(vec![(path, text.into_bytes())], rendering.reading.clone())?;
    for (name, value) in rendering.settings {
        config = apply(&config, name, value, &Scope::default())?;
    }
    Ok(config)
}
