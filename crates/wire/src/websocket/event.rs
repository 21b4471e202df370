//! What a peer did.

use super::{Close, Kind};

/// Something the peer did. Payloads are where they were read, or in the thread's scratch buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A part of a message.
    Data(Chunk<'a>),
    /// A ping: answer it with a pong of the same payload (RFC 6455 section 5.5.2).
    Ping(&'a [u8]),
    /// A pong, asked for or not (RFC 6455 section 5.5.3).
    Pong(&'a [u8]),
    /// The peer closes: answer with [`Close::answer`] unless this side has sent a close frame (RFC 6455 section 5.5.1).
    /// Nothing that follows is decoded.
    Close(Close<'a>),
}

/// A part of a message: as much as has arrived, whole where it arrived whole. Its borders are not those of frames. Text is
/// valid UTF-8 up to a sequence cut at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Kind of the message.
    pub kind: Kind,
    /// Its next bytes, unmasked and decompressed. Empty only in the last chunk.
    pub data: &'a [u8],
    /// Whether the message begins here.
    pub first: bool,
    /// Whether it ends here.
    pub last: bool,
}
