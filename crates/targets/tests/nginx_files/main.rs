//! Configurations of nginx: read, changed, kept to the byte, written back, copied.

mod config;
mod config_queries;
mod config_routes;
mod corpus;
#[path = "../nginx_configs/mod.rs"]
mod nginx_configs;
mod private;
mod private_changes;
mod properties;
mod remote;
mod settings;
#[path = "../stage/mod.rs"]
mod stage;
mod write_back;
