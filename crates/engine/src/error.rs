//! Why no load could be made at all. Failed requests are not errors of the engine: they are counted.

use std::io;

/// The engine could not start, or broke.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The load contradicts itself or is out of range.
    #[error("{0}")]
    Load(String),
    /// The request cannot be written.
    #[error("the request cannot be sent: {0}")]
    Request(#[from] genkai_wire::http1::WriteError),
    /// The opening handshake of WebSockets cannot be written.
    #[error("the WebSocket handshake cannot be sent: {0}")]
    Handshake(#[source] genkai_wire::websocket::handshake::WriteError),
    /// TLS cannot be made as asked: a file, a name.
    #[error("TLS cannot be made: {0}")]
    Tls(String),
    /// A thread, its event loop or its timer could not be set up.
    #[error("a load thread could not start: {0}")]
    Start(#[source] io::Error),
    /// A thread ended by itself: a bug.
    #[error("a load thread ended unexpectedly; this is a bug in genkai")]
    ThreadDied,
}

impl EngineError {
    /// Whether what was asked for is at fault, not the machine.
    pub fn is_usage(&self) -> bool {
        matches!(self, EngineError::Load(_) | EngineError::Request(_) | EngineError::Handshake(_) | EngineError::Tls(_))
    }
}
