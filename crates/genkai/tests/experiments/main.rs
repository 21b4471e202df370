//! Experiments and comparisons on real servers, judged from their records.

mod cache;
mod compare;
#[path = "../harness/mod.rs"]
mod harness;
mod rooms;
mod servers;
