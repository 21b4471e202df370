//! What clients send to servers and receive from them, on the floor `transport`, counted by the floor `measure`.
//!
//! Floors of its own, from the ground: `attendance`, `socketio` and `request` (pure); `core` (what the tasks of a thread share);
//! `connection`; `queue` and `users` (the loop of a client that makes requests); `dispatch` (the [`Protocol`] trait and the loop over planned
//! arrivals); `http1`, `http2`, `objects`, `websocket`; `rooms` and `flow`, which use those; `spec`, which alone knows all protocols.
//!
//! A new protocol is a folder here with a plan (read from the load), a [`Protocol`], and a line in each `match` of `spec`. Where it is
//! requests and responses, it needs a `RequestClient` only: `users` has the rest.
//!
//! [`Protocol`]: dispatch::Protocol

pub(crate) mod attendance;
pub(crate) mod connection;
pub(crate) mod core;
pub(crate) mod dispatch;
pub(crate) mod flow;
pub(crate) mod http1;
pub(crate) mod http2;
pub(crate) mod objects;
pub(crate) mod queue;
pub(crate) mod request;
pub(crate) mod rooms;
pub(crate) mod socketio;
pub(crate) mod spec;
pub(crate) mod users;
pub(crate) mod websocket;
