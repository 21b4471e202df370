//! A private Redis as a participant of a run: the backplane over which nodes share rooms. Nothing is kept on disk.

pub mod config;
mod evidence;
pub mod explain;
mod lifecycle;

pub use lifecycle::{Redis, RedisError};
