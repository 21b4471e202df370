//! Bytes to messages and back: codecs without I/O.
//!
//! Nothing here opens a socket, reads a clock or knows what a test is. A codec is given a slice, says what it found in
//! it and how much of it was used; who reads and who writes is somebody else's business. The same code serves the
//! client, where it must cost next to nothing, and the embedded servers.
//!
//! * [`http1`]: HTTP/1.1 (RFC 9112).
//! * [`websocket`]: WebSocket (RFC 6455, RFC 7692).
//! * [`socketio`]: Socket.IO v5 on Engine.IO v4.
//! * [`identity`]: what a load's messages carry so that each can be accounted for.

pub mod http1;
pub mod identity;
pub mod socketio;
pub mod websocket;
