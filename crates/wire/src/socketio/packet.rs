//! Socket.IO packets.

use std::fmt::Write as _;

use super::{Error, MOST_ATTACHMENTS};

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To or into a namespace.
    Connect,
    /// Out of a namespace.
    Disconnect,
    /// An event: a JSON array, the event's name first.
    Event,
    /// The answer to an event that had an id: a JSON array.
    Ack,
    /// A namespace cannot be entered: a JSON object with `message`.
    ConnectError,
    /// An event with attachments.
    BinaryEvent,
    /// An answer with attachments.
    BinaryAck,
}

const KINDS: [Kind; 7] =
    [Kind::Connect, Kind::Disconnect, Kind::Event, Kind::Ack, Kind::ConnectError, Kind::BinaryEvent, Kind::BinaryAck];

impl Kind {
    /// Whether such packets have attachments.
    pub fn is_binary(self) -> bool {
        matches!(self, Kind::BinaryEvent | Kind::BinaryAck)
    }
}

/// A packet. Where an attachment belongs, its JSON has `{"_placeholder":true,"num":N}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// What it is for.
    pub kind: Kind,
    /// Binary messages that follow and belong to it; none but for binary kinds.
    pub attachments: u32,
    /// Namespace, with its slash; the main one is `/`. It has no comma.
    pub namespace: &'a str,
    /// Id by which it wants to be, or is, acknowledged.
    pub id: Option<u64>,
    /// JSON, or nothing. What is nothing, an array or an object is told from an id by its first byte.
    pub data: &'a str,
}

impl<'a> Packet<'a> {
    /// Reads what follows the 4 of a message.
    ///
    /// # Errors
    /// When it is no packet. Its JSON is not looked at.
    pub fn parse(text: &'a str) -> Result<Packet<'a>, Error> {
        let digit = text.bytes().next().filter(u8::is_ascii_digit).ok_or(Error::Kind)?;
        let kind = *KINDS.get(usize::from(digit - b'0')).ok_or(Error::Kind)?;
        let mut rest = &text[1..];
        let mut attachments = 0;
        if kind.is_binary() {
            let (count, after) = rest.split_once('-').ok_or(Error::Attachments)?;
            let count = Some(count).filter(|count| count.bytes().all(|b| b.is_ascii_digit())).unwrap_or_default();
            attachments = count.parse().ok().filter(|n| *n <= MOST_ATTACHMENTS).ok_or(Error::Attachments)?;
            rest = after;
        }
        let mut namespace = "/";
        if rest.starts_with('/') {
            (namespace, rest) = rest.split_once(',').ok_or(Error::Namespace)?;
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let id = match digits {
            0 => None,
            _ => Some(rest[..digits].parse().map_err(|_| Error::Id)?),
        };
        let data = &rest[digits..];
        // An array, an object or a string; anything else is refused by socket.io-parser too (`isPayloadValid`).
        if !(data.is_empty() || data.starts_with(['[', '{', '"'])) {
            return Err(Error::Data);
        }
        Ok(Packet { kind, attachments, namespace, id, data })
    }

    /// Appends it.
    pub fn write(&self, out: &mut String) {
        let digit = KINDS.iter().position(|kind| *kind == self.kind).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = write!(out, "{digit}");
        if self.kind.is_binary() {
            let _ = write!(out, "{}-", self.attachments);
        }
        if self.namespace != "/" {
            out.push_str(self.namespace);
            out.push(',');
        }
        if let Some(id) = self.id {
            let _ = write!(out, "{id}");
        }
        out.push_str(self.data);
    }
}
