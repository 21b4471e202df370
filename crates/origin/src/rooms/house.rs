//! All rooms of a node, and what a message does in them.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use genkai_model::rooms::{LOST, RECEIVED, RETURNED};
use genkai_wire::websocket::{Encoder, Kind, Role, Scratch};
use tokio::sync::Notify;

use super::app::App;
use super::backplane::Backplane;
use super::counters::Counters;
use super::member::{Books, Member};
use super::outgoing::{Content, Frame, encoded};
use super::room::Room;
use super::trace::Trace;
use super::{SLOW, Spec};
use crate::socket::{self, Buffer};

/// What all connections of a node share.
pub(super) struct House {
    pub(super) spec: Spec,
    pub(super) counters: Arc<Counters>,
    pub(super) trace: RefCell<Trace>,
    pub(super) buffer: Buffer,
    /// Borrowed only between two waits.
    pub(super) scratch: RefCell<Scratch>,
    /// The way to the other nodes, once it is known.
    pub(super) backplane: OnceCell<Backplane>,
    pub(super) app: App,
    rooms: RefCell<HashMap<Box<str>, Rc<Room>>>,
    /// Members with something to be written.
    dirty: RefCell<Vec<Rc<Member>>>,
    something: Notify,
    heard: Cell<u64>,
}

impl House {
    pub(super) fn new(spec: Spec, counters: Arc<Counters>) -> House {
        House {
            counters,
            trace: RefCell::new(Trace::new(spec.trace)),
            buffer: socket::buffer(),
            scratch: RefCell::default(),
            backplane: OnceCell::new(),
            app: App::default(),
            rooms: RefCell::default(),
            dirty: RefCell::default(),
            something: Notify::new(),
            heard: Cell::new(0),
            spec,
        }
    }

    pub(super) fn books(&self) -> Books<'_> {
        Books { counters: &self.counters, trace: &self.trace }
    }

    /// Lets a member into a room.
    pub(super) fn enter(&self, name: &str, member: &Rc<Member>) {
        self.rooms.borrow_mut().entry(name.into()).or_default().enter(member);
        self.counters.joined.add(1);
        if let Some(number) = member.number {
            self.trace.borrow_mut().joined(number);
        }
    }

    /// A member is gone: what still waits for it is lost, and an empty room is no more.
    pub(super) fn leave(&self, name: &str, member: &Rc<Member>) {
        member.end(&self.books());
        let mut rooms = self.rooms.borrow_mut();
        let Some(room) = rooms.get(name) else { return };
        if room.leave(member) {
            self.gone(member);
        }
        if room.is_empty() {
            rooms.remove(name);
        }
    }

    /// A member is not in its room any more.
    fn gone(&self, member: &Member) {
        self.counters.left.add(1);
        if let Some(number) = member.number {
            self.trace.borrow_mut().left(number);
        }
    }

    /// A member sent a message.
    pub(super) fn received(&self, name: &str, kind: Kind, data: &[u8]) {
        self.counters.received.add(1);
        self.heard.set(self.heard.get() + 1);
        let place = self.trace.borrow_mut().message(data, RECEIVED);
        if self.spec.lose_every.is_some_and(|every| self.heard.get().is_multiple_of(every)) {
            self.counters.lost_inside.add(1);
            self.trace.borrow_mut().hop(place, LOST);
            return;
        }
        match self.backplane.get() {
            Some(backplane) if backplane.publish(name, kind, data, place) => {}
            Some(_) => self.counters.unpublished.add(1),
            None => self.deliver(name, kind, data, place),
        }
    }

    /// A message came from Redis.
    pub(super) fn returned(&self, name: &str, kind: Kind, data: &[u8]) {
        self.counters.returned.add(1);
        let place = self.trace.borrow_mut().message(data, RETURNED);
        self.deliver(name, kind, data, place);
    }

    /// Queues a message for all members of a room.
    pub(super) fn deliver(&self, name: &str, kind: Kind, data: &[u8], place: Option<u64>) {
        let Some(room) = self.rooms.borrow().get(name).map(Rc::clone) else { return };
        let frame = Frame { bytes: encoded(kind, data), content: Content::Delivery(place) };
        let (mut queued, mut slow) = (0, Vec::new());
        room.for_each(|member| {
            if !member.offer(&frame) {
                slow.push(Rc::clone(member));
                return;
            }
            queued += 1;
            self.list(member);
        });
        self.counters.queued.add(u64::from(queued));
        if place.is_some() {
            self.trace.borrow_mut().queued(place, queued + slow.len() as u32);
        }
        for member in slow {
            self.disconnect(&room, &member, &frame);
        }
    }

    /// Disconnects a member for which there is no room in its queue; `frame` is what did not fit.
    fn disconnect(&self, room: &Room, member: &Rc<Member>, frame: &Frame) {
        let mut close = Vec::new();
        // It cannot fail: the code may be sent, the reason is short, nothing was closed before.
        let _ = Encoder::new(Role::Server).close(&mut close, Some(SLOW), 0);
        room.leave(member);
        self.gone(member);
        self.counters.queued.add(1);
        self.books().dropped(frame, member.number, super::trace::Why::Slow);
        member.give_up(close, &self.books());
    }

    /// Sends frames to one member: it asked.
    pub(super) fn answer(&self, member: &Rc<Member>, frames: Vec<Rc<[u8]>>) {
        for frame in frames {
            member.control(frame);
            self.list(member);
        }
    }

    /// Has what waits for `member` written soon.
    pub(super) fn list(&self, member: &Rc<Member>) {
        if member.must_be_listed() {
            self.dirty.borrow_mut().push(Rc::clone(member));
            self.something.notify_one();
        }
    }

    /// Writes what members are to get, for ever. It has its turn after those who have something to say: what they say in the
    /// meantime is written together.
    pub(super) async fn flush(&self) {
        loop {
            self.something.notified().await;
            let dirty = std::mem::take(&mut *self.dirty.borrow_mut());
            for member in dirty {
                match member.write(&self.books()) {
                    Ok(true) => {}
                    Ok(false) => member.changed.notify_one(),
                    Err(_) => member.fail(),
                }
            }
        }
    }
}
