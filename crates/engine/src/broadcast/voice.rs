//! How messages travel: as WebSocket messages, or as events of Socket.IO.

use genkai_wire::socketio::TARGET;
use genkai_wire::websocket::deflate::Settings;
use genkai_wire::websocket::handshake::Opening;
use genkai_wire::websocket::{Chunk, Kind};

use crate::protocol::socketio::{self, Dialect};

/// The namespace of the application.
const NAMESPACE: &str = "/app";
/// Bytes of the start of a message that are kept: commands and answers are shorter.
pub(super) const HEAD: usize = 80;

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// By Socket.IO v5 over WebSocket: messages are events called `message` with one argument, a string or a buffer. Else by
    /// WebSocket messages.
    pub socketio: bool,
    /// Whether compression is offered (RFC 7692).
    pub compression: bool,
}

impl Manner {
    /// The request that opens the application.
    pub(super) fn opening(self) -> Opening<'static> {
        let target = if self.socketio { TARGET } else { NAMESPACE };
        let deflate = self.compression.then(Settings::default);
        Opening { target, host: "localhost", fields: &[], protocols: &[], deflate }
    }
}

/// A whole message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) binary: bool,
    pub(super) bytes: u64,
    /// How it begins.
    pub(super) head: Vec<u8>,
}

/// What came of a part of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// Nothing yet, or nothing to do.
    Nothing,
    Message(Heard),
    /// The application can be spoken to.
    Open,
    /// This text must be sent.
    Answer(String),
    /// The server ends it, or speaks nonsense.
    End,
}

/// What one connection knows of its dialect.
#[derive(Debug)]
pub(super) enum Voice {
    Plain(Heard),
    SocketIo(Dialect),
}

impl Voice {
    pub(super) fn new(socketio: bool) -> Voice {
        match socketio {
            false => Voice::Plain(Heard::default()),
            true => Voice::SocketIo(Dialect::new(NAMESPACE.to_owned())),
        }
    }

    /// Whether the application can be spoken to as soon as the WebSocket is open.
    pub(super) fn is_ready(&self) -> bool {
        matches!(self, Voice::Plain(_))
    }

    /// Longest silence of a living server: ms; 0 where it is not known.
    pub(super) fn patience_ms(&self) -> u64 {
        match self {
            Voice::Plain(_) => 0,
            Voice::SocketIo(dialect) => dialect.patience_ms(),
        }
    }

    /// The WebSocket messages that say `payload`.
    pub(super) fn speak(&self, kind: Kind, payload: &[u8], mut each: impl FnMut(Kind, &[u8])) {
        match self {
            Voice::Plain(_) => each(kind, payload),
            Voice::SocketIo(dialect) => dialect.speak(kind, payload, each),
        }
    }

    /// Takes a part of a WebSocket message.
    pub(super) fn hear(&mut self, chunk: &Chunk<'_>) -> Came {
        match self {
            Voice::Plain(heard) => {
                if chunk.first {
                    *heard = Heard { binary: chunk.kind == Kind::Binary, ..Heard::default() };
                }
                heard.take(chunk.data);
                if chunk.last { Came::Message(std::mem::take(heard)) } else { Came::Nothing }
            }
            Voice::SocketIo(dialect) => match dialect.hear(chunk) {
                socketio::Came::Nothing => Came::Nothing,
                socketio::Came::Open => Came::Open,
                socketio::Came::Answer(text) => Came::Answer(text),
                socketio::Came::End => Came::End,
                socketio::Came::Message(kind, data) => {
                    let mut heard = Heard { binary: kind == Kind::Binary, ..Heard::default() };
                    heard.take(&data);
                    Came::Message(heard)
                }
            },
        }
    }
}

impl Heard {
    /// More of it.
    fn take(&mut self, data: &[u8]) {
        self.bytes += data.len() as u64;
        let room = HEAD.saturating_sub(self.head.len()).min(data.len());
        self.head.extend_from_slice(&data[..room]);
    }
}
