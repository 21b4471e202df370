//! HAProxy before nodes: a configuration from typed settings, run privately, watched through its statistics socket and its log, its limits.
//!
//! It stands before nodes as a platform's router does: so many connections a node at most, requests beyond them wait a while in
//! a queue, and those that wait too long get HAProxy's own answer (here one that says so, as a platform's H11 does).

mod config;
mod evidence;
mod lifecycle;
pub mod limits;
mod settings;

pub use lifecycle::{Prepared, Running};
pub use settings::Settings;
