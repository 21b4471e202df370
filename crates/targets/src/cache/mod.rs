//! Caches in front of an origin, whichever product they are: set up empty in a folder of their own, started, counted, ended.
//!
//! A [`Product`] is data and one function that writes its configuration; [`crate::catalog::caches`] lists them. [`lifecycle`] starts, looks
//! at and ends whatever it is, [`counters`] reads what each counts itself, [`recipe`] says where a configuration comes from.

pub mod counters;
pub(crate) mod ground;
pub(crate) mod lifecycle;
mod product;
pub(crate) mod recipe;

pub(crate) use ground::largest;
pub use ground::{Budget, Ground, Setup, listed};
pub use lifecycle::{Cache, counts};
pub use product::Product;
pub(crate) use product::located;
pub(crate) use recipe::Generated;
