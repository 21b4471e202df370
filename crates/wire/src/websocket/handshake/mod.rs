//! The opening handshake (RFC 6455 section 4), on top of [`http1`](crate::http1).
//!
//! Client: [`Opening`] says what is asked for and writes the request; the [`Handshake`] that comes out of it reads the
//! response, in any split, and says how many bytes of the last slice belong to it. **The bytes after them are frames**: a
//! server may send its first message together with the response, and clients that dropped it have lost messages.
//!
//! Server: [`Upgrade::check`] looks at a request head and is strict: a proxy that lost `Upgrade` or `Connection` on the
//! way must not go unnoticed. [`Refusal::write`] says no, [`Upgrade::accept`] says yes.

mod accept;
mod client;
mod error;
mod list;
mod server;

pub use accept::{accept, key};
pub use client::{Agreement, Handshake, Opening, Progress};
pub use error::{HandshakeError, Refusal, WriteError};
pub use server::Upgrade;

/// Fields that the handshake writes itself.
const RESERVED: [&str; 7] = [
    "upgrade",
    "connection",
    "sec-websocket-key",
    "sec-websocket-accept",
    "sec-websocket-version",
    "sec-websocket-protocol",
    "sec-websocket-extensions",
];

/// Refuses fields that the handshake writes itself.
fn check_free(fields: &[(&str, &str)]) -> Result<(), WriteError> {
    let reserved = |name: &str| RESERVED.iter().any(|one| name.eq_ignore_ascii_case(one));
    if fields.iter().any(|(name, _)| reserved(name)) { Err(WriteError::Reserved) } else { Ok(()) }
}
