//! permessage-deflate (RFC 7692).
//!
//! Each direction has its own context: a window of up to 32 KiB that outlives messages ("context takeover") unless the
//! handshake says otherwise. With takeover a compressor costs 380 KB (250 KB with the smallest window) and a decompressor
//! 48 KB for each connection, from its first compressed message on; without, the thread's [`Scratch`](super::Scratch) has
//! a few for all.
//!
//! Senders keep to windows of 9 to 15 bits, and need less memory for smaller ones. 8 bits, which RFC 7692 allows but zlib's
//! raw format does not, is agreed to and kept by sending uncompressed messages, as an endpoint may do at any time (section
//! 6).

mod deflater;
mod inflater;
mod negotiate;

pub(super) use deflater::Deflater;
pub(super) use inflater::Inflater;
pub(super) use negotiate::NAME;

/// What a sender takes from the end of a message and a receiver puts back: an empty stored block without its first bits
/// (section 7.2.1).
pub(super) const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];

/// One direction, from the one who compresses to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    /// Whether the window outlives messages (sections 7.1.1.1 and 7.1.1.2).
    pub takeover: bool,
    /// Size of the window as a power of two: 8 to 15 (sections 7.1.2.1 and 7.1.2.2).
    pub window_bits: u8,
}

impl Default for Direction {
    /// What holds when nothing is said: takeover, 15 bits.
    fn default() -> Direction {
        Direction { takeover: true, window_bits: 15 }
    }
}

/// What a client offers, or the most a server agrees to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// From server to client.
    pub server: Direction,
    /// From client to server.
    pub client: Direction,
}

/// What both sides agreed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// From server to client.
    pub server: Direction,
    /// From client to server.
    pub client: Direction,
}

/// How much to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// 0 (stored) to 9 (smallest); higher counts as 9.
    pub level: u8,
    /// Messages shorter than this are sent as they are, bytes. A message in fragments is compressed in any case.
    pub threshold: usize,
}

impl Default for Effort {
    /// zlib's own default level, 6, and everything compressed.
    fn default() -> Effort {
        Effort { level: 6, threshold: 0 }
    }
}
