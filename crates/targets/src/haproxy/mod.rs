//! HAProxy: the user's configuration read and edited in place, run privately, watched through its statistics socket and its log,
//! its limits.

mod answers;
mod by_port;
pub(crate) mod cache;
pub mod config;
pub mod evidence;
pub mod explain;
pub(crate) mod lifecycle;
pub mod limits;
mod looks;
mod pages;
mod private;
mod product;
pub mod proxy;
mod rates;
mod removable;
pub mod route;
pub(crate) mod router;
mod secured;
pub mod settings;
mod settle;
mod sni;
mod standing;

pub(crate) use product::ENTRY;
pub use product::Haproxy;

/// The file in its folder that it prints to.
const LOG: &str = "haproxy.log";

/// What people call it.
pub(crate) const CALLED: &str = "HAProxy";
