//! Locust: genkai as a worker of its master, and as the master of its workers.

#[path = "../harness/mod.rs"]
mod harness;
mod master;
mod worker;
