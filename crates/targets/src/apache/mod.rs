//! Apache httpd: read, edit and render its configuration, run it in a private copy, watch it, know its limits.

pub mod config;
pub mod route;
pub mod settings;
