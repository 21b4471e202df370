//! Messages of a connection that wait for who asks for them.

use std::collections::VecDeque;

use genkai_model::error::ErrorKind;
use genkai_wire::websocket::{Assembler, Chunk};

use crate::clock::Moment;
use crate::measure::ledger::Ledger;

/// Most messages that wait on one connection, and most bytes of them; the oldest make room.
const MOST: usize = 1_024;
const MOST_BYTES: usize = 1 << 20;

/// A message that came.
#[derive(Debug)]
pub(crate) struct InboxMessage {
    /// When its last byte was read.
    pub(crate) at: Moment,
    /// Its content.
    pub(crate) data: Vec<u8>,
}

/// Messages that came and were not asked for yet, in order.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    assembler: Assembler,
    waiting: VecDeque<InboxMessage>,
    bytes: usize,
    /// How the connection ended; what came before is still there to be taken.
    pub(super) ended: Option<ErrorKind>,
}

impl Inbox {
    /// Takes a part of a message.
    pub(super) fn take(&mut self, chunk: Chunk<'_>, now: Moment, ledger: &mut Ledger) {
        let Some(message) = self.assembler.push(chunk) else { return };
        self.bytes += message.data.len();
        self.waiting.push_back(InboxMessage { at: now, data: message.data.to_vec() });
        let mut unread = 0;
        while self.waiting.len() > MOST || self.bytes > MOST_BYTES && self.waiting.len() > 1 {
            self.bytes -= self.waiting.pop_front().map_or(0, |message| message.data.len());
            unread += 1;
        }
        if let Some(flows) = ledger.flows(now) {
            flows.counts.came += 1;
            flows.counts.unread += unread;
        }
    }

    /// The oldest.
    pub(super) fn next(&mut self) -> Option<InboxMessage> {
        let message = self.waiting.pop_front()?;
        self.bytes -= message.data.len();
        Some(message)
    }
}
