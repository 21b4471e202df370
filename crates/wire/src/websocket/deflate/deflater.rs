//! Compression.

use flate2::{Compress, Compression, FlushCompress};

use super::{Direction, Effort, TAIL};
use crate::websocket::Scratch;

/// Compressor of one connection.
#[derive(Debug)]
pub(in crate::websocket) struct Deflater {
    of: Direction,
    effort: Effort,
    /// With takeover: from the first compressed message on. Without: between fragments of a compressed message.
    stream: Option<Compress>,
}

impl Deflater {
    pub(in crate::websocket) fn new(of: Direction, effort: Effort) -> Deflater {
        let effort = Effort { level: effort.level.min(9), ..effort };
        Deflater { of, effort, stream: None }
    }

    /// Whether to compress a message that begins with so many bytes, and `whole` ends with them. Nothing is not worth it,
    /// and a window of 8 bits cannot be had.
    pub(in crate::websocket) fn wants(&self, length: usize, whole: bool) -> bool {
        self.of.window_bits > 8 && (!whole || (length > 0 && length >= self.effort.threshold))
    }

    /// Appends `payload`, compressed, to `packed` (RFC 7692 section 7.2.1).
    pub(in crate::websocket) fn run(
        &mut self,
        payload: &[u8],
        last: bool,
        packed: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) {
        let setting = (self.effort.level, self.of.window_bits);
        let mut stream = self.stream.take().or_else(|| scratch.take_deflater(setting)).unwrap_or_else(|| {
            Compress::new_with_window_bits(Compression::new(u32::from(setting.0)), false, setting.1)
        });
        flush(&mut stream, payload, packed);
        if last {
            // A flush after a flush is empty; the receiver needs the first bits of the block whose rest it puts back.
            match packed.strip_suffix(&TAIL).map(<[u8]>::len) {
                Some(length) => packed.truncate(length),
                None => packed.push(0),
            }
        }
        if last && !self.of.takeover {
            scratch.give_deflater(setting, stream);
        } else {
            self.stream = Some(stream);
        }
    }
}

/// Compresses all of `payload` and flushes to a byte border.
fn flush(stream: &mut Compress, payload: &[u8], packed: &mut Vec<u8>) {
    let start = stream.total_in();
    loop {
        let used = (stream.total_in() - start) as usize;
        let left = &payload[used..];
        // More than zlib's own bound (deflateBound), so that once is enough; a flush cut short may be repeated.
        packed.reserve(left.len() + left.len() / 8 + left.len() / 64 + 64);
        let done = stream.compress_vec(left, packed, FlushCompress::Sync);
        debug_assert!(done.is_ok(), "compressing to memory");
        let all = (stream.total_in() - start) as usize == payload.len();
        if done.is_err() || (all && packed.len() < packed.capacity()) {
            return;
        }
    }
}
