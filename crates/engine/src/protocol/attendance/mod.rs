//! Who is in a chat room and which messages each member received, without a socket.
//!
//! Reading order: [`seen`] (what one member received), [`roster`] (who is where, who sent what when), [`settle`] (what became of
//! all messages, at the end), [`books`] (the members of several processes, put together).

mod books;
mod roster;
mod seen;
mod settle;

pub use books::Books;
pub(crate) use books::{rooms_of, told};
pub(crate) use roster::{Attendee, Roster};
pub(crate) use seen::RoomMessage;
pub(crate) use settle::settle;
