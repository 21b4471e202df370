//! `genkai load` and how its runs end.

mod ends;
#[path = "../harness/mod.rs"]
mod harness;
mod http2;
mod scenarios;
mod transports;
