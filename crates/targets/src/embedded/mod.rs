//! The embedded servers as participants of a run: a process of its own (`genkai serve origin ...`, `echo`, `rooms`), with a known
//! service time and known caps, so that what a proxy before it does can be told from what its backend does.

mod evidence;
mod lifecycle;
mod limits;

pub use evidence::{CPU, FD_LIMIT, FDS, RSS};
pub use lifecycle::{Origin, Spec};
pub use limits::of as limits;
