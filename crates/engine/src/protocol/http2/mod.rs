//! HTTP/2 (RFC 9113) by the h2 crate: many requests at once on a connection.
//!
//! *Users are streams.* A user (closed model, scenario) or a worker of the open model is a [`Requester`]: it has a stream on a connection
//! for as long as that lasts, and one request at a time. A [`Pool`] holds the connections of a thread to one target: a requester without a
//! stream takes a free one, else opens another connection. A connection has as many streams as the load says, or as the server allows if
//! that is less; it takes requesters when the server's SETTINGS have come, so that no stream is sent that the server would
//! have to refuse. A [`SharedConnection`] is one connection and the task that drives it, an `Exchange` one stream; [`View`] shows its socket to h2.
//!
//! The same things are measured as with HTTP/1.1. *Written* is the moment a request was handed to h2, which writes when all
//! requesters that could go on have gone on: requests of one moment leave in one write. *Ended* is the moment the last bytes of
//! the response were read from the socket, not when its requester got its turn.
//!
//! *GOAWAY* is the server's choice (section 6.8): the connection takes no more requests, those being answered go on, those the
//! server says it has not processed are made again on another connection and counted as retried, not as failed. Latency goes
//! on from the planned instant. A GOAWAY with an error, or [`MOST_TRIES`](requester::MOST_TRIES) in a row, is a failure.
//!
//! h2 keeps the state of a connection in a mutex. Its tasks run on one thread, so nothing ever waits for it.

mod client;
mod driver;
mod exchange;
mod fault;
mod plan;
mod pool;
mod requester;
mod shared;
mod view;

pub(crate) use client::Client;
pub(crate) use exchange::{Kept, Outcome};
pub(crate) use plan::{Head, Plan, Prepared, scheme};
pub(crate) use pool::Pool;
pub(crate) use requester::Requester;
