//! WebSocket load.
//!
//! Reading order: [`identity`] (who a message is), [`window`] (what becomes of each: pure), [`codec`] (what is said and heard,
//! without a socket), [`session`] (one connection),
//! [`talk`] (what is done with connections), [`plan`] (what a load says, prepared),
//! [`rooms`] (chat rooms).
//!
//! A message that is on its way when the load ends is abandoned as a request; as a message it is delivered if its echo comes before the
//! server's close frame, and lost if not.

mod codec;
mod identity;
mod mail;
mod plan;
pub(crate) mod rooms;
mod session;
mod talk;
mod window;

pub(crate) use identity::CONNECTIONS;
pub(crate) use plan::Plan;
pub(crate) use session::Session;
pub(crate) use talk::{Room, carry, converse, hold};
