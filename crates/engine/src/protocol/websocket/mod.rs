//! WebSocket load.
//!
//! Reading order: [`identity`] (who a message is), [`window`] (what becomes of each: pure), [`codec`] (what is sent and received,
//! without a socket), [`session`] (one connection), [`loops`] (what is done with it), [`inbox`] (messages kept for who waits for them),
//! [`plan`] (what a load says, prepared), [`users`] (what arrivals are).
//!
//! A message that is on its way when the load ends is abandoned as a request; as a message it is delivered if its echo comes before the
//! server's close frame, and lost if not.

mod codec;
mod identity;
mod inbox;
mod loops;
mod plan;
mod session;
mod users;
mod window;

pub(crate) use plan::{MessageTemplate, Plan};
pub(crate) use session::Session;
pub(crate) use users::{Pool, Users};
