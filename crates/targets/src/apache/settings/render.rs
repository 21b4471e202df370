//! A plain reverse proxy, for when the user brings settings but no file.

use std::collections::BTreeMap;
use std::path::Path;

use genkai_model::plan::Upgrade;

use super::{KEEP_ALIVE_TIMEOUT, LISTEN_BACKLOG, MAX_REQUEST_WORKERS, SettingError, TIMEOUT, apply};
use crate::apache::config::{Config, Reading, lexer::quote};
use crate::apache::route::Scope;
use genkai_place::authority::TlsMaterial;

/// What to render.
#[derive(Clone, Debug)]
pub struct Rendering<'a> {
    /// Address of the backend, `host:port`.
    pub backend: &'a str,
    /// Port to listen on. (A private copy moves it.)
    pub port: u16,
    /// Whether WebSocket connections are passed through.
    pub websocket: bool,
    /// What passes them through.
    pub upgrade: Upgrade,
    /// Listen with TLS, with these.
    pub tls: Option<&'a TlsMaterial>,
    /// Folder of the modules.
    pub modules: &'a Path,
    /// User and group of the workers, where httpd is started as root.
    pub user: Option<(&'a str, &'a str)>,
    /// Settings by name, in the user's words.
    pub settings: &'a BTreeMap<String, String>,
    /// How the text is to be read.
    pub reading: Reading,
}

/// One backend that is always tried (`retry=0`: a failure is shown, not hidden). With WebSocket, mod_proxy_http tunnels the
/// upgrade itself (since 2.4.47), and an idle tunnel may live for an hour; or mod_proxy_wstunnel does, which knows no such time. The MPM is
/// worker: a connection has a thread, so that formulas are exact; `mpm` chooses another.
fn text(rendering: &Rendering<'_>) -> String {
    let module = |name: &str| {
        let file = rendering.modules.join(format!("mod_{name}.so"));
        format!("LoadModule {name}_module {}\n", quote(&file.to_string_lossy()))
    };
    let (more, lines, scheme, parameter) = match (rendering.websocket, rendering.upgrade) {
        (false, _) => (None, "", "http", ""),
        (true, Upgrade::Http) => (None, "ProxyTimeout 3600\n", "http", " upgrade=websocket"),
        (true, Upgrade::Wstunnel) => (Some("proxy_wstunnel"), "ProxyWebsocketFallbackToProxyHttp Off\n", "ws", ""),
    };
    let modules = ["mpm_worker", "authz_core", "status", "proxy", "proxy_http"].into_iter().chain(more);
    let modules: String = modules.chain(rendering.tls.map(|_| "ssl")).map(module).collect();
    let user = rendering.user.map(|(user, group)| format!("User {user}\nGroup {group}\n")).unwrap_or_default();
    format!(
        "# A plain reverse proxy, written by genkai.\n{modules}{user}ServerName localhost\nListen {port}{tls}\n\n\
         MaxRequestWorkers {workers}\nListenBacklog {backlog}\nTimeout {timeout}\nKeepAlive On\nKeepAliveTimeout {idle}\n{lines}\n\
         ProxyPreserveHost On\nProxyPass / {scheme}://{backend}/ retry=0{parameter}\n",
        port = rendering.port,
        workers = MAX_REQUEST_WORKERS.default,
        backlog = LISTEN_BACKLOG.default,
        timeout = TIMEOUT.default,
        idle = KEEP_ALIVE_TIMEOUT.default,
        tls = rendering.tls.map(tls).unwrap_or_default(),
        backend = rendering.backend,
    )
}

/// The rest of a `Listen`, and the directives of a server with TLS.
fn tls(material: &TlsMaterial) -> String {
    let path = |path: &Path| quote(&path.to_string_lossy()).into_owned();
    let (certificate, key) = (path(&material.certificate), path(&material.key));
    format!(" https\nSSLEngine On\nSSLCertificateFile {certificate}\nSSLCertificateKeyFile {key}")
}

/// A configuration of one file, `httpd.conf`, with every setting where it belongs. Nothing is written.
///
/// # Errors
/// When a setting is unknown, its value not allowed, or it has no place.
pub fn render(rendering: &Rendering<'_>) -> Result<Config, SettingError> {
    let text = text(rendering).into_bytes();
    let mut config = Config::of_text(Path::new("/httpd.conf"), text, rendering.reading.clone())?;
    let scope = Scope { host: "localhost".to_owned(), path: "/".to_owned() };
    for (name, value) in rendering.settings {
        config = apply(&config, name, value, &scope)?;
    }
    Ok(config)
}
