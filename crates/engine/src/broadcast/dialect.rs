//! How messages travel: as WebSocket messages, or as events of Socket.IO.

use genkai_wire::socketio::TARGET;
use genkai_wire::websocket::deflate::Settings;
use genkai_wire::websocket::handshake::Opening;
use genkai_wire::websocket::{Chunk, Kind};

use crate::protocol::socketio::{SocketIo, SocketIoEvent};

/// The namespace of the application.
const NAMESPACE: &str = "/app";
/// Bytes of the start of a message that are kept: commands and answers are shorter.
pub(super) const HEAD: usize = 80;

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientOptions {
    /// By Socket.IO v5 over WebSocket: messages are events called `message` with one argument, a string or a buffer. Else by
    /// WebSocket messages.
    pub socketio: bool,
    /// Whether compression is offered (RFC 7692).
    pub compression: bool,
}

impl ClientOptions {
    /// The request that opens the application.
    pub(super) fn opening(self) -> Opening<'static> {
        let target = if self.socketio { TARGET } else { NAMESPACE };
        let deflate = self.compression.then(Settings::default);
        Opening { target, host: "localhost", fields: &[], protocols: &[], deflate }
    }
}

/// A whole message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) binary: bool,
    pub(super) bytes: u64,
    /// How it begins.
    pub(super) head: Vec<u8>,
}

/// What came of a part of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decoded {
    /// Nothing yet, or nothing to do.
    Nothing,
    Message(Message),
    /// The application can be spoken to.
    Open,
    /// This text must be sent.
    Answer(String),
    /// The server ends it, or speaks nonsense.
    End,
}

/// What one connection knows of its dialect.
#[derive(Debug)]
pub(super) enum Dialect {
    Plain(Message),
    SocketIo(SocketIo),
}

impl Dialect {
    pub(super) fn new(socketio: bool) -> Dialect {
        match socketio {
            false => Dialect::Plain(Message::default()),
            true => Dialect::SocketIo(SocketIo::new(NAMESPACE.to_owned())),
        }
    }

    /// Whether the application can be spoken to as soon as the WebSocket is open.
    pub(super) fn is_ready(&self) -> bool {
        matches!(self, Dialect::Plain(_))
    }

    /// Longest silence of a living server: ms; 0 where it is not known.
    pub(super) fn patience_ms(&self) -> u64 {
        match self {
            Dialect::Plain(_) => 0,
            Dialect::SocketIo(dialect) => dialect.patience_ms(),
        }
    }

    /// The WebSocket messages that carry `payload`.
    pub(super) fn encode(&self, kind: Kind, payload: &[u8], mut each: impl FnMut(Kind, &[u8])) {
        match self {
            Dialect::Plain(_) => each(kind, payload),
            Dialect::SocketIo(dialect) => dialect.encode(kind, payload, each),
        }
    }

    /// Takes a part of a WebSocket message.
    pub(super) fn decode(&mut self, chunk: &Chunk<'_>) -> Decoded {
        match self {
            Dialect::Plain(heard) => {
                if chunk.first {
                    *heard = Message { binary: chunk.kind == Kind::Binary, ..Message::default() };
                }
                heard.take(chunk.data);
                if chunk.last { Decoded::Message(std::mem::take(heard)) } else { Decoded::Nothing }
            }
            Dialect::SocketIo(dialect) => match dialect.decode(chunk) {
                SocketIoEvent::Nothing => Decoded::Nothing,
                SocketIoEvent::Open => Decoded::Open,
                SocketIoEvent::Answer(text) => Decoded::Answer(text),
                SocketIoEvent::End => Decoded::End,
                SocketIoEvent::Message(kind, data) => {
                    let mut heard = Message { binary: kind == Kind::Binary, ..Message::default() };
                    heard.take(&data);
                    Decoded::Message(heard)
                }
            },
        }
    }
}

impl Message {
    /// More of it.
    fn take(&mut self, data: &[u8]) {
        self.bytes += data.len() as u64;
        let room = HEAD.saturating_sub(self.head.len()).min(data.len());
        self.head.extend_from_slice(&data[..room]);
    }
}
