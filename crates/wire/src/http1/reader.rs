//! Receives one response, for a client that keeps nothing of it.

use super::{BodyDecoder, Error, MAX_HEAD, MAX_INTERIM, Memo, ResponseHead};

/// From this length on an incomplete head is looked at only when another line of it has ended: each look starts again.
const PATIENT: usize = 16 * 1024;

/// Receives the response to one request from slices, in any split: interim responses, head, body. Holds no buffer unless
/// a head was cut in two.
#[derive(Debug)]
pub struct ResponseReader {
    stage: Stage,
    to_head: bool,
    /// Whether 101 is an answer.
    upgrading: bool,
    interim: u8,
    started: bool,
    /// Whether bytes came with its end that are no part of it.
    surplus: bool,
    /// The beginning of a head whose end has not arrived.
    carry: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Head,
    Body(ResponseHead, BodyDecoder),
    Over(Received),
}

/// A response that arrived whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Status code, see [`ResponseHead::status`].
    pub status: u16,
    /// Whether the connection can carry another request.
    pub persistent: bool,
}

/// Where a response is after a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes must come.
    More,
    /// It is whole.
    Done(Received),
}

/// What the peer's closing of the connection means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The response was one that lasts until close: it is whole.
    Done(Received),
    /// Nothing of a response had arrived.
    Nothing,
    /// The response is cut short.
    Truncated,
}

impl ResponseReader {
    /// For the response to one request; `to_head` when the request is a HEAD.
    pub fn new(to_head: bool) -> ResponseReader {
        ResponseReader {
            stage: Stage::Head,
            to_head,
            upgrading: false,
            interim: 0,
            started: false,
            surplus: false,
            carry: Vec::new(),
        }
    }

    /// For a request that asks for an upgrade: 101 is an answer to it, after which the connection is not HTTP any more.
    #[must_use]
    pub fn upgrading(self) -> ResponseReader {
        ResponseReader { upgrading: true, ..self }
    }

    /// Whether bytes came with the end of the response that are no part of it, without which the connection could have been kept.
    pub fn surplus(&self) -> bool {
        self.surplus
    }

    /// Whether any byte has arrived.
    pub fn started(&self) -> bool {
        self.started
    }

    /// Takes the bytes that arrived, all of them. After [`Progress::Done`] every further byte is [`Error::Surplus`].
    ///
    /// # Errors
    /// When the bytes are not a response. What follows its end is no part of it: this client sends one request at a time, so that nobody can say
    /// what it is, and the connection is not persistent (RFC 9112, 6.3).
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Progress, Error> {
        self.receive_with(bytes, &mut Memo::default())
    }

    /// The same with the memory of heads that many readers share.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    #[inline]
    pub fn receive_with(&mut self, bytes: &[u8], memo: &mut Memo) -> Result<Progress, Error> {
        self.receive_into(bytes, memo, |_| {})
    }

    /// The same, with every run of the body's content handed to `take` in order, transfer coding removed.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    #[inline]
    pub fn receive_into(
        &mut self,
        bytes: &[u8],
        memo: &mut Memo,
        mut take: impl FnMut(&[u8]),
    ) -> Result<Progress, Error> {
        self.started |= !bytes.is_empty();
        if self.carry.is_empty() {
            let (used, progress) = self.advance(bytes, memo, &mut take)?;
            if used < bytes.len() {
                self.carry.extend_from_slice(&bytes[used..]);
            }
            return Ok(progress);
        }
        let mut carry = std::mem::take(&mut self.carry);
        carry.extend_from_slice(bytes);
        if (PATIENT..MAX_HEAD).contains(&carry.len()) && memchr::memchr(b'\n', bytes).is_none() {
            self.carry = carry;
            return Ok(Progress::More);
        }
        let (used, progress) = self.advance(&carry, memo, &mut take)?;
        if used < carry.len() {
            carry.drain(..used);
            self.carry = carry;
        }
        Ok(progress)
    }

    /// The peer closed its side.
    pub fn close(&self) -> Ending {
        match &self.stage {
            Stage::Body(head, body) if body.ends_at_close() => {
                Ending::Done(Received { status: head.status, persistent: false })
            }
            _ if self.started => Ending::Truncated,
            _ => Ending::Nothing,
        }
    }

    /// Goes as far as `bytes` allow; what it leaves unused is the beginning of a head.
    #[inline]
    fn advance(
        &mut self,
        bytes: &[u8],
        memo: &mut Memo,
        take: &mut impl FnMut(&[u8]),
    ) -> Result<(usize, Progress), Error> {
        let mut at = 0;
        loop {
            match &mut self.stage {
                Stage::Head => {
                    let Some(head) = memo.parse(&bytes[at..], self.to_head)? else {
                        return Ok((at, Progress::More));
                    };
                    at += head.length;
                    if head.status == 101 && !self.upgrading {
                        return Err(Error::Unasked);
                    }
                    if head.interim() {
                        self.interim += 1;
                        if self.interim > MAX_INTERIM {
                            return Err(Error::TooManyInterim);
                        }
                    } else {
                        self.stage = Stage::Body(head, BodyDecoder::new(head.framing));
                    }
                }
                Stage::Body(head, body) => {
                    let (used, done) = body.each(&bytes[at..], &mut *take)?;
                    at += used;
                    if !done {
                        return Ok((at, Progress::More));
                    }
                    let clean = at == bytes.len();
                    self.surplus = head.persistent && !clean;
                    let received = Received { status: head.status, persistent: head.persistent && clean };
                    self.stage = Stage::Over(received);
                    return Ok((bytes.len(), Progress::Done(received)));
                }
                Stage::Over(received) if bytes.is_empty() => return Ok((at, Progress::Done(*received))),
                Stage::Over(_) => return Err(Error::Surplus),
            }
        }
    }
}
