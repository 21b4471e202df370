//! Products as they run: started from a private copy, watched, changed and stopped.

mod apache;
mod cache_copies;
mod caches;
mod caddy;
mod nginx;
#[path = "../nginx_configs/mod.rs"]
mod nginx_configs;
mod nginx_copies;
#[path = "../stage/mod.rs"]
mod stage;
mod wordpress;
