//! From a configuration file to a server that answers, and to nothing left of it.
//!
//! Order: [`Binary::find`], [`check`] (`nginx -t`), [`start`] (until its workers run and its listener accepts),
//! [`Running::observe`] again and again, [`Running::stop`].

mod binary;
mod check;
mod running;

pub use binary::Binary;
pub use check::check;
pub use running::{Running, Site, start, workers};
