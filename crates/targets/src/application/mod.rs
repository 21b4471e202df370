//! The servers of the comparison: the same application (apps/README.md) on each, started as a child of ours.
//!
//! [`PRODUCTS`] has a [`Product`] a server, made of data and one function that writes its command line: [`tomcat`], [`jetty`],
//! [`node`] (ws and Socket.IO) and [`embedded`]. [`settings`] are what users may set, [`lifecycle`] starts, observes and stops
//! whatever it is, [`gc`] reads the logs of Java's collectors.

mod embedded;
pub mod gc;
mod jetty;
mod jvm;
mod lifecycle;
mod node;
mod product;
pub mod rooms;
pub mod settings;
mod tomcat;

pub use lifecycle::{Application, Observed};
pub use product::{Most, Place, Product};

use crate::error::TargetError;

/// The server beside which the others are measured.
pub const REFERENCE: &str = embedded::PRODUCT.name;

/// Every server, in the order in which reports list them before anything is measured.
pub const PRODUCTS: &[&Product] = &[&embedded::PRODUCT, &tomcat::PRODUCT, &jetty::PRODUCT, &node::WS, &node::SOCKET_IO];

/// The server called `name`.
///
/// # Errors
/// When there is none.
pub fn find(name: &str) -> Result<&'static Product, TargetError> {
    let known = || PRODUCTS.iter().map(|product| product.name).collect::<Vec<_>>().join(", ");
    let unknown = || TargetError::usage("", format!("there is no server `{name}` to compare; there are: {}", known()));
    PRODUCTS.iter().find(|product| product.name == name).copied().ok_or_else(unknown)
}
