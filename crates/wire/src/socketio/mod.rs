//! Socket.IO v5 on Engine.IO v4, over the WebSocket transport.
//!
//! Each WebSocket message is one Engine.IO packet: a text begins with a digit that says which kind, a binary message is an
//! attachment (<https://github.com/socketio/engine.io-protocol>, "Protocol", version 4). A Socket.IO packet is the content of
//! an Engine.IO message (<https://github.com/socketio/socket.io-protocol>, version 5): kind, number of attachments, namespace,
//! acknowledgement id, JSON.
//!
//! * [`Frame`]: an Engine.IO packet in a text; [`Packet`]: a Socket.IO packet, its JSON left as text.
//! * [`Inbox`]: puts packets and their attachments together.
//!
//! Connecting: the server says [`Frame::Open`]; the client connects to a namespace ([`Kind::Connect`]) and is answered with
//! the same kind, or with [`Kind::ConnectError`]. The server sends [`Frame::Ping`]; the client answers [`Frame::Pong`].

mod error;
mod frame;
mod inbox;
mod packet;

pub use error::Error;
pub use frame::Frame;
pub use inbox::{Delivery, Inbox};
pub use packet::{Kind, Packet};

/// Request target that opens the WebSocket at a server's usual path.
pub const TARGET: &str = "/socket.io/?EIO=4&transport=websocket";

/// Most attachments of one packet that are waited for. The reference parser has no bound; a server that announced millions
/// would make a client wait for ever.
pub const MOST_ATTACHMENTS: u32 = 1024;
