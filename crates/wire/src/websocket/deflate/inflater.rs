//! Decompression.

use flate2::{Decompress, FlushDecompress, Status};

use super::Direction;
use crate::websocket::Scratch;

/// Decompressor of one connection. Its window has 32 KiB whatever was agreed on, because zlib-rs allocates no smaller one;
/// it understands all, and a peer that refers further back than agreed is understood too.
#[derive(Debug)]
pub(in crate::websocket) struct Inflater {
    takeover: bool,
    /// With takeover: from the first compressed message on. Without: during a compressed message.
    stream: Option<Decompress>,
}

/// What one run did.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::websocket) struct Ran {
    /// Bytes of input used.
    pub(in crate::websocket) used: usize,
    /// Bytes of output made.
    pub(in crate::websocket) made: usize,
    /// The input cannot be decompressed any further.
    pub(in crate::websocket) failed: bool,
}

impl Inflater {
    pub(in crate::websocket) fn new(of: Direction) -> Inflater {
        Inflater { takeover: of.takeover, stream: None }
    }

    /// Gets ready and says where to decompress to.
    pub(in crate::websocket) fn begin<'a>(&mut self, scratch: &'a mut Scratch) -> &'a mut [u8] {
        if self.stream.is_none() {
            self.stream = Some(scratch.take_inflater());
        }
        scratch.output_mut()
    }

    /// The message is over.
    pub(in crate::websocket) fn end(&mut self, scratch: &mut Scratch) {
        if !self.takeover
            && let Some(stream) = self.stream.take()
        {
            scratch.give_inflater(stream);
        }
    }

    /// Decompresses until `input` is used up or `output` is full.
    ///
    /// A block with BFINAL ends a stream of zlib's but not the message (RFC 7692 section 7.2.3.4): a new stream begins after
    /// it, with an empty window. A sender that goes on to refer to what was before such a block fails here.
    pub(in crate::websocket) fn run(&mut self, input: &[u8], output: &mut [u8]) -> Ran {
        let mut ran = Ran::default();
        let Some(stream) = self.stream.as_mut() else { return ran };
        loop {
            let before = (stream.total_in(), stream.total_out());
            let status = stream.decompress(&input[ran.used..], &mut output[ran.made..], FlushDecompress::None);
            let (used, made) = ((stream.total_in() - before.0) as usize, (stream.total_out() - before.1) as usize);
            ran.used += used;
            ran.made += made;
            let over = ran.used == input.len() || ran.made == output.len();
            match status {
                Ok(Status::StreamEnd) => stream.reset(false),
                // No progress although there is input and room: not known to happen, must not hang.
                Ok(_) => ran.failed = !over && used == 0 && made == 0,
                Err(_) => ran.failed = true,
            }
            if over || ran.failed {
                return ran;
            }
        }
    }
}
