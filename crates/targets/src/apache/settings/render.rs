//! A plain reverse proxy, for when the user brings settings but no file.

use std::net::SocketAddr;
use std::path::Path;

use genkai_model::plan::Upgrade;

use super::{KEEP_ALIVE_TIMEOUT, LISTEN_BACKLOG, MAX_REQUEST_WORKERS, TIMEOUT};
use crate::apache::config::{Config, Reading, lexer::quote};
use crate::files::ConfigError;
use genkai_place::authority::TlsMaterial;

/// Speaks TLS to what stands behind, whatever certificate that shows.
pub(crate) const UNVERIFIED: &str = "SSLProxyEngine On\nSSLProxyVerify none\nSSLProxyCheckPeerName Off\nSSLProxyCheckPeerCN Off\nSSLProxyCheckPeerExpire Off\n";

/// The place of a server: by its name where it is told that in the handshake of TLS, which httpd takes from here.
pub(crate) fn named(at: SocketAddr, secured: Option<&str>) -> String {
    match secured.filter(|name| !name.is_empty()) {
        Some(name) => format!("{name}:{}", at.port()),
        None => at.to_string(),
    }
}

/// What to render.
#[derive(Clone, Debug)]
pub struct Rendering<'a> {
    /// Address of the backend.
    pub backend: SocketAddr,
    /// That takes TLS: its name, empty where it has none. Its certificate is not verified; it is told the name that clients asked for
    /// (`ProxyPreserveHost`). None: it is spoken to in clear.
    pub secured: Option<&'a str>,
    /// What passes WebSocket connections through; none: nothing does.
    pub websocket: Option<Upgrade>,
    /// Whether it speaks HTTP/2, too.
    pub http2: bool,
    /// Listen with TLS, with these.
    pub tls: Option<&'a TlsMaterial>,
    /// Folder of the modules.
    pub modules: &'a Path,
    /// User and group of the workers, where httpd is started as root.
    pub user: Option<(&'a str, &'a str)>,
}

/// One backend that is always tried (`retry=0`: a failure is shown, not hidden). With WebSocket, mod_proxy_http tunnels the
/// upgrade itself (since 2.4.47), and an idle tunnel may live for an hour; or mod_proxy_wstunnel does, which knows no such time. The MPM is
/// worker: a connection has a thread, so that formulas are exact; `mpm` chooses another.
fn text(rendering: &Rendering<'_>) -> String {
    let module = |name: &str| {
        let file = rendering.modules.join(format!("mod_{name}.so"));
        format!("LoadModule {name}_module {}\n", quote(&file.to_string_lossy()))
    };
    let (more, lines, scheme, parameter) = match rendering.websocket {
        None => (None, "", "http", ""),
        Some(Upgrade::Http) => (None, "ProxyTimeout 3600\n", "http", " upgrade=websocket"),
        Some(Upgrade::Wstunnel) => (Some("proxy_wstunnel"), "ProxyWebsocketFallbackToProxyHttp Off\n", "ws", ""),
    };
    let modules = ["mpm_worker", "authz_core", "status", "proxy", "proxy_http"].into_iter().chain(more);
    let modules: String = modules
        .chain((rendering.tls.is_some() || rendering.secured.is_some()).then_some("ssl"))
        .chain(rendering.http2.then_some("http2"))
        .map(module)
        .collect();
    let user = rendering.user.map(|(user, group)| format!("User {user}\nGroup {group}\n")).unwrap_or_default();
    format!(
        "# A plain reverse proxy, written by genkai.\n{modules}{user}ServerName localhost\nListen 80{tls}\n{protocols}\n\
         MaxRequestWorkers {workers}\nListenBacklog {backlog}\nTimeout {timeout}\nKeepAlive On\nKeepAliveTimeout {idle}\n{lines}\n\
         ProxyPreserveHost On\nProxyPass / {scheme}{end}://{backend}/ retry=0{parameter}\n{unverified}",
        workers = MAX_REQUEST_WORKERS.default,
        backlog = LISTEN_BACKLOG.default,
        timeout = TIMEOUT.default,
        idle = KEEP_ALIVE_TIMEOUT.default,
        protocols = match (rendering.http2, rendering.tls) {
            (false, _) => "",
            (true, Some(_)) => "Protocols h2 http/1.1\n",
            (true, None) => "Protocols h2c http/1.1\n",
        },
        tls = rendering.tls.map(tls).unwrap_or_default(),
        backend = named(rendering.backend, rendering.secured),
        end = if rendering.secured.is_some() { "s" } else { "" },
        unverified = if rendering.secured.is_some() { UNVERIFIED } else { "" },
    )
}

/// The rest of a `Listen`, and the directives of a server with TLS.
fn tls(material: &TlsMaterial) -> String {
    let path = |path: &Path| quote(&path.to_string_lossy()).into_owned();
    let (certificate, key) = (path(&material.certificate), path(&material.key));
    format!(" https\nSSLEngine On\nSSLCertificateFile {certificate}\nSSLCertificateKeyFile {key}")
}

/// A configuration of one file, `httpd.conf`. Nothing is written.
///
/// # Errors
/// None: the text is httpd's syntax.
pub fn render(rendering: &Rendering<'_>, reading: Reading) -> Result<Config, ConfigError> {
    Config::of_text(Path::new("/httpd.conf"), text(rendering).into_bytes(), reading)
}
