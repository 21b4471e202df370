//! real servers: render or edit the configuration, check, start, wait until ready, observe, stop.

pub mod embedded;
pub mod foreign;
pub mod local;
pub mod nginx;
pub mod observation;
pub mod redis;
pub mod rooms;
pub mod wordpress;
