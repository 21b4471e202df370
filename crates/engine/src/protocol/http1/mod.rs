//! HTTP/1.1: one request at a time on a connection.
//!
//! Reading order: [`message`] (the request, rendered once), [`exchange`] (a request and its response on a connection), [`client`] (who makes
//! the load's request over and over).

pub(crate) mod client;
pub(crate) mod exchange;
pub(crate) mod message;

pub(crate) use client::Client;
pub(crate) use exchange::{Intake, fault, reset, write_error};
pub(crate) use message::Message;
