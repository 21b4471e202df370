//! The WebSocket codec: what must be understood, what must be refused, and by which name. Numbers like 5.18 are cases of
//! the Autobahn test-suite.

mod close;
mod conversation;
mod decoded;
mod deflate;
mod fragments;
mod frames;
mod handshake;
mod properties;
#[path = "../stream/mod.rs"]
mod stream;
mod text;
mod upgrade;
