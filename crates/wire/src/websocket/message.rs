//! Whole messages.

use super::{Chunk, Kind};

/// A buffer no larger than this outlives its message, so that fragmented chatter does not allocate each time.
const KEPT: usize = 4 * 1024;

/// A whole message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its kind. If [`Kind::Text`], `data` is valid UTF-8.
    pub kind: Kind,
    /// Its content.
    pub data: &'a [u8],
}

/// Puts the chunks of one connection together. What arrives whole is passed through without a copy; the rest is bounded
/// by the decoder's largest message.
#[derive(Debug, Default)]
pub struct Assembler {
    parts: Vec<u8>,
}

impl Assembler {
    /// Adds a chunk; the message when that was its last.
    #[inline]
    pub fn push<'a>(&'a mut self, chunk: Chunk<'a>) -> Option<Message<'a>> {
        if chunk.first {
            self.parts.clear();
            self.parts.shrink_to(KEPT);
            if chunk.last {
                return Some(Message { kind: chunk.kind, data: chunk.data });
            }
        }
        self.parts.extend_from_slice(chunk.data);
        chunk.last.then_some(Message { kind: chunk.kind, data: &self.parts })
    }

    /// Gives the buffer back, for a connection that will be idle. Not in the middle of a message.
    pub fn release(&mut self) {
        self.parts = Vec::new();
    }
}
