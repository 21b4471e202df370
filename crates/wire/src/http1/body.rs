//! Bodies: which bytes belong to them, and where they end.

use super::chunked::Chunked;
use super::{Error, Framing};

/// Finds the end of one body. It copies nothing: it says which part of a slice is content.
#[derive(Clone, Copy, Debug)]
pub struct BodyDecoder(State);

#[derive(Clone, Copy, Debug)]
enum State {
    Length(u64),
    Chunked(Chunked),
    UntilClose,
}

/// What a slice holds, from its start: `framing` bytes to ignore, then `data` bytes of content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Bytes that belong to the message but are not content (chunk sizes, trailers).
    pub framing: usize,
    /// Bytes of content after them.
    pub data: usize,
    /// The body ended with this part; the next message begins after it.
    pub done: bool,
}

impl BodyDecoder {
    /// For a body of this framing.
    pub fn new(framing: Framing) -> BodyDecoder {
        BodyDecoder(match framing {
            Framing::Empty => State::Length(0),
            Framing::Length(n) => State::Length(n),
            Framing::Chunked => State::Chunked(Chunked::new()),
            Framing::UntilClose => State::UntilClose,
        })
    }

    /// Whether the body is over. True from the start for an empty one.
    pub fn done(&self) -> bool {
        match &self.0 {
            State::Length(left) => *left == 0,
            State::Chunked(chunked) => chunked.done(),
            State::UntilClose => false,
        }
    }

    /// The next part of the body in `input`. Call again with what follows the part until it is done or `input` is used
    /// up; a part never has more than one run of content.
    ///
    /// # Errors
    /// When chunked coding is violated.
    pub fn decode(&mut self, input: &[u8]) -> Result<Part, Error> {
        match &mut self.0 {
            State::Length(left) => {
                let data = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                *left -= data as u64;
                Ok(Part { framing: 0, data, done: *left == 0 })
            }
            State::Chunked(chunked) => {
                let framing = chunked.framing(input)?;
                let data = chunked.data(&input[framing..]);
                Ok(Part { framing, data, done: chunked.done() })
            }
            State::UntilClose => Ok(Part { framing: 0, data: input.len(), done: false }),
        }
    }

    /// Skips over the body: how many bytes of `input` belong to it, and whether it ended there.
    ///
    /// # Errors
    /// When chunked coding is violated.
    pub fn skip(&mut self, input: &[u8]) -> Result<(usize, bool), Error> {
        self.each(input, |_| {})
    }

    /// As [`skip`](Self::skip), with every run of content handed to `take`.
    ///
    /// # Errors
    /// When chunked coding is violated.
    #[inline]
    pub fn each(&mut self, input: &[u8], mut take: impl FnMut(&[u8])) -> Result<(usize, bool), Error> {
        let mut used = 0;
        loop {
            let part = self.decode(&input[used..])?;
            used += part.framing;
            take(&input[used..used + part.data]);
            used += part.data;
            if part.done || used == input.len() {
                return Ok((used, part.done));
            }
        }
    }

    /// The connection was closed by the peer: whether that is how this body ends (RFC 9112 section 8).
    pub fn ends_at_close(&self) -> bool {
        matches!(self.0, State::UntilClose) || self.done()
    }
}
