//! Packets with their attachments.

use super::{Error, Frame, Packet};

/// Puts the packets of one connection together with their attachments, which follow them. What is held is bounded by the
/// largest WebSocket message times [`MOST_ATTACHMENTS`](super::MOST_ATTACHMENTS).
#[derive(Debug, Default)]
pub struct Inbox {
    /// A packet whose attachments are due, as it was read.
    text: String,
    due: u32,
    attachments: Vec<Vec<u8>>,
}

/// What a message of the server is, or completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery<'a> {
    /// Anything but a Socket.IO packet.
    Frame(Frame<'a>),
    /// A whole packet and its attachments.
    Packet(Packet<'a>, &'a [Vec<u8>]),
}

impl Inbox {
    /// Takes a text message. None when it announces attachments.
    ///
    /// # Errors
    /// When it is no packet, or attachments were due.
    pub fn text<'a>(&'a mut self, text: &'a str) -> Result<Option<Delivery<'a>>, Error> {
        let frame = Frame::parse(text)?;
        let Frame::Message(packet) = frame else { return Ok(Some(Delivery::Frame(frame))) };
        if self.due > 0 {
            return Err(Error::Order);
        }
        self.attachments.clear();
        if packet.attachments == 0 {
            return Ok(Some(Delivery::Packet(packet, &[])));
        }
        self.due = packet.attachments;
        text.clone_into(&mut self.text);
        Ok(None)
    }

    /// Takes a binary message: the packet that it completes, if it does.
    ///
    /// # Errors
    /// When none was due.
    pub fn binary(&mut self, data: &[u8]) -> Result<Option<Delivery<'_>>, Error> {
        self.due = self.due.checked_sub(1).ok_or(Error::Order)?;
        self.attachments.push(data.to_vec());
        if self.due > 0 {
            return Ok(None);
        }
        match Frame::parse(&self.text)? {
            Frame::Message(packet) => Ok(Some(Delivery::Packet(packet, &self.attachments))),
            frame => Ok(Some(Delivery::Frame(frame))),
        }
    }
}
