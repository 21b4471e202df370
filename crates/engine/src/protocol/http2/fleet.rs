//! The connections of a thread, and who has a seat on them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use genkai_model::error::ErrorKind;
use genkai_model::load::Reuse;

use super::link::{Link, State};
use crate::protocol::core::Core;
use crate::transport::deadline::Slot;
use crate::transport::endpoint::Endpoint;

/// All connections of a thread to one target.
pub(crate) struct Fleet {
    pub(super) core: Rc<Core>,
    pub(super) endpoint: Rc<Endpoint>,
    /// Most requests at once on a connection.
    streams: u32,
    /// Each for one request only.
    pub(super) once: bool,
    links: RefCell<Vec<Rc<Link>>>,
    /// Connections there may be.
    most: u32,
    /// Streams a connection may have, as the server last said.
    allowed: Cell<u32>,
    /// Riders for whom there is no seat, and no further connection.
    waiting: RefCell<Vec<Rc<Slot>>>,
    /// What a server did that does not speak HTTP/2.
    pub(crate) instead: RefCell<String>,
}

impl Fleet {
    /// At most so many connections, each for so many requests at once.
    pub(crate) fn new(core: &Rc<Core>, endpoint: &Rc<Endpoint>, streams: u32, most: u32) -> Rc<Fleet> {
        Rc::new(Fleet {
            core: Rc::clone(core),
            endpoint: Rc::clone(endpoint),
            once: core.reuse == Reuse::PerRequest,
            streams,
            links: RefCell::default(),
            most,
            allowed: Cell::new(u32::MAX),
            waiting: RefCell::default(),
            instead: RefCell::default(),
        })
    }

    /// Takes a free seat, on the connection opened last that has one; else on a new connection, which `drive` is to open; none where
    /// there may be no more of them.
    pub(super) fn seat(&self, drive: impl FnOnce(&Rc<Link>)) -> Option<Rc<Link>> {
        let mut links = self.links.borrow_mut();
        if !self.once
            && let Some(link) = links.iter().rev().find(|link| link.has_seat())
        {
            link.riders.set(link.riders.get() + 1);
            return Some(Rc::clone(link));
        }
        if links.len() >= self.most as usize {
            return None;
        }
        let link = Rc::new(Link::new(self.seats(self.allowed.get())));
        link.riders.set(1);
        links.push(Rc::clone(&link));
        drive(&link);
        Some(link)
    }

    /// Seats of a connection on which the server allows so many streams.
    fn seats(&self, allowed: u32) -> u32 {
        if self.once { 1 } else { self.streams.min(allowed) }
    }

    /// The server allows so many streams on a connection.
    pub(super) fn allowed(&self, link: &Link, streams: u32) {
        self.allowed.set(streams);
        let seats = self.seats(streams);
        if link.room.replace(seats) < seats {
            self.call();
        }
    }

    /// Gives a seat back.
    pub(super) fn vacate(&self, link: &Link) {
        link.riders.set(link.riders.get() - 1);
        if self.once {
            link.leave();
        }
        self.call();
    }

    /// A connection is no more, or could not be made.
    pub(super) fn forget(&self, link: &Rc<Link>, failed: Option<ErrorKind>) {
        link.send.take();
        link.state.set(failed.map_or(State::Gone, State::Failed));
        self.links.borrow_mut().retain(|other| !Rc::ptr_eq(other, link));
        self.call();
    }

    /// Tells `slot` when there may be a seat.
    pub(super) fn tell(&self, slot: &Rc<Slot>) {
        self.waiting.borrow_mut().push(Rc::clone(slot));
    }

    /// Whether somebody waits for a seat. Who has made his request then gives his up.
    pub(super) fn is_wanted(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    fn call(&self) {
        if !self.waiting.borrow().is_empty() {
            self.waiting.take().iter().for_each(|slot| slot.wake());
        }
    }
}
