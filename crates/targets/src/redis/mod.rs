//! A private Redis as a participant of a run: the backplane over which nodes share rooms. Nothing is kept on disk.

pub mod config;
mod evidence;
pub mod explain;
mod given;
mod lifecycle;
mod limits;
mod line;

pub use given::check;
pub use lifecycle::{Redis, RedisError};
