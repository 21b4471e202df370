//! The connections of a thread, and who has a stream on them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use genkai_model::error::ErrorKind;
use genkai_model::load::Reuse;

use super::shared::{SharedConnection, State};
use crate::protocol::core::Core;
use crate::transport::deadline::Slot;
use crate::transport::endpoint::Endpoint;

/// All connections of a thread to one target.
pub(crate) struct Pool {
    pub(super) core: Rc<Core>,
    pub(super) endpoint: Rc<Endpoint>,
    /// Most requests at once on a connection.
    streams: u32,
    /// Each for one request only.
    pub(super) once: bool,
    connections: RefCell<Vec<Rc<SharedConnection>>>,
    /// Connections there may be.
    most: u32,
    /// Whether requests are planned at a rate: who waits for a stream then has not sent one.
    is_planned: bool,
    /// Streams a connection may have, as the server last said.
    allowed: Cell<u32>,
    /// Requesters for whom there is no stream, and no further connection.
    waiting: RefCell<Vec<Rc<Slot>>>,
    /// What a server did that does not speak HTTP/2.
    pub(crate) instead: RefCell<String>,
}

impl Pool {
    /// At most so many connections, each for so many requests at once, which are planned at a rate or not.
    pub(crate) fn new(
        core: &Rc<Core>,
        endpoint: &Rc<Endpoint>,
        (streams, most): (u32, u32),
        is_planned: bool,
    ) -> Rc<Pool> {
        Rc::new(Pool {
            is_planned,
            core: Rc::clone(core),
            endpoint: Rc::clone(endpoint),
            once: core.reuse == Reuse::PerRequest,
            streams,
            connections: RefCell::default(),
            most,
            allowed: Cell::new(u32::MAX),
            waiting: RefCell::default(),
            instead: RefCell::default(),
        })
    }

    /// Takes a free stream, on the connection opened last that has one; else on a new connection, which `drive` is to open; none where
    /// there may be no more of them.
    pub(super) fn acquire(&self, drive: impl FnOnce(&Rc<SharedConnection>)) -> Option<Rc<SharedConnection>> {
        let mut connections = self.connections.borrow_mut();
        if !self.once
            && let Some(shared) = connections.iter().rev().find(|shared| shared.has_free_stream())
        {
            shared.requesters.set(shared.requesters.get() + 1);
            return Some(Rc::clone(shared));
        }
        if connections.len() >= self.most as usize {
            return None;
        }
        let shared = Rc::new(SharedConnection::new(self.streams_of(self.allowed.get())));
        shared.requesters.set(1);
        connections.push(Rc::clone(&shared));
        drive(&shared);
        Some(shared)
    }

    /// Streams of a connection on which the server allows so many streams.
    fn streams_of(&self, allowed: u32) -> u32 {
        if self.once { 1 } else { self.streams.min(allowed) }
    }

    /// The server allows so many streams on a connection.
    pub(super) fn allowed(&self, shared: &SharedConnection, streams: u32) {
        self.allowed.set(streams);
        let streams = self.streams_of(streams);
        if shared.room.replace(streams) < streams {
            self.call();
        }
    }

    /// Gives a stream back.
    pub(super) fn release(&self, shared: &SharedConnection) {
        shared.requesters.set(shared.requesters.get() - 1);
        if self.once {
            shared.give_up();
        }
        self.call();
    }

    /// A connection is no more, or could not be made.
    pub(super) fn forget(&self, shared: &Rc<SharedConnection>, failed: Option<ErrorKind>) {
        shared.send.take();
        shared.state.set(failed.map_or(State::Gone, State::Failed));
        self.connections.borrow_mut().retain(|other| !Rc::ptr_eq(other, shared));
        self.call();
    }

    /// Tells `slot` when there may be a stream; `queued` is whether it was counted that its request waits for one, where that is counted.
    pub(super) fn tell(&self, slot: &Rc<Slot>, queued: &mut bool) {
        if self.is_planned && !std::mem::replace(queued, true) {
            self.core.ledger.borrow_mut().queued();
            slot.not_asked();
        }
        self.waiting.borrow_mut().push(Rc::clone(slot));
    }

    /// Whether somebody waits for a stream. Who has made his request then gives his up.
    pub(super) fn is_wanted(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    fn call(&self) {
        if !self.waiting.borrow().is_empty() {
            self.waiting.take().iter().for_each(|slot| slot.wake());
        }
    }
}
