//! Control frames (RFC 6455 section 5.5).

use super::{Decoder, Found, Place, State};
use crate::websocket::frame::{MAX_CONTROL, Opcode};
use crate::websocket::{Close, Error, mask};

/// The payload of a control frame that was cut. It stays until the next one begins.
#[derive(Debug)]
pub(super) struct Carry {
    bytes: [u8; MAX_CONTROL],
    len: u8,
}

impl Carry {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Takes from `bytes` until it has `length`; returns how many.
    fn fill(&mut self, length: usize, bytes: &[u8]) -> usize {
        let had = usize::from(self.len);
        let more = bytes.len().min(length - had);
        self.bytes[had..had + more].copy_from_slice(&bytes[..more]);
        self.len += more as u8;
        more
    }
}

impl Decoder {
    /// Takes the payload of a control frame; `None` when `bytes` are used up before it is whole.
    pub(super) fn control(
        &mut self,
        opcode: Opcode,
        length: usize,
        key: [u8; 4],
        at: &mut usize,
        bytes: &mut [u8],
    ) -> Result<Option<Found>, Error> {
        let from = *at;
        let place = if self.carry.is_none() && bytes.len() - from >= length {
            *at += length;
            mask::apply(&mut bytes[from..*at], key);
            Place::Input(from, *at)
        } else {
            let carry = self.carry.get_or_insert_with(|| Box::new(Carry { bytes: [0; MAX_CONTROL], len: 0 }));
            *at += carry.fill(length, &bytes[from..]);
            if carry.bytes().len() < length {
                return Ok(None);
            }
            mask::apply(&mut carry.bytes[..length], key);
            Place::Carry
        };
        self.state = if opcode == Opcode::Close {
            let payload = match place {
                Place::Carry => self.carry.as_ref().map_or(&[][..], |carry| carry.bytes()),
                _ => &bytes[from..*at],
            };
            Close::parse(payload)?;
            State::Closed
        } else {
            State::START
        };
        Ok(Some(Found::Control(opcode, place)))
    }
}
