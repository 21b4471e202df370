//! The way to the server: addresses, and TLS where the load has it.

use std::net::SocketAddr;

use genkai_model::load::{Load, Protocol};
use genkai_model::transport::Transport;
use socket2::SockAddr;

use crate::{EngineError, tls};

/// Where connections go, the same for all threads.
#[derive(Clone)]
pub(crate) struct Road {
    pub(crate) addresses: Vec<SockAddr>,
    /// Where they come from; none: the system's choice.
    pub(crate) sources: Vec<SockAddr>,
    pub(crate) tls: Option<tls::Plan>,
}

impl Road {
    /// The way of `load`, its files read and checked.
    pub(crate) fn plan(load: &Load) -> Result<Road, EngineError> {
        let addresses = match &load.transport {
            Transport::Unix { path } => {
                let address = SockAddr::unix(path);
                vec![address.map_err(|e| EngineError::Load(format!("{}: {e}", path.display())))?]
            }
            _ => load.addresses.iter().copied().map(SockAddr::from).collect(),
        };
        let tls = match &load.transport {
            Transport::Tls(tls) => Some(match load.protocol {
                // Both are spoken over HTTP/1.1 (RFC 7301 section 6, RFC 6455 section 4.1).
                Protocol::Http1 | Protocol::WebSocket(_) => tls::Plan::read(tls, &["http/1.1"]),
                // As browsers do, so that a server without HTTP/2 says so by its choice.
                Protocol::Http2(_) => tls::Plan::read(tls, &["h2", "http/1.1"]),
            }),
            _ => None,
        };
        let sources = load.scale.sources.iter().map(|ip| SockAddr::from(SocketAddr::new(*ip, 0))).collect();
        Ok(Road { addresses, sources, tls: tls.transpose().map_err(EngineError::Tls)? })
    }
}
