//! Clients against servers that others run, that break every rule, and whose connections end after any byte.

mod apache;
mod authority;
mod broadcast;
mod connections;
mod cuts;
mod echo;
mod flows;
mod frames;
mod http2;
mod http2_node;
mod http2_nonsense;
mod nginx;
mod node;
mod node_ws;
mod nonsense;
mod pages;
mod product;
mod responses;
#[path = "../server/mod.rs"]
mod server;
mod tomcat;
mod transports;
mod websocket;
