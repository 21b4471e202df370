//! Loads that several processes, containers or machines make.

mod containers;
mod experiments;
#[path = "../harness/mod.rs"]
mod harness;
mod machines;
mod processes;
