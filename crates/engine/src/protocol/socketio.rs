//! Socket.IO as one connection speaks it: in one namespace, messages being events called `message` with one argument, a string or a
//! buffer.

use std::borrow::Cow;

use genkai_wire::socketio::{self, Delivery, Frame, Inbox, Packet};
use genkai_wire::websocket::{Chunk, Kind};
use serde_json::Value;

/// What Socket.IO puts in the place of an attachment.
const PLACEHOLDER: &str = r#"["message",{"_placeholder":true,"num":0}]"#;

/// What one connection knows.
#[derive(Debug)]
pub(crate) struct SocketIo {
    namespace: String,
    inbox: Inbox,
    /// A WebSocket message that has not wholly come.
    parts: Vec<u8>,
    patience_ms: u64,
}

/// What came of a part of a WebSocket message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SocketIoEvent<'a> {
    /// Nothing yet, or nothing to do.
    Nothing,
    /// A message.
    Message(Kind, Cow<'a, [u8]>),
    /// The namespace is entered.
    Open,
    /// This text must be sent.
    Answer(String),
    /// The server ends it, or speaks nonsense.
    End,
}

impl SocketIo {
    /// For a connection that is to enter `namespace`.
    pub(crate) fn new(namespace: String) -> SocketIo {
        SocketIo { namespace, inbox: Inbox::default(), parts: Vec::new(), patience_ms: 0 }
    }

    /// Longest silence of a living server: ms; 0 where it is not known.
    pub(crate) fn patience_ms(&self) -> u64 {
        self.patience_ms
    }

    /// The WebSocket messages that carry `payload`.
    pub(crate) fn encode(&self, kind: Kind, payload: &[u8], mut each: impl FnMut(Kind, &[u8])) {
        match kind {
            Kind::Binary => {
                each(Kind::Text, self.packet(socketio::Kind::BinaryEvent, 1, PLACEHOLDER).as_bytes());
                each(Kind::Binary, payload);
            }
            Kind::Text => {
                let data = serde_json::json!(["message", String::from_utf8_lossy(payload)]).to_string();
                each(Kind::Text, self.packet(socketio::Kind::Event, 0, &data).as_bytes());
            }
        }
    }

    /// A packet of its namespace.
    fn packet(&self, kind: socketio::Kind, attachments: u32, data: &str) -> String {
        written(&Frame::Message(Packet { kind, attachments, namespace: &self.namespace, id: None, data }))
    }

    /// Takes a part of a WebSocket message.
    pub(crate) fn decode(&mut self, chunk: &Chunk<'_>) -> SocketIoEvent<'_> {
        if chunk.first {
            self.parts.clear();
        }
        self.parts.extend_from_slice(chunk.data);
        if !chunk.last {
            return SocketIoEvent::Nothing;
        }
        let SocketIo { namespace, inbox, parts, patience_ms } = self;
        let delivered = match chunk.kind {
            // The decoder has seen to it that a text is UTF-8.
            Kind::Text => inbox.text(std::str::from_utf8(parts).unwrap_or_default()),
            Kind::Binary => inbox.binary(parts),
        };
        match delivered {
            Ok(None) => SocketIoEvent::Nothing,
            Ok(Some(delivery)) => meaning(delivery, namespace, patience_ms),
            Err(_) => SocketIoEvent::End,
        }
    }
}

/// What a delivery means for a client of `namespace`.
fn meaning<'a>(delivery: Delivery<'a>, namespace: &str, patience_ms: &mut u64) -> SocketIoEvent<'a> {
    match delivery {
        Delivery::Frame(Frame::Open(json)) => {
            let open: Value = serde_json::from_str(json).unwrap_or_default();
            let ms = |name: &str| open.get(name).and_then(Value::as_u64).unwrap_or(0);
            // The server pings; silence for longer than this is its end (Engine.IO protocol, "Heartbeat").
            *patience_ms = ms("pingInterval").saturating_add(ms("pingTimeout"));
            let enter = Packet { kind: socketio::Kind::Connect, attachments: 0, namespace, id: None, data: "" };
            SocketIoEvent::Answer(written(&Frame::Message(enter)))
        }
        Delivery::Frame(Frame::Ping(text)) => SocketIoEvent::Answer(written(&Frame::Pong(text))),
        Delivery::Frame(Frame::Close) => SocketIoEvent::End,
        Delivery::Frame(_) => SocketIoEvent::Nothing,
        Delivery::Packet(packet, _) if packet.namespace != namespace => SocketIoEvent::Nothing,
        Delivery::Packet(packet, attachments) => match packet.kind {
            socketio::Kind::Connect => SocketIoEvent::Open,
            socketio::Kind::Disconnect | socketio::Kind::ConnectError => SocketIoEvent::End,
            socketio::Kind::Event | socketio::Kind::BinaryEvent => event(packet.data, attachments),
            socketio::Kind::Ack | socketio::Kind::BinaryAck => SocketIoEvent::Nothing,
        },
    }
}

