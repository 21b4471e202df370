//! Chat rooms: members that say something now and then, and hear everybody.
//!
//! Reading order: [`seen`] (what one member heard: pure), [`roster`] (who is where, who sent what when), [`attend`] (one
//! member's time), [`settle`] (what became of all messages, at the end: pure).

mod attend;
mod roster;
mod seen;
mod settle;

pub(crate) use attend::attend;
pub(crate) use roster::{Attendee, Roster};
pub(crate) use seen::Came;
pub(crate) use settle::settle;
