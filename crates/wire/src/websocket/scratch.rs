//! What the connections of a thread share.

use flate2::{Compress, Decompress};

/// Bytes decompressed at once, that is, the longest chunk of a compressed message.
const OUTPUT: usize = 16 * 1024;

/// Idle compression states kept for reuse, of each kind; as many are in use as connections are in the middle of a
/// compressed message, and few ever are.
const KEPT: usize = 16;

/// Buffers larger than this are given back after use.
const MAX_KEPT_BUFFER: usize = 1024 * 1024;

/// What the connections of a thread need only while bytes of theirs are decoded or encoded: make one, pass it to all. It
/// allocates nothing until something is compressed.
#[derive(Debug, Default)]
pub struct Scratch {
    output: Vec<u8>,
    packed: Vec<u8>,
    inflaters: Vec<Decompress>,
    deflaters: Vec<(Setting, Compress)>,
}

/// What tells one compressor from another: level and window bits.
type Setting = (u8, u8);

impl Scratch {
    /// The first `len` bytes of what was decompressed last.
    pub(super) fn output(&self, len: usize) -> &[u8] {
        &self.output[..len]
    }

    /// Where to decompress to.
    pub(super) fn output_mut(&mut self) -> &mut [u8] {
        self.output.resize(OUTPUT, 0);
        &mut self.output
    }

    /// A decompressor without context, with the largest window: it understands every smaller one.
    pub(super) fn take_inflater(&mut self) -> Decompress {
        self.inflaters.pop().unwrap_or_else(|| Decompress::new(false))
    }

    /// Keeps a decompressor that is not needed any more.
    pub(super) fn give_inflater(&mut self, mut inflater: Decompress) {
        if self.inflaters.len() < KEPT {
            inflater.reset(false);
            self.inflaters.push(inflater);
        }
    }

    /// A compressor of this setting without context.
    pub(super) fn take_deflater(&mut self, setting: Setting) -> Option<Compress> {
        let at = self.deflaters.iter().position(|(of, _)| *of == setting)?;
        Some(self.deflaters.swap_remove(at).1)
    }

    /// Keeps a compressor that is not needed any more.
    pub(super) fn give_deflater(&mut self, setting: Setting, mut deflater: Compress) {
        if self.deflaters.len() < KEPT {
            deflater.reset();
            self.deflaters.push((setting, deflater));
        }
    }

    /// An empty buffer to compress to.
    pub(super) fn take_packed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.packed)
    }

    /// Keeps that buffer.
    pub(super) fn give_packed(&mut self, mut packed: Vec<u8>) {
        if packed.capacity() <= MAX_KEPT_BUFFER {
            packed.clear();
            self.packed = packed;
        }
    }
}
