//! Caches in front of an origin, whichever product they are: set up empty in a folder of their own, started, counted, ended.
//!
//! [`PRODUCTS`] has a [`Product`] a cache, made of data and one function that writes its configuration: Squid in [`crate::squid`], Varnish
//! in [`crate::varnish`], Traffic Server in [`crate::trafficserver`], and what Apache, nginx and HAProxy are as caches in folders of
//! theirs. [`lifecycle`] starts, looks at and ends whatever it is, [`counters`] reads what each counts itself, [`origin`] is what stands
//! behind them.

pub mod counters;
pub(crate) mod ground;
mod lifecycle;
pub mod origin;
mod prepared;
mod product;
pub(crate) mod recipe;

pub(crate) use ground::largest;
pub use ground::{Budget, Ground, Setup, listed};
pub use lifecycle::{Cache, counts};
pub use origin::Origin;
pub use prepared::Accelerator;
pub(crate) use prepared::is;
pub(crate) use product::located;
pub use product::{ALONE, PRODUCTS, Product, compared, contender, find, names};
