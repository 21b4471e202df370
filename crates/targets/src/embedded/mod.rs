//! The embedded origin as a participant of a run: a process of its own (`genkai serve origin ...`), with a known service
//! time and a known cap, so that what a proxy before it does can be told from what its backend does.

mod evidence;
mod lifecycle;
mod limits;

pub use evidence::{CPU, FD_LIMIT, FDS, RSS};
pub use lifecycle::Origin;
pub use limits::of as limits;
