//! A room: who is in it.

use std::cell::RefCell;
use std::rc::Rc;

use super::member::Member;

/// Its members. Whoever passes a message on goes through all of them.
#[derive(Default)]
pub(super) struct Room {
    members: RefCell<Vec<Rc<Member>>>,
}

impl Room {
    pub(super) fn enter(&self, member: &Rc<Member>) {
        let mut members = self.members.borrow_mut();
        member.seat.set(members.len());
        members.push(Rc::clone(member));
    }

    /// Whether it was there.
    pub(super) fn leave(&self, member: &Rc<Member>) -> bool {
        let mut members = self.members.borrow_mut();
        let seat = member.seat.replace(usize::MAX);
        if seat >= members.len() {
            return false;
        }
        members.swap_remove(seat);
        if let Some(moved) = members.get(seat) {
            moved.seat.set(seat);
        }
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.borrow().is_empty()
    }

    /// Calls `each` with every member. Nobody may enter or leave meanwhile.
    pub(super) fn for_each(&self, each: impl FnMut(&Rc<Member>)) {
        self.members.borrow().iter().for_each(each);
    }
}
