//! How the first process of a product is started.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

/// How a product is started ([`Variant::launch`](super::Variant::launch)). Its first process stays in the foreground, so that the guard's child is the one that serves.
#[derive(Debug)]
pub struct Startup {
    /// What is run.
    pub command: Command,
    /// Listener that the load goes to.
    pub address: SocketAddr,
    /// Where what it prints goes.
    pub output: PathBuf,
    /// Its log of errors, which may be the same.
    pub log: PathBuf,
}
