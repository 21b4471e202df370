//! One connection, as its requesters and its driver see it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bytes::Bytes;
use genkai_model::error::ErrorKind;
use h2::client::SendRequest;
use tokio::io::ReadBuf;

use super::fault::{Circumstances, Cut};
use crate::clock::Moment;
use crate::protocol::core::Core;
use crate::transport::deadline::Slot;

/// What is known of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not ready for requests yet.
    Opening,
    /// Takes requests.
    Open,
    /// Takes no more; those it carries go on.
    Leaving,
    /// It could not be opened.
    Failed(ErrorKind),
    /// Over.
    Gone,
}

/// A connection, as its requesters see it.
pub(super) struct SharedConnection {
    pub(super) state: Cell<State>,
    /// Where requests go; none unless it is open.
    pub(super) send: RefCell<Option<SendRequest<Bytes>>>,
    /// Requesters that have a stream.
    pub(super) requesters: Cell<u32>,
    /// Streams.
    pub(super) room: Cell<u32>,
    /// Requests being made.
    pub(super) active: Cell<u32>,
    /// Whether it has carried a response.
    pub(super) reused: Cell<bool>,
    /// When something was last read.
    pub(super) last_read: Cell<Moment>,
    pub(super) cut: Cell<Option<Cut>>,
    /// Whether the server has ended it by GOAWAY with an error.
    pub(super) blamed: Cell<bool>,
    /// Whether we ended it: what the server does then is its answer to that.
    given_up: Cell<bool>,
    /// Requesters to be told when it is open, or will not be.
    waiting: RefCell<Vec<Rc<Slot>>>,
    /// The driver's.
    pub(super) slot: RefCell<Option<Rc<Slot>>>,
    /// Where in the thread's buffer the bytes are that h2 has not taken; only while it is polled.
    tray: Cell<(usize, usize)>,
    /// Bytes h2 did not take in its last poll.
    left: RefCell<Vec<u8>>,
}

impl SharedConnection {
    /// A connection that is to be opened, with so many streams.
    pub(super) fn new(room: u32) -> SharedConnection {
        SharedConnection {
            state: Cell::new(State::Opening),
            send: RefCell::default(),
            requesters: Cell::new(0),
            room: Cell::new(room),
            active: Cell::new(0),
            reused: Cell::new(false),
            last_read: Cell::new(0),
            cut: Cell::new(None),
            blamed: Cell::new(false),
            given_up: Cell::new(false),
            waiting: RefCell::default(),
            slot: RefCell::default(),
            tray: Cell::default(),
            left: RefCell::default(),
        }
    }

    /// Whether there is a free stream.
    pub(super) fn has_free_stream(&self) -> bool {
        matches!(self.state.get(), State::Opening | State::Open) && self.requesters.get() < self.room.get()
    }

    /// What is known of an error on it.
    pub(super) fn circumstances(&self, started: bool) -> Circumstances {
        Circumstances { cut: self.cut.get(), blamed: self.blamed.get(), reused: self.reused.get(), started }
    }

    /// Takes no more requests, by our choice.
    pub(super) fn give_up(&self) {
        let is_ours = matches!(self.state.get(), State::Opening | State::Open) && self.cut.get().is_none();
        self.given_up.set(self.given_up.get() || is_ours);
        self.leave();
    }

    /// Whether the server ended it, by GOAWAY or by closing, before we did.
    pub(super) fn is_ended_by_server(&self) -> bool {
        !self.given_up.get() && (self.state.get() == State::Leaving || self.cut.get().is_some())
    }

    /// Takes no more requests, because it came to an end.
    pub(super) fn leave(&self) {
        if matches!(self.state.get(), State::Opening | State::Open) {
            self.state.set(State::Leaving);
        }
        self.send.take();
        // The driver sees to it that this comes to an end.
        self.slot.borrow().iter().for_each(|slot| slot.wake());
    }

    /// Tells `slot` when the connection has become open, or will not.
    pub(super) fn tell(&self, slot: &Rc<Slot>) {
        self.waiting.borrow_mut().push(Rc::clone(slot));
    }

    /// Wakes who waits for it.
    pub(super) fn call(&self) {
        self.waiting.take().iter().for_each(|slot| slot.wake());
    }

    /// Whether nothing has come yet.
    pub(super) fn is_new(&self) -> bool {
        self.last_read.get() == 0
    }

    /// The first end is the cause of later ones.
    pub(super) fn was_cut(&self, cut: Cut) {
        self.cut.set(self.cut.get().or(Some(cut)));
    }

    /// So many bytes are in the thread's buffer.
    pub(super) fn fetched(&self, now: Moment, bytes: usize) {
        self.last_read.set(now.max(1));
        self.tray.set((0, bytes));
    }

    /// Gives h2 what it has not taken yet; whether there was anything.
    pub(super) fn serve(&self, core: &Core, out: &mut ReadBuf<'_>) -> bool {
        let mut left = self.left.borrow_mut();
        if !left.is_empty() {
            let n = left.len().min(out.remaining());
            out.put_slice(&left[..n]);
            left.drain(..n);
            return true;
        }
        let (from, to) = self.tray.get();
        let n = (to - from).min(out.remaining());
        out.put_slice(&core.buffer.borrow()[from..from + n]);
        self.tray.set((from + n, to));
        n > 0
    }

    /// Before others use the thread's buffer.
    pub(super) fn stash(&self, core: &Core) {
        let (from, to) = self.tray.take();
        if from < to {
            self.left.borrow_mut().extend_from_slice(&core.buffer.borrow()[from..to]);
        }
    }
}
