//! The embedded servers as participants of a run: a process of its own (`genkai serve origin ...`, `echo`, `rooms`), with a known
//! service time and known caps, so that what a proxy before it does can be told from what its backend does.

mod evidence;
mod lifecycle;
mod limits;

use genkai_model::plan::{OriginSpec, WebSocketServer};

pub use evidence::{CPU, FD_LIMIT, FDS, RSS};
pub use lifecycle::{Origin, arguments};
pub use limits::of as limits;

/// What an embedded server is.
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// An HTTP origin.
    Http(OriginSpec),
    /// A WebSocket server.
    WebSocket(WebSocketServer),
}

impl From<&OriginSpec> for Spec {
    fn from(spec: &OriginSpec) -> Spec {
        Spec::Http(spec.clone())
    }
}

impl From<&WebSocketServer> for Spec {
    fn from(spec: &WebSocketServer) -> Spec {
        Spec::WebSocket(*spec)
    }
}
