//! What waits to be written to one member.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::rc::Rc;

use genkai_wire::websocket::{Encoder, Kind, Role, Scratch};

/// Frames given to the kernel at once; Linux takes up to 1024 (`UIO_MAXIOV`), a few dozen fill a socket's usual buffer.
pub(super) const BATCH: usize = 64;

/// An encoded frame; the bytes of a message are shared by all who are to get it.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) bytes: Rc<[u8]>,
    pub(super) content: Content,
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A message for a member, at this place of the trace if it is traced.
    Delivery(Option<u64>),
    /// Ping, pong or close, or an answer to this member alone.
    Control,
}

/// A message in one frame.
pub(super) fn encoded(kind: Kind, data: &[u8]) -> Rc<[u8]> {
    let mut bytes = Vec::with_capacity(data.len() + 10);
    // It cannot fail on an encoder that has not closed and is not within a message.
    let _ = Encoder::new(Role::Server).message(&mut bytes, kind, data, 0, &mut Scratch::default());
    bytes.into()
}

/// A bounded queue of frames, of which the first may be partly written.
#[derive(Debug)]
pub(super) struct Outgoing {
    frames: VecDeque<Frame>,
    /// Bytes of the first frame that are written.
    offset: usize,
    /// Bytes not written.
    bytes: usize,
    limit: usize,
}

impl Outgoing {
    /// Takes up to `limit` bytes.
    pub(super) fn new(limit: usize) -> Outgoing {
        Outgoing { frames: VecDeque::new(), offset: 0, bytes: 0, limit }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Adds a frame; false when there is no room for it. An empty queue takes any.
    pub(super) fn push(&mut self, frame: &Frame) -> bool {
        if self.bytes + frame.bytes.len() > self.limit && !self.is_empty() {
            return false;
        }
        self.bytes += frame.bytes.len();
        self.frames.push_back(frame.clone());
        true
    }

    /// Adds a frame that is no delivery, whether there is room or not: there is never more than an answer to each frame read.
    pub(super) fn push_control(&mut self, bytes: Rc<[u8]>) {
        self.bytes += bytes.len();
        self.frames.push_back(Frame { bytes, content: Content::Control });
    }

    /// The next bytes to write: how many of `slices` are filled.
    pub(super) fn next<'a>(&'a self, slices: &mut [IoSlice<'a>; BATCH]) -> usize {
        let mut filled = 0;
        for (slice, frame) in slices.iter_mut().zip(&self.frames) {
            let from = if filled == 0 { self.offset } else { 0 };
            *slice = IoSlice::new(&frame.bytes[from..]);
            filled += 1;
        }
        filled
    }

    /// `n` bytes were written; `whole` gets the frames that now are.
    pub(super) fn wrote(&mut self, mut n: usize, mut whole: impl FnMut(Frame)) {
        self.bytes -= n;
        n += self.offset;
        while let Some(first) = self.frames.front()
            && n >= first.bytes.len()
        {
            n -= first.bytes.len();
            if let Some(frame) = self.frames.pop_front() {
                whole(frame);
            }
        }
        self.offset = n;
        if self.frames.is_empty() && self.frames.capacity() > BATCH {
            // A member that is up to date owns next to nothing.
            self.frames = VecDeque::new();
        }
    }

    /// Throws away what waits; a frame that is partly written stays, since nothing may follow half of one. `lost` gets the
    /// others.
    pub(super) fn give_up(&mut self, mut lost: impl FnMut(Frame)) {
        let kept = usize::from(self.offset > 0);
        for frame in self.frames.drain(kept..) {
            self.bytes -= frame.bytes.len();
            lost(frame);
        }
    }

    /// Throws away everything: all frames that were not wholly written.
    pub(super) fn end(&mut self, lost: impl FnMut(Frame)) {
        std::mem::take(&mut self.frames).into_iter().for_each(lost);
        (self.offset, self.bytes) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(length: usize, place: u64) -> Frame {
        Frame { bytes: vec![place as u8; length].into(), content: Content::Delivery(Some(place)) }
    }

    fn place(frame: Frame) -> u64 {
        let Content::Delivery(Some(place)) = frame.content else { panic!("a control frame") };
        place
    }

    fn gathered(outgoing: &Outgoing) -> Vec<u8> {
        let mut slices = [IoSlice::new(&[]); BATCH];
        let filled = outgoing.next(&mut slices);
        slices[..filled].iter().flat_map(|slice| slice.iter().copied()).collect()
    }

    proptest! {
        #[test]
        fn bytes_come_out_in_order_whatever_is_taken(
            lengths in proptest::collection::vec(1usize..40, 1..30),
            takes in proptest::collection::vec(1usize..50, 1..200),
        ) {
            let mut outgoing = Outgoing::new(usize::MAX);
            let frames: Vec<Frame> = lengths.iter().enumerate().map(|(i, n)| frame(*n, i as u64)).collect();
            let expected: Vec<u8> = frames.iter().flat_map(|f| f.bytes.iter().copied()).collect();
            prop_assert!(frames.iter().all(|frame| outgoing.push(frame)));
            let (mut came, mut whole) = (Vec::new(), Vec::new());
            for take in takes {
                let some = gathered(&outgoing);
                let n = take.min(some.len());
                came.extend_from_slice(&some[..n]);
                outgoing.wrote(n, |frame| whole.push(place(frame)));
            }
            prop_assert_eq!(&came[..], &expected[..came.len()]);
            let mut ends = lengths.iter().scan(0, |sum, n| { *sum += n; Some(*sum) });
            let finished = ends.by_ref().take_while(|end| *end <= came.len()).count() as u64;
            prop_assert_eq!(whole, (0..finished).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_full_queue_refuses_and_an_empty_one_takes_anything() {
        let mut outgoing = Outgoing::new(10);
        assert!(outgoing.push(&frame(50, 0)));
        assert!(!outgoing.push(&frame(1, 1)));
        outgoing.wrote(50, |_| ());
        assert!(outgoing.push(&frame(6, 2)) && outgoing.push(&frame(4, 3)) && !outgoing.push(&frame(1, 4)));
    }

    #[test]
    fn giving_up_keeps_the_frame_that_is_half_written() {
        let mut outgoing = Outgoing::new(100);
        assert!((0..3).all(|i| outgoing.push(&frame(10, i))));
        outgoing.wrote(4, |_| panic!("none is whole"));
        let mut lost = Vec::new();
        outgoing.give_up(|frame| lost.push(place(frame)));
        assert_eq!((lost, gathered(&outgoing)), (vec![1, 2], vec![0; 6]));
        let mut lost = Vec::new();
        outgoing.end(|frame| lost.push(place(frame)));
        assert_eq!((lost, outgoing.is_empty()), (vec![0], true));
    }
}
