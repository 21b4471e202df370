//! The WebSocket codec: what must be understood, what must be refused, and by which name. Numbers like 5.18 are cases of
//! the Autobahn test-suite.

mod close;
mod deflate;
mod fragments;
mod frames;
mod handshake;
mod heard;
mod properties;
mod text;
mod upgrade;
