//! real servers: render or edit the configuration, check, start, wait until ready, observe, stop.

pub mod apache;
pub mod application;
pub mod cache;
pub mod caddy;
pub mod catalog;
pub mod cores;
pub mod embedded;
pub mod error;
pub mod explain;
pub mod external;
pub mod files;
pub mod haproxy;
mod limits;
pub mod nginx;
pub mod phpfpm;
pub mod port_probe;
pub mod product;
pub mod redis;
pub mod rooms;
pub mod router;
pub mod settings;
mod socket;
pub mod squid;
pub mod survey;
pub mod trafficserver;
pub mod varnish;
pub mod wordpress;
