//! A node of chat rooms as a participant of a run: genkai's embedded server or one of the applications ([`application`](crate::application), apps/README.md), a process of its own that counts at every hop and can be asked what became of each message.

mod evidence;
mod lifecycle;
mod trace;

pub use crate::application::rooms::Settings;
pub use lifecycle::Node;

/// Applications that can be a node, as plans and the command line name them.
pub const SERVERS: &[&str] = &["embedded", "node-ws", "socketio", "tomcat", "jetty"];
