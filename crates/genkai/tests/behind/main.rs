//! What stands behind a proxy: who started it, how it is asked, what is seen of it, and its limits.

mod backend;
mod copies;
mod found;
mod full;
#[path = "../harness/mod.rs"]
mod harness;
mod observed;
mod onward;
mod original;
mod others;
mod seen;
mod shared;
mod store;
mod tls;
mod variables;
