//! The way to a server: addresses, and TLS where the load has it.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;

use genkai_model::load::{Load, Protocol};
use genkai_model::transport::Transport;
use socket2::SockAddr;

use super::tls;
use crate::error::EngineError;

/// What is spoken over TLS but for HTTP/2: WebSocket begins as HTTP/1.1, too (RFC 7301 section 6, RFC 6455 section 4.1).
pub(crate) const HTTP1: &[&str] = &["http/1.1"];

/// And for HTTP/2: as browsers do, so that a server without it says so by its choice.
pub(crate) const HTTP2: &[&str] = &["h2", "http/1.1"];

/// Where connections go, the same for all threads.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    addresses: Vec<SockAddr>,
    /// Where connections come from; none: the system's choice.
    pub(crate) sources: Vec<SockAddr>,
    tls: Option<tls::Plan>,
}

impl Route {
    /// The route of `load`, its files read and checked.
    pub(crate) fn plan(load: &Load) -> Result<Route, EngineError> {
        let spoken: &[&str] = match load.protocol {
            Protocol::Http2(_) => HTTP2,
            Protocol::Http1 | Protocol::WebSocket(_) => HTTP1,
        };
        let sources = load.scale.sources.iter().map(|ip| SockAddr::from(SocketAddr::new(*ip, 0))).collect();
        Ok(Route { sources, ..Route::to(&load.addresses, &load.transport, spoken)? })
    }

    /// The route to `addresses` by `transport`, its files read and checked; over TLS one of the protocols `spoken` (ALPN).
    pub(crate) fn to(addresses: &[SocketAddr], transport: &Transport, spoken: &[&str]) -> Result<Route, EngineError> {
        let addresses = match transport {
            Transport::Unix { path } => {
                let address = SockAddr::unix(path);
                vec![address.map_err(|e| EngineError::Load(format!("{}: {e}", path.display())))?]
            }
            _ if addresses.is_empty() => {
                return Err(EngineError::Load("the load has no address to connect to".to_owned()));
            }
            _ => addresses.iter().copied().map(SockAddr::from).collect(),
        };
        let tls = match transport {
            Transport::Tls(tls) => Some(tls::Plan::read(tls, spoken)),
            _ => None,
        };
        Ok(Route { addresses, sources: Vec::new(), tls: tls.transpose().map_err(EngineError::Tls)? })
    }
}

/// The other end of connections, as one thread has it: its connections take the addresses in turn, and resume each other's TLS sessions.
pub(crate) struct Endpoint {
    addresses: Vec<SockAddr>,
    /// TLS, where there is such.
    pub(crate) tls: Option<Rc<tls::Shared>>,
    turn: Cell<usize>,
}

impl Endpoint {
    /// Along `route`, from its `turn`-th address on.
    pub(crate) fn new(route: &Route, turn: usize) -> Endpoint {
        let tls = route.tls.as_ref().map(|plan| Rc::new(tls::Shared::new(plan)));
        Endpoint { addresses: route.addresses.clone(), tls, turn: Cell::new(turn) }
    }

    /// The address a connection goes to: the one chosen, or the next in turn.
    pub(crate) fn address(&self, chosen: Option<usize>) -> &SockAddr {
        let turn = chosen.unwrap_or_else(|| {
            let turn = self.turn.get();
            self.turn.set(turn.wrapping_add(1));
            turn
        });
        &self.addresses[turn % self.addresses.len()]
    }
}
