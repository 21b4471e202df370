//! Engine.IO packets.

use super::{Error, Packet};

/// A packet in a text message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The server's first: a JSON object with `sid`, `pingInterval`, `pingTimeout` (ms) and `maxPayload` (bytes).
    Open(&'a str),
    /// The transport is to be closed.
    Close,
    /// To be answered with a pong of the same content.
    Ping(&'a str),
    /// The answer.
    Pong(&'a str),
    /// A Socket.IO packet.
    Message(Packet<'a>),
    /// The transport is to be changed; nothing over WebSocket.
    Upgrade,
    /// Nothing.
    Noop,
}

impl<'a> Frame<'a> {
    /// Reads a text message.
    ///
    /// # Errors
    /// When it is no packet.
    pub fn parse(text: &'a str) -> Result<Frame<'a>, Error> {
        let (kind, rest) = text.split_at_checked(1).ok_or(Error::Frame)?;
        match kind {
            "0" => Ok(Frame::Open(rest)),
            "1" => Ok(Frame::Close),
            "2" => Ok(Frame::Ping(rest)),
            "3" => Ok(Frame::Pong(rest)),
            "4" => Packet::parse(rest).map(Frame::Message),
            "5" => Ok(Frame::Upgrade),
            "6" => Ok(Frame::Noop),
            _ => Err(Error::Frame),
        }
    }

    /// Appends it as the content of a text message.
    pub fn write(&self, out: &mut String) {
        let (kind, rest) = match self {
            Frame::Open(text) => ('0', *text),
            Frame::Close => ('1', ""),
            Frame::Ping(text) => ('2', *text),
            Frame::Pong(text) => ('3', *text),
            Frame::Message(_) => ('4', ""),
            Frame::Upgrade => ('5', ""),
            Frame::Noop => ('6', ""),
        };
        out.push(kind);
        match self {
            Frame::Message(packet) => packet.write(out),
            _ => out.push_str(rest),
        }
    }
}
