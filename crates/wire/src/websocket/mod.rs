//! WebSocket (RFC 6455) with permessage-deflate (RFC 7692), for both roles.
//!
//! * [`handshake`]: the opening, as client and as server.
//! * [`Decoder`]: bytes to [`Event`]s. It borrows: payloads stay where they were read, unmasked in place.
//! * [`Encoder`]: messages and control frames to bytes, appended to the caller's buffer.
//! * [`Assembler`]: whole messages, for who wants them; a caller that only counts never copies.
//! * [`deflate`]: the parameters of compression and how two sides agree on them.
//! * [`Header`] and [`mask`]: single frames, for tests and for who must send nonsense on purpose.
//!
//! ```
//! use genkai_wire::websocket::{Decoder, Encoder, Event, Kind, MAX_MESSAGE, Role, Scratch};
//!
//! let mut scratch = Scratch::default(); // one for all connections of a thread
//! let (mut client, mut server) = (Encoder::new(Role::Client), Decoder::new(Role::Server, MAX_MESSAGE));
//! let mut bytes = Vec::new();
//! client.message(&mut bytes, Kind::Text, b"hello", 0x1234_5678, &mut scratch).unwrap();
//! let mut at = 0;
//! loop {
//!     let (used, event) = server.decode(&mut bytes[at..], &mut scratch).unwrap();
//!     at += used;
//!     match event {
//!         None => break, // all bytes are used
//!         Some(Event::Data(chunk)) => assert_eq!((chunk.data, chunk.first, chunk.last), (&b"hello"[..], true, true)),
//!         Some(other) => panic!("{other:?}"),
//!     }
//! }
//! ```
//!
//! **Strict on purpose.** Whatever the RFCs forbid a sender is an [`Error`] with the close code it calls for: masking by
//! role, reserved bits and opcodes, lengths not in their shortest form, fragmented or long control frames, continuations
//! of nothing, text that is not UTF-8 (found at the first wrong byte, not at the end), codes that must not be sent.
//!
//! **Bounded on purpose.** A message may be as long as the decoder is told ([`MAX_MESSAGE`] if one has no opinion),
//! counted after decompression. A connection between messages holds less than a hundred bytes, and a compression state
//! only where its context outlives messages; without context takeover these states belong to the thread ([`Scratch`]).
//!
//! **Splits do not matter.** However the bytes are cut, the messages are the same; the decoder keeps what it needs of a
//! cut header or control frame, so that the caller can reuse its read buffer at once.

mod close;
pub mod code;
mod decoder;
mod encoder;
mod error;
mod event;
mod frame;
mod message;
mod scratch;
mod utf8;

pub mod deflate;
pub mod handshake;
pub mod mask;

pub use close::{Close, is_sendable};
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use error::{EncodeError, Error};
pub use event::{Chunk, Event};
pub use frame::{Expected, Header, MAX_CONTROL, MAX_HEADER, Opcode};
pub use message::{Assembler, Message};
pub use scratch::Scratch;
pub use utf8::Utf8;

/// Largest message for who has no opinion: 64 MiB. RFC 6455 section 10.4 asks for such a limit; servers put it at 64 KiB
/// (Jetty, Tomcat 8 KiB) to 100 MiB (ws).
pub const MAX_MESSAGE: u64 = 64 * 1024 * 1024;

/// Whose side of the connection this is: a client masks what it sends, a server must not (RFC 6455 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The side that opened the connection.
    Client,
    /// The side that accepted it.
    Server,
}

/// What a message is made of (RFC 6455 section 5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8 text.
    Text,
    /// Any bytes.
    Binary,
}
