//! Members and what is known of each.

use std::cell::RefCell;
use std::rc::Rc;

use genkai_model::error::ErrorKind;
use genkai_model::rooms::Rooms;

use super::seen::{RoomMessage, Seen};
use crate::clock::Moment;

/// One member, as it is at the moment or was at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attendee {
    /// Its number in the load.
    pub(crate) number: u32,
    /// Rooms of the load.
    rooms: u32,
    /// When it had entered.
    pub(crate) entered: Option<Moment>,
    /// How and when its connection ended before the load did.
    pub(crate) cut: Option<(Moment, ErrorKind)>,
    /// Why attempts to enter failed.
    pub(crate) refused: Vec<ErrorKind>,
    /// When each of its messages was sent, of those that were.
    pub(crate) sent: Vec<Moment>,
    /// What it received.
    pub(crate) seen: Seen,
    /// Whose clock tells its moments: those of members of another process may be off by the other's uncertainty.
    pub(crate) clock: Watch,
}

/// The clock of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Watch {
    /// Number of the process.
    pub(crate) process: u16,
    /// The most by which it may be wrong.
    pub(crate) within: Moment,
    /// From when on its members may have been told to stop, before those of other processes; none: all stayed to the end.
    pub(crate) until: Option<Moment>,
}

impl Watch {
    /// By how much a moment of one and a moment of the other may be in the wrong order.
    pub(crate) fn apart(self, other: Watch) -> Moment {
        if self.process == other.process { 0 } else { self.within.saturating_add(other.within) }
    }
}

impl Attendee {
    /// Not there yet.
    pub(crate) fn new(number: u32, members: u32, rooms: &Rooms) -> Attendee {
        let seats = members.div_ceil(rooms.rooms);
        Attendee { number, rooms: rooms.rooms, seen: Seen::new(seats, rooms.messages), ..Attendee::default() }
    }

    /// Its room.
    pub(crate) fn room(&self) -> u32 {
        self.number % self.rooms
    }

    /// Its place in it.
    pub(crate) fn seat(&self) -> u32 {
        self.number / self.rooms
    }

    /// Which of the load's addresses it goes to: neighbours in a room to different ones, and so do rooms.
    pub(crate) fn address(&self) -> usize {
        (self.seat() + self.room()) as usize
    }

    /// It received message `sequence` of `sender`.
    #[inline]
    pub(crate) fn receives(&mut self, sender: u32, sequence: u64) -> RoomMessage {
        if sender % self.rooms == self.room() {
            self.seen.came(sender / self.rooms, sequence)
        } else {
            self.seen.foreign()
        }
    }
}

/// The members of one thread.
#[derive(Default)]
pub(crate) struct Roster(RefCell<Vec<Rc<RefCell<Attendee>>>>);

impl Roster {
    /// Adds a member.
    pub(crate) fn add(&self, attendee: Attendee) -> Rc<RefCell<Attendee>> {
        let attendee = Rc::new(RefCell::new(attendee));
        self.0.borrow_mut().push(Rc::clone(&attendee));
        attendee
    }

    /// All of them, at the end.
    pub(crate) fn close(&self) -> Vec<Attendee> {
        self.0.take().into_iter().map(|attendee| attendee.take()).collect()
    }
}
