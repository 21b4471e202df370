//! Payloads of data frames, as they are and compressed.

use super::{Decoder, Found, Place, State};
use crate::websocket::deflate::TAIL;
use crate::websocket::{Error, Kind, Scratch, mask};

/// Compressed bytes unmasked at once. What the decompressor leaves of them because its output is full is masked again, so
/// that an unused byte is always as it was read; few, so that this costs little when a message expands a lot.
const AT_ONCE: usize = 4 * 1024;

impl Decoder {
    /// Takes what `bytes` have of the payload of an uncompressed frame.
    #[inline]
    pub(super) fn plain(&mut self, at: &mut usize, bytes: &mut [u8]) -> Result<Option<Found>, Error> {
        let State::Data { left, mask, last } = &mut self.state else { return Ok(None) };
        let from = *at;
        let count = shorter(*left, bytes.len() - from);
        *at += count;
        *left -= count as u64;
        let part = &mut bytes[from..*at];
        if self.masked {
            *mask = mask::apply(part, *mask);
        }
        let (over, last) = (*left == 0, *left == 0 && *last);
        if over {
            self.state = State::START;
        }
        if self.message == Some(Kind::Text) {
            self.utf8.push(part)?;
        }
        self.chunk(Place::Input(from, *at), count, last)
    }

    /// Decompresses what `bytes` have of the payload of a compressed frame, as much as the scratch buffer holds.
    pub(super) fn expand(
        &mut self,
        at: &mut usize,
        bytes: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<Option<Found>, Error> {
        let Some(inflater) = self.inflater.as_deref_mut() else { return Ok(None) };
        let output = inflater.begin(scratch);
        let (mut made, mut failed, mut last) = (0, false, false);
        if let State::Data { left, mask: key, .. } = &mut self.state {
            while *left > 0 && *at < bytes.len() && made < output.len() && !failed {
                let count = shorter(*left, (bytes.len() - *at).min(AT_ONCE));
                let part = &mut bytes[*at..*at + count];
                mask::apply(part, *key);
                let ran = inflater.run(part, &mut output[made..]);
                *key = mask::advance(*key, ran.used);
                mask::apply(&mut part[ran.used..], *key);
                *at += ran.used;
                *left -= ran.used as u64;
                made += ran.made;
                failed = ran.failed;
            }
        }
        if let State::Data { left: 0, last, .. } = self.state {
            self.state = if last { State::Tail { fed: 0 } } else { State::START };
        }
        if let State::Tail { fed } = &mut self.state {
            while made < output.len() && !failed && !last {
                let ran = inflater.run(&TAIL[usize::from(*fed)..], &mut output[made..]);
                *fed += ran.used as u8;
                made += ran.made;
                failed = ran.failed;
                last = usize::from(*fed) == TAIL.len() && made < output.len();
            }
        }
        // What came out before the failure counts first: the outcome must not depend on how the bytes were cut.
        self.grow(made as u64)?;
        if self.message == Some(Kind::Text) {
            self.utf8.push(scratch.output(made))?;
        }
        if failed {
            return Err(Error::Deflate);
        }
        if last {
            self.state = State::START;
            self.end_inflating(scratch);
        }
        self.chunk(Place::Output(made), made, last)
    }

    fn end_inflating(&mut self, scratch: &mut Scratch) {
        if let Some(inflater) = self.inflater.as_deref_mut() {
            inflater.end(scratch);
        }
    }

    /// A chunk of so many bytes, unless it would say nothing.
    #[inline]
    fn chunk(&mut self, place: Place, count: usize, last: bool) -> Result<Option<Found>, Error> {
        let Some(kind) = self.message else { return Ok(None) };
        if last {
            self.utf8.finish()?;
            self.message = None;
        } else if count == 0 {
            return Ok(None);
        }
        let first = !std::mem::replace(&mut self.begun, true);
        Ok(Some(Found::Data { place, kind, first, last }))
    }
}

/// The smaller one.
#[inline]
fn shorter(left: u64, available: usize) -> usize {
    usize::try_from(left).map_or(available, |left| left.min(available))
}
