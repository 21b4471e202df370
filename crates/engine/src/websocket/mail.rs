//! Messages of a connection that wait for who asks for them.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, ready};

use genkai_model::error::ErrorKind;
use genkai_wire::websocket::{Assembler, Chunk};

use super::session::Session;
use crate::clock::Moment;
use crate::ledger::Ledger;

/// Most messages that wait on one connection, and most bytes of them; the oldest make room.
const MOST: usize = 1_024;
const MOST_BYTES: usize = 1 << 20;

/// A message that came.
#[derive(Debug)]
pub(crate) struct Letter {
    /// When its last byte was read.
    pub(crate) at: Moment,
    /// Its content.
    pub(crate) data: Vec<u8>,
}

/// Messages that came and were not asked for yet, in order.
#[derive(Debug, Default)]
pub(super) struct Mail {
    assembler: Assembler,
    waiting: VecDeque<Letter>,
    bytes: usize,
    /// How the connection ended; what came before is still there to be taken.
    ended: Option<ErrorKind>,
}

impl Mail {
    /// Takes a part of a message.
    pub(super) fn take(&mut self, chunk: Chunk<'_>, now: Moment, ledger: &mut Ledger) {
        let Some(message) = self.assembler.push(chunk) else { return };
        self.bytes += message.data.len();
        self.waiting.push_back(Letter { at: now, data: message.data.to_vec() });
        let mut unread = 0;
        while self.waiting.len() > MOST || self.bytes > MOST_BYTES && self.waiting.len() > 1 {
            self.bytes -= self.waiting.pop_front().map_or(0, |letter| letter.data.len());
            unread += 1;
        }
        if let Some(flows) = ledger.flows(now) {
            flows.counts.came += 1;
            flows.counts.unread += unread;
        }
    }

    fn next(&mut self) -> Option<Letter> {
        let letter = self.waiting.pop_front()?;
        self.bytes -= letter.data.len();
        Some(letter)
    }
}

impl Session {
    /// Waits for the next message, until `until`; none when the load ends before.
    ///
    /// # Errors
    /// When the connection has ended, or no message came in time.
    pub(crate) async fn next_letter(&mut self, until: Moment) -> Result<Option<Letter>, ErrorKind> {
        self.connection.slot().arm(until);
        let got = poll_fn(|cx| {
            self.connection.slot().attend(cx.waker());
            loop {
                let Some(mail) = self.mail() else { return Poll::Ready(Err(ErrorKind::Closed)) };
                match (mail.next(), mail.ended) {
                    (Some(letter), _) => return Poll::Ready(Ok(Some(letter))),
                    (None, Some(kind)) => return Poll::Ready(Err(kind)),
                    (None, None) => {}
                }
                if self.core().is_ending() {
                    return Poll::Ready(Ok(None));
                }
                if self.connection.slot().expired() {
                    return Poll::Ready(Err(ErrorKind::Timeout));
                }
                if let Err(kind) = ready!(self.poll_step(cx)) {
                    match self.mail() {
                        Some(mail) => mail.ended = Some(kind),
                        None => return Poll::Ready(Err(kind)),
                    }
                }
            }
        })
        .await;
        self.connection.slot().disarm();
        got
    }

    /// Waits until the socket has taken everything that was said. What is heard meanwhile is kept.
    ///
    /// # Errors
    /// When the connection has ended, or the socket took nothing in the load's timeout.
    pub(crate) async fn flush(&mut self) -> Result<(), ErrorKind> {
        if self.is_flushed() {
            return Ok(());
        }
        let until = self.core().clock.now().saturating_add(self.core().timeout);
        self.connection.slot().arm(until);
        let flushed = poll_fn(|cx| {
            self.connection.slot().attend(cx.waker());
            while !self.is_flushed() && !self.core().is_ending() {
                if self.connection.slot().expired() {
                    return Poll::Ready(Err(ErrorKind::Timeout));
                }
                ready!(self.poll_step(cx))?;
            }
            Poll::Ready(Ok(()))
        })
        .await;
        self.connection.slot().disarm();
        flushed
    }
}
