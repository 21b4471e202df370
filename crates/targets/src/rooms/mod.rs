//! A node of chat rooms as a participant of a run: genkai's embedded server (`genkai serve rooms ...`), a process of its own
//! that counts at every hop and can be asked what became of each message.

mod evidence;
mod lifecycle;
mod trace;

pub use lifecycle::{Node, Settings};

/// Applications that can be a node, as plans and the command line name them.
pub const SERVERS: &[&str] = &["embedded"];
