//! One request by itself, before a load or beside it: what a server answers, whether it speaks HTTP/2.

mod ask;
mod fetch;
mod http2;

pub use ask::{Asked, ask};
pub use fetch::{Fetched, fetch};
pub use http2::{NotOffered, http2_offered};