fn event<'a>(data: &str, attachments: &'a [Vec<u8>]) -> SocketIoEvent<'a> {
    match attachments {
        [attachment] => SocketIoEvent::Message(Kind::Binary, Cow::Borrowed(attachment)),
        _ => match serde_json::from_str::<(Cow<'_, str>, String)>(data) {
            Ok((name, text)) if name == "message" => SocketIoEvent::Message(Kind::Text, Cow::Owned(text.into_bytes())),
            _ => SocketIoEvent::Nothing,
        },
    }
}

fn written(frame: &Frame<'_>) -> String {
    let mut text = String::new();
    frame.write(&mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode<'a>(client: &'a mut SocketIo, kind: Kind, data: &[u8]) -> SocketIoEvent<'a> {
        client.decode(&Chunk { kind, data, first: true, last: true })
    }

    #[test]
    fn a_namespace_is_entered_and_talked_in() {
        let mut all = SocketIo::new("/rooms/3".to_owned());
        let mut text = |data: &str| match decode(&mut all, Kind::Text, data.as_bytes()) {
            SocketIoEvent::Message(kind, data) => SocketIoEvent::Message(kind, Cow::Owned(data.into_owned())),
            SocketIoEvent::Answer(text) => SocketIoEvent::Answer(text),
            SocketIoEvent::Open => SocketIoEvent::Open,
            SocketIoEvent::End => SocketIoEvent::End,
            SocketIoEvent::Nothing => SocketIoEvent::Nothing,
        };
        assert_eq!(
            text(r#"0{"sid":"x","pingInterval":25000,"pingTimeout":20000}"#),
            SocketIoEvent::Answer("40/rooms/3,".into())
        );
        assert_eq!(
            (text(r#"40/rooms/3,{"sid":"y"}"#), text("2probe")),
            (SocketIoEvent::Open, SocketIoEvent::Answer("3probe".into()))
        );
        let said = SocketIoEvent::Message(Kind::Text, Cow::Borrowed(br#"a "b""#));
        assert_eq!(
            (text(r#"42/rooms/3,["message","a \"b\""]"#), text(r#"42/rooms/4,["message","a"]"#)),
            (said, SocketIoEvent::Nothing)
        );
        assert_eq!((text("41/rooms/3,"), text("nonsense")), (SocketIoEvent::End, SocketIoEvent::End));
        assert_eq!(all.patience_ms(), 45_000);
    }

    #[test]
    fn what_is_said_is_heard() {
        let mut client = SocketIo::new("/rooms/0".to_owned());
        for (kind, payload) in [(Kind::Text, &br#"{"id" null"#[..]), (Kind::Binary, &[0, 255, 7][..])] {
            let mut sent = Vec::new();
            client.encode(kind, payload, |kind, data| sent.push((kind, data.to_vec())));
            let (last, before) = sent.split_last().unwrap();
            assert!(before.iter().all(|(kind, data)| decode(&mut client, *kind, data) == SocketIoEvent::Nothing));
            assert_eq!(decode(&mut client, last.0, &last.1), SocketIoEvent::Message(kind, Cow::Borrowed(payload)));
        }
    }
}
