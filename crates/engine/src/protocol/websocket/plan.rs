//! What is asked for and sent on every connection, prepared once.

use std::borrow::Cow;

use genkai_model::load::{Load, Request};
use genkai_model::rooms::Rooms;
use genkai_model::websocket::{Deflate, SMALLEST_MESSAGE, WebSocket};
use genkai_wire::socketio::TARGET;
use genkai_wire::websocket::deflate::{Direction, Settings};
use genkai_wire::websocket::handshake::{Handshake, Opening, WriteError};
use genkai_wire::websocket::{Kind, MAX_MESSAGE};

use crate::clock::Moment;
use crate::error::EngineError;

/// WebSocket as a load has it.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    request: Request,
    subprotocols: Vec<String>,
    deflate: Option<Settings>,
    /// A message; its identity is written over its first bytes. None: connections are held.
    pub(crate) message: Option<MessageTemplate>,
    pub(crate) ping: Option<Moment>,
    /// Whether messages are kept for who waits for them.
    pub(super) keeps: bool,
    /// Chat rooms.
    pub(crate) rooms: Option<Rooms>,
}

/// A message to be sent.
#[derive(Clone, Debug)]
pub(crate) struct MessageTemplate {
    pub(crate) kind: Kind,
    pub(crate) bytes: Vec<u8>,
}

impl Plan {
    /// What `load` says, which speaks WebSocket.
    ///
    /// # Errors
    /// When it cannot be done.
    pub(crate) fn read(load: &Load, websocket: &WebSocket) -> Result<Plan, EngineError> {
        let plan = Plan {
            request: load.request.clone(),
            subprotocols: websocket.subprotocols.clone(),
            deflate: websocket.deflate.map(offer),
            message: message(websocket)?,
            ping: websocket.ping.map(|span| span.0.max(1_000_000)),
            keeps: false,
            rooms: websocket.rooms.clone(),
        };
        plan.open(u32::MAX, [0; 16], &mut Vec::new(), |_| ()).map_err(EngineError::Handshake)?;
        Ok(plan)
    }

    /// For a connection on which messages are not counted but kept for who waits for them.
    ///
    /// # Errors
    /// When the handshake cannot be written.
    pub(crate) fn listening(
        request: Request,
        subprotocols: Vec<String>,
        deflate: Option<Deflate>,
    ) -> Result<Plan, WriteError> {
        let deflate = deflate.map(offer);
        let plan = Plan { request, subprotocols, deflate, message: None, ping: None, keeps: true, rooms: None };
        plan.open(0, [0; 16], &mut Vec::new(), |_| ()).map(|()| plan)
    }

    /// Appends the request of a handshake of connection `number` to `out`. `use_it` gets the opening, which is needed to read the
    /// answer.
    pub(crate) fn open<T>(
        &self,
        number: u32,
        nonce: [u8; 16],
        out: &mut Vec<u8>,
        use_it: impl FnOnce(Handshake) -> T,
    ) -> Result<T, WriteError> {
        self.opening(number, |opening| opening.write(out, nonce)).map(use_it)
    }

    /// What is asked for.
    pub(crate) fn opening<T>(&self, number: u32, use_it: impl FnOnce(&Opening<'_>) -> T) -> T {
        let headers = self.request.headers.iter();
        let fields: Vec<(&str, &str)> = headers.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let protocols: Vec<&str> = self.subprotocols.iter().map(String::as_str).collect();
        let target = match &self.rooms {
            Some(Rooms { socketio: true, .. }) => Cow::Owned(format!("{TARGET}&member={number}")),
            Some(rooms) => Cow::Owned(rooms.path(&self.request.path, number)),
            None => Cow::Borrowed(&*self.request.path),
        };
        use_it(&Opening {
            target: &target,
            host: &self.request.host,
            fields: &fields,
            protocols: &protocols,
            deflate: self.deflate,
        })
    }
}

impl Plan {
    /// The namespace that connection `number` enters, where Socket.IO is spoken.
    pub(super) fn namespace(&self, number: u32) -> Option<String> {
        self.rooms.as_ref().filter(|rooms| rooms.socketio).map(|rooms| rooms.room(&self.request.path, number))
    }
}

fn offer(deflate: Deflate) -> Settings {
    let direction = Direction { takeover: deflate == Deflate::Takeover, ..Direction::default() };
    Settings { server: direction, client: direction }
}

fn message(websocket: &WebSocket) -> Result<Option<MessageTemplate>, EngineError> {
    let Some(message) = websocket.message else { return Ok(None) };
    if !(SMALLEST_MESSAGE..=MAX_MESSAGE).contains(&message.size) {
        return Err(EngineError::Load(format!(
            "a message of {} bytes: it must have at least {SMALLEST_MESSAGE}, to carry its identity, and at most {MAX_MESSAGE}",
            message.size
        )));
    }
    let kind = if message.binary { Kind::Binary } else { Kind::Text };
    Ok(Some(MessageTemplate { kind, bytes: filler(message.size as usize) }))
}

/// Text that compresses about as well as prose in JSON does, to a third: words of a small vocabulary in random order.
fn filler(size: usize) -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "alpha",
        "bravo",
        "delta",
        "echo",
        "\"name\":",
        "price",
        "golf",
        "hotel",
        "true",
        "india",
        "null",
        "kilo",
        "lima",
        "3.1415",
        "{\"id\"",
        "oscar",
    ];
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut text = Vec::with_capacity(size + 8);
    while text.len() < size {
        // xorshift64 (Marsaglia, "Xorshift RNGs", 2003): the same text each time.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        text.extend_from_slice(WORDS[(random >> 60) as usize].as_bytes());
        text.push(b' ');
    }
    text.truncate(size);
    text
}
