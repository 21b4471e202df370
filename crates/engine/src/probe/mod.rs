//! One request by itself, before a load or beside it: what a server answers, whether it speaks HTTP/2.

mod answer;
mod ask;
mod fetch;
mod http2;

pub use answer::Asked;
pub use ask::{Connected, ask, ask_echo, ask_page, ask_upgrade, ask_whole, connect, handshake};
pub use fetch::{Fetched, fetch};
pub use http2::{NotOffered, http2_offered};
