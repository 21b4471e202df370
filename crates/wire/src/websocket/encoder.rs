//! Messages to bytes.

use super::deflate::{Agreed, Deflater, Effort};
use super::frame::{Header, MAX_CONTROL, Opcode};
use super::{EncodeError, Kind, Role, Scratch, is_sendable, mask};

/// Encodes what one side sends. Everything is appended to the caller's buffer, or nothing when it is refused.
///
/// Every function takes the masking key of its frame. RFC 6455 section 5.3 wants it unpredictable, so that no script can
/// make a browser send bytes of its choice; a load generator may be content with a fast generator of random numbers. A
/// server's frames are not masked and ignore it.
#[derive(Debug)]
pub struct Encoder {
    role: Role,
    closed: bool,
    message: Option<Kind>,
    /// Whether the current message is compressed.
    compressed: bool,
    deflater: Option<Box<Deflater>>,
}

impl Encoder {
    /// For the side `role` of a connection, without compression.
    pub fn new(role: Role) -> Encoder {
        Encoder { role, closed: false, message: None, compressed: false, deflater: None }
    }

    /// With compression as the handshake agreed on it.
    pub fn deflating(mut self, agreed: &Agreed, effort: Effort) -> Encoder {
        let own = if self.role == Role::Client { agreed.client } else { agreed.server };
        self.deflater = Some(Box::new(Deflater::new(own, effort)));
        self
    }

    /// Whether a close frame was sent.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Appends a message in one frame. That a text is UTF-8 is the caller's word.
    ///
    /// # Errors
    /// [`EncodeError::Closed`], [`EncodeError::Unfinished`].
    #[inline]
    pub fn message(
        &mut self,
        out: &mut Vec<u8>,
        kind: Kind,
        payload: &[u8],
        key: u32,
        scratch: &mut Scratch,
    ) -> Result<(), EncodeError> {
        if self.message.is_some() {
            return Err(EncodeError::Unfinished);
        }
        self.fragment(out, kind, payload, true, key, scratch)
    }

    /// Appends a fragment of a message: the first, a further, or the `last` one (RFC 6455 section 5.4). Text may be cut
    /// anywhere. Control frames may come in between.
    ///
    /// # Errors
    /// [`EncodeError::Closed`]; [`EncodeError::Unfinished`] when `kind` is not that of the message begun.
    #[inline]
    pub fn fragment(
        &mut self,
        out: &mut Vec<u8>,
        kind: Kind,
        payload: &[u8],
        last: bool,
        key: u32,
        scratch: &mut Scratch,
    ) -> Result<(), EncodeError> {
        if self.closed {
            return Err(EncodeError::Closed);
        }
        let opcode = match (self.message, kind) {
            (None, Kind::Text) => Opcode::Text,
            (None, Kind::Binary) => Opcode::Binary,
            (Some(before), _) if before == kind => Opcode::Continuation,
            _ => return Err(EncodeError::Unfinished),
        };
        let first = self.message.is_none();
        self.message = (!last).then_some(kind);
        let Some(deflater) = self.deflater.as_deref_mut() else {
            frame(out, self.role, key, Header { last, compressed: false, opcode, mask: None, length: 0 }, payload);
            return Ok(());
        };
        if first {
            self.compressed = deflater.wants(payload.len(), last);
        }
        let header = Header { last, compressed: first && self.compressed, opcode, mask: None, length: 0 };
        if self.compressed {
            let mut packed = scratch.take_packed();
            deflater.run(payload, last, &mut packed, scratch);
            frame(out, self.role, key, header, &packed);
            scratch.give_packed(packed);
        } else {
            frame(out, self.role, key, header, payload);
        }
        Ok(())
    }

    /// Appends a ping.
    ///
    /// # Errors
    /// [`EncodeError::Closed`]; [`EncodeError::LongControl`] for more than 125 bytes.
    pub fn ping(&mut self, out: &mut Vec<u8>, payload: &[u8], key: u32) -> Result<(), EncodeError> {
        self.control(out, Opcode::Ping, payload, key)
    }

    /// Appends a pong: the answer to a ping has its payload.
    ///
    /// # Errors
    /// [`EncodeError::Closed`]; [`EncodeError::LongControl`] for more than 125 bytes.
    pub fn pong(&mut self, out: &mut Vec<u8>, payload: &[u8], key: u32) -> Result<(), EncodeError> {
        self.control(out, Opcode::Pong, payload, key)
    }

    /// Appends a close frame, with code and reason or empty. Nothing can be sent after it.
    ///
    /// # Errors
    /// [`EncodeError::Closed`]; [`EncodeError::CloseCode`] for a code that must not be sent; [`EncodeError::LongControl`]
    /// for a reason of more than 123 bytes.
    pub fn close(&mut self, out: &mut Vec<u8>, why: Option<(u16, &str)>, key: u32) -> Result<(), EncodeError> {
        let mut payload = [0; MAX_CONTROL];
        let mut length = 0;
        if let Some((code, reason)) = why {
            if !is_sendable(code) {
                return Err(EncodeError::CloseCode(code));
            }
            length = 2 + reason.len();
            let text = payload.get_mut(2..length).ok_or(EncodeError::LongControl)?;
            text.copy_from_slice(reason.as_bytes());
            payload[..2].copy_from_slice(&code.to_be_bytes());
        }
        self.control(out, Opcode::Close, &payload[..length], key)?;
        self.closed = true;
        Ok(())
    }

    fn control(&mut self, out: &mut Vec<u8>, opcode: Opcode, payload: &[u8], key: u32) -> Result<(), EncodeError> {
        if self.closed {
            return Err(EncodeError::Closed);
        }
        if payload.len() > MAX_CONTROL {
            return Err(EncodeError::LongControl);
        }
        frame(out, self.role, key, Header { last: true, compressed: false, opcode, mask: None, length: 0 }, payload);
        Ok(())
    }
}

/// Appends a frame; mask and length of `header` follow from the rest.
#[inline]
fn frame(out: &mut Vec<u8>, role: Role, key: u32, header: Header, payload: &[u8]) {
    let key = (role == Role::Client).then(|| key.to_be_bytes());
    Header { mask: key, length: payload.len() as u64, ..header }.write(out);
    match key {
        Some(key) => mask::extend(out, payload, key),
        None => out.extend_from_slice(payload),
    }
}
