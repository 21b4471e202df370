//! Products and commands put to the test: what limits each is named, and what cannot be used is said.

mod answers;
mod apache;
mod apache_websocket;
mod caddy;
mod command;
mod front;
mod haproxy;
#[path = "../harness/mod.rs"]
mod harness;
mod nginx_tls;
mod own_answers;
mod sni;
mod streams;
