//! How messages travel: as WebSocket messages, or as events of Socket.IO.

use genkai_wire::socketio::{self, Delivery, Frame, Inbox, Packet};
use genkai_wire::websocket::deflate::Settings;
use genkai_wire::websocket::handshake::Opening;
use genkai_wire::websocket::{Chunk, Kind};
use serde_json::Value;

/// The namespace of the application.
const NAMESPACE: &str = "/app";
/// What Socket.IO puts in the place of an attachment.
const PLACEHOLDER: &str = r#"["message",{"_placeholder":true,"num":0}]"#;
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
        let target = if self.socketio { socketio::TARGET } else { NAMESPACE };
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
    SocketIo { inbox: Inbox, parts: Vec<u8>, patience_ms: u64 },
}

impl Voice {
    pub(super) fn new(socketio: bool) -> Voice {
        match socketio {
            false => Voice::Plain(Heard::default()),
            true => Voice::SocketIo { inbox: Inbox::default(), parts: Vec::new(), patience_ms: 0 },
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
            Voice::SocketIo { patience_ms, .. } => *patience_ms,
        }
    }

    /// The WebSocket messages that say `payload`.
    pub(super) fn speak(&self, kind: Kind, payload: &[u8], mut each: impl FnMut(Kind, &[u8])) {
        if let Voice::Plain(_) = self {
            return each(kind, payload);
        }
        let event = |attachments, data: &str| {
            let kind = if attachments > 0 { socketio::Kind::BinaryEvent } else { socketio::Kind::Event };
            written(&Frame::Message(Packet { kind, attachments, namespace: NAMESPACE, id: None, data }))
        };
        match kind {
            Kind::Binary => {
                each(Kind::Text, event(1, PLACEHOLDER).as_bytes());
                each(Kind::Binary, payload);
            }
            Kind::Text => {
                let text = String::from_utf8_lossy(payload);
                let data = serde_json::json!(["message", text]).to_string();
                each(Kind::Text, event(0, &data).as_bytes());
            }
        }
    }

    /// Takes a part of a WebSocket message.
    pub(super) fn hear(&mut self, chunk: &Chunk<'_>) -> Came {
        match self {
            Voice::Plain(heard) => {
                if chunk.first {
                    *heard = Heard { binary: chunk.kind == Kind::Binary, ..Heard::default() };
                }
                heard.bytes += chunk.data.len() as u64;
                let room = HEAD.saturating_sub(heard.head.len()).min(chunk.data.len());
                heard.head.extend_from_slice(&chunk.data[..room]);
                if chunk.last { Came::Message(std::mem::take(heard)) } else { Came::Nothing }
            }
            Voice::SocketIo { inbox, parts, patience_ms } => {
                if chunk.first {
                    parts.clear();
                }
                parts.extend_from_slice(chunk.data);
                if !chunk.last {
                    return Came::Nothing;
                }
                let delivered = match chunk.kind {
                    // The decoder has seen to it that a text is UTF-8.
                    Kind::Text => inbox.text(std::str::from_utf8(parts).unwrap_or_default()),
                    Kind::Binary => inbox.binary(parts),
                };
                match delivered {
                    Ok(None) => Came::Nothing,
                    Ok(Some(delivery)) => came(&delivery, patience_ms),
                    Err(_) => Came::End,
                }
            }
        }
    }
}

/// What a delivery means for a client of the application.
fn came(delivery: &Delivery<'_>, patience_ms: &mut u64) -> Came {
    match delivery {
        Delivery::Frame(Frame::Open(json)) => {
            let open: Value = serde_json::from_str(json).unwrap_or_default();
            let ms = |name: &str| open.get(name).and_then(Value::as_u64).unwrap_or(0);
            // The server pings; silence for longer than this is its end (Engine.IO protocol, "Heartbeat").
            *patience_ms = ms("pingInterval").saturating_add(ms("pingTimeout"));
            let enter =
                Packet { kind: socketio::Kind::Connect, attachments: 0, namespace: NAMESPACE, id: None, data: "" };
            Came::Answer(written(&Frame::Message(enter)))
        }
        Delivery::Frame(Frame::Ping(text)) => Came::Answer(written(&Frame::Pong(text))),
        Delivery::Frame(Frame::Close) => Came::End,
        Delivery::Frame(_) => Came::Nothing,
        Delivery::Packet(packet, _) if packet.namespace != NAMESPACE => Came::Nothing,
        Delivery::Packet(packet, attachments) => match packet.kind {
            socketio::Kind::Connect => Came::Open,
            socketio::Kind::Disconnect | socketio::Kind::ConnectError => Came::End,
            socketio::Kind::Event | socketio::Kind::BinaryEvent => event(packet.data, attachments),
            socketio::Kind::Ack | socketio::Kind::BinaryAck => Came::Nothing,
        },
    }
}

fn event(data: &str, attachments: &[Vec<u8>]) -> Came {
    let heard = |binary, data: &[u8]| {
        let head = data[..data.len().min(HEAD)].to_vec();
        Came::Message(Heard { binary, bytes: data.len() as u64, head })
    };
    match attachments {
        [attachment] => heard(true, attachment),
        _ => match serde_json::from_str::<(String, String)>(data) {
            Ok((name, text)) if name == "message" => heard(false, text.as_bytes()),
            _ => Came::Nothing,
        },
    }
}

fn written(frame: &Frame<'_>) -> String {
    let mut text = String::new();
    frame.write(&mut text);
    text
}
